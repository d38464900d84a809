#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace msc::gym {

/// Markup. A separate type keeps text from being used as markup by mistake: Markup() escapes every
/// part that is neither a literal nor Html.
struct Html {
  std::string text;
};

/// Escapes `text` for the content of an element or of a quoted attribute. Control characters, bytes
/// that are not UTF-8, and characters that reorder or hide text become visible: U+FFFD or
/// "[U+202E]".
[[nodiscard]] std::string EscapeHtml(std::string_view text);

/// Formats with a fixed number of decimals; "–" if the number is absent or not finite.
[[nodiscard]] std::string FormatFixed(std::optional<double> value, int digits);
/// Formats with `digits` significant digits: "0.01230", "12.30", "1230", or "1.230e-6" if tiny or
/// huge.
[[nodiscard]] std::string FormatSignificant(std::optional<double> value, int digits);
/// Formats a fraction as "12.3 %".
[[nodiscard]] std::string FormatPercent(std::optional<double> share, int digits);
/// Formats as "1.9 MB", in powers of 1000.
[[nodiscard]] std::string FormatBytes(std::optional<double> bytes);
/// Returns the shortest text that reads back as the same number, for scripts. "" if absent or not
/// finite.
[[nodiscard]] std::string FormatExact(std::optional<double> value);
/// Returns the number if it is present and finite.
[[nodiscard]] std::optional<double> IfFinite(std::optional<double> value);

/// Cuts text between two characters to at most `most` bytes: its end, or its start, becomes an
/// ellipsis.
[[nodiscard]] std::string WithoutEnd(const std::string& text, std::size_t most);
[[nodiscard]] std::string WithoutStart(const std::string& text, std::size_t most);
/// Does the same with the middle: names of layers often differ in both ends.
[[nodiscard]] std::string WithoutMiddle(const std::string& text, std::size_t most);

namespace detail {

template <std::size_t size>
void Append(std::string& out, const char (&literal)[size]) {  // NOLINT(modernize-avoid-c-arrays)
  out.append(literal, size - 1);
}
inline void Append(std::string& out, const Html& html) {
  out += html.text;
}
inline void Append(std::string& out, const std::string& text) {
  out += EscapeHtml(text);
}
inline void Append(std::string& out, std::string_view text) {
  out += EscapeHtml(text);
}
template <std::integral Integer>
void Append(std::string& out, Integer number) {
  out += std::to_string(number);
}
/// Coordinates in pixels: two decimals are finer than any screen.
inline void Append(std::string& out, double number) {
  out += FormatFixed(number, 2);
}

}  // namespace detail

/// Concatenates the parts: literals and Html verbatim, other text escaped, integers, reals with two
/// decimals.
template <class... Parts>
[[nodiscard]] Html Markup(const Parts&... parts) {
  Html html;
  (detail::Append(html.text, parts), ...);
  return html;
}

inline Html& operator+=(Html& html, const Html& more) {
  html.text += more.text;
  return html;
}

}  // namespace msc::gym
