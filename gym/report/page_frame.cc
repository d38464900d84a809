#include "gym/report/page_frame.h"

#include <cstdint>
#include <string_view>

#include "compiler/base/base64.h"
#include "compiler/base/hash.h"
#include "gym/report/assets.h"

namespace msc::gym {

namespace {

std::uint32_t HexValue(char digit) {
  return static_cast<std::uint32_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/// Returns the bytes that `hex` encodes.
std::string BytesOfHex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(HexValue(hex[i]) << 4U | HexValue(hex[i + 1]));
  }
  return bytes;
}

/// `scripts` is the part of the content security policy that allows scripts; the page loads
/// nothing, and pictures are part of it.
std::string Page(const std::string& title, const Html& scripts, const Html& content) {
  return Markup(
             "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
             "<meta http-equiv='Content-Security-Policy' content='default-src &#39;none&#39;; "
             "style-src &#39;unsafe-inline&#39;; img-src data:",
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
    allowed += Markup(" &#39;sha256-", Base64(BytesOfHex(Sha256Hex(std::string(text)))), "&#39;");
    scripts += Markup("<script>", Html{std::string(text)}, "</script>");
  }
  // The tooltip repeats the label of its point, so screen readers should skip it.
  return Page(
      title, allowed,
      Markup("<main>", body, "</main><div id='tip' role='tooltip' aria-hidden='true' hidden></div>",
             scripts));
}

}  // namespace msc::gym
