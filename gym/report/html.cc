#include "gym/report/html.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace msc::gym {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kAbsent = "\xE2\x80\x93";  // en dash
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

/// Returns whether the byte is 10xxxxxx, which UTF-8 has inside characters only.
bool ContinuesCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

struct Decoded {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0 = not UTF-8
};

/// Decodes the first character of `text` by RFC 3629, which excludes overlong forms and surrogates.
Decoded Decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  // 0xC0 and 0xC1 begin only overlong forms; above 0xF4 the code would exceed 0x10FFFF.
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  // The mask keeps the lead byte's own bits: 5, 4 or 3.
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  // By length: smaller codes are overlong forms.
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[bytes] || surrogate || code > 0x10FFFF) return {};
  return {code, bytes};
}

/// Returns whether the character is a direction mark or override, a joiner, or otherwise invisible.
bool IsInvisible(char32_t code) {
  return (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0x061C || code == 0xFEFF ||
         (code >= 0xFFF9 && code <= 0xFFFB) || (code >= 0xE0000 && code <= 0xE007F);
}

bool IsControl(char32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code <= 0x9F);
}

std::string CodePoint(char32_t code) {
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(),
                                 static_cast<std::uint32_t>(code), 16);
  std::string hex(digits.data(), end.ptr);
  for (char& c : hex) c = c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
  return "[U+" + std::string(hex.size() < 4 ? 4 - hex.size() : 0, '0') + hex + "]";
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = Decode(text);
    if (bytes == 0 || IsControl(code)) {
      out += kReplacement;
    } else if (IsInvisible(code)) {
      out += CodePoint(code);
    } else if (code == '&') {
      out += "&amp;";
    } else if (code == '<') {
      out += "&lt;";
    } else if (code == '>') {
      out += "&gt;";
    } else if (code == '"') {
      out += "&quot;";
    } else if (code == '\'') {
      out += "&#39;";
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

std::optional<double> IfFinite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string FormatFixed(std::optional<double> value, int digits) {
  value = IfFinite(value);
  if (!value) return std::string(kAbsent);
  std::array<char, 400> text{};  // the longest double has 309 digits before the point
  const auto end = std::to_chars(text.data(), text.data() + text.size(), *value,
                                 std::chars_format::fixed, digits);
  std::string out(text.data(), end.ptr);
  // Print "-0.00" as "0.00".
  const bool zero = out.find_first_not_of("-0.") == std::string::npos;
  return zero && out.front() == '-' ? out.substr(1) : out;
}

std::string FormatSignificant(std::optional<double> value, int digits) {
  value = IfFinite(value);
  if (!value) return std::string(kAbsent);
  if (*value == 0) return "0";
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), *value,
                                 std::chars_format::scientific, digits - 1);
  std::string out(text.data(), end.ptr);
  // The exponent after rounding: 9.999 has 1 with three digits, as 10.0 has.
  const int exponent = std::stoi(out.substr(out.find('e') + 1));
  if (exponent >= -4 && exponent < 7)
    return FormatFixed(*value, std::max(0, digits - 1 - exponent));
  // to_chars writes at least two digits of the exponent: 1e-05 becomes 1e-5.
  const std::size_t zero = out.find("e-0");
  return zero == std::string::npos ? out : out.erase(zero + 2, 1);
}

std::string WithoutEnd(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most - kEllipsis.size();
  while (end > 0 && ContinuesCharacter(text[end])) --end;
  return text.substr(0, end).append(kEllipsis);
}

std::string WithoutStart(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t start = text.size() - (most - kEllipsis.size());
  while (start < text.size() && ContinuesCharacter(text[start])) ++start;
  return std::string(kEllipsis) + text.substr(start);
}

std::string WithoutMiddle(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t end = most / 2;
  const std::string back = WithoutStart(text, end + kEllipsis.size()).substr(kEllipsis.size());
  return WithoutEnd(text, most - end) + back;
}

std::string FormatExact(std::optional<double> value) {
  value = IfFinite(value);
  if (!value) return "";
  std::array<char, 64> text{};
  // The shortest text that reads back as the same number.
  const auto end = std::to_chars(text.data(), text.data() + text.size(), *value);
  return {text.data(), end.ptr};
}

std::string FormatPercent(std::optional<double> share, int digits) {
  share = IfFinite(share);
  if (!share) return std::string(kAbsent);
  return FormatFixed(*share * 100, digits) + " %";
}

std::string FormatBytes(std::optional<double> bytes) {
  bytes = IfFinite(bytes);
  if (!bytes) return std::string(kAbsent);
  constexpr std::array<std::string_view, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  double value = *bytes;
  std::size_t unit = 0;
  // From 999.5 on, rounding would print 1000.
  while (std::abs(value) >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return FormatFixed(value, unit == 0 || std::abs(value) >= 99.5 ? 0 : 1) + " " +
         std::string(kUnits[unit]);
}

}  // namespace msc::gym
