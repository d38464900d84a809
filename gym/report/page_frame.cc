#include "gym/report/page_frame.h"

#include <cstdint>
#include <string_view>

#include "compiler/base/hash.h"
#include "gym/report/assets.h"

namespace msc::gym {

namespace {

std::uint32_t HexValue(char digit) {
  return static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/// Returns the Base64 form (RFC 4648) of the bytes that `hex` encodes.
std::string Base64OfHex(std::string_view hex) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  // 6 hex digits are 3 bytes, and those are 4 letters.
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 6; ++k) {
      bits = bits << 4U | (i + k < hex.size() ? HexValue(hex[i + k]) : 0U);
    }
    // One byte that is left gives 2 letters, two bytes give 3; padding fills the group.
    const std::size_t letters = i + 6 <= hex.size() ? 4 : (hex.size() - i) / 2 + 1;
    for (std::size_t k = 0; k < 4; ++k) {
      out += k < letters ? kLetters[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return out;
}

/// `scripts` is the part of the content security policy that allows scripts; the page loads
/// nothing.
std::string Page(const std::string& title, const Html& scripts, const Html& content) {
  return Markup(
             "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
             "<meta http-equiv='Content-Security-Policy' content='default-src &#39;none&#39;; "
             "style-src &#39;unsafe-inline&#39;",
             scripts,
             "'><meta name='viewport' content='width=device-width, initial-scale=1'><title>", title,
             "</title><style>", Html{std::string(PageStyle())}, "</style></head><body>", content,
             "</body></html>\n")
      .text;
}

}  // namespace

std::string StaticPage(const std::string& title, const Html& body) {
  return Page(title, {}, Markup("<main>", body, "</main>"));
}

std::string ScriptedPage(const std::string& title, const Html& body) {
  Html allowed{"; script-src"};
  Html scripts;
  for (const std::string_view text : {PageScript(), ChartLibrary(), ChartScript()}) {
    if (text.empty()) continue;
    // The policy allows exactly these scripts, by their hashes.
    allowed += Markup(" &#39;sha256-", Base64OfHex(Sha256Hex(std::string(text))), "&#39;");
    scripts += Markup("<script>", Html{std::string(text)}, "</script>");
  }
  // The tooltip repeats the label of its point, so screen readers should skip it.
  return Page(
      title, allowed,
      Markup("<main>", body, "</main><div id='tip' role='tooltip' aria-hidden='true' hidden></div>",
             scripts));
}

}  // namespace msc::gym
