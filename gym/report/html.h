#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace msc::gym {

/// Markup. A type of its own, so that text cannot be taken for markup by mistake: Markup() escapes
/// whatever is not a literal or Html already.
struct Html {
  std::string text;
};

/// `text` as the content of an element or of a quoted attribute. Control characters, bytes that are
/// no UTF-8 and characters that reorder or hide text become visible: U+FFFD or "[U+202E]".
[[nodiscard]] std::string EscapeHtml(std::string_view text);

/// Digits after the point fixed; "–" where there is no finite number.
[[nodiscard]] std::string Fixed(std::optional<double> value, int digits);
/// `digits` significant ones: "0.01230", "12.30", "1230", and "1.230e-6" where it is tiny or huge.
[[nodiscard]] std::string Significant(std::optional<double> value, int digits);
/// Of a share: "12.3 %".
[[nodiscard]] std::string Percent(std::optional<double> share, int digits);
/// "1.9 MB", powers of 1000.
[[nodiscard]] std::string Bytes(std::optional<double> bytes);
/// As short as reads back the same: for scripts, not for people. "" where there is no number.
[[nodiscard]] std::string Exact(std::optional<double> value);
/// The number if it is there and finite.
[[nodiscard]] std::optional<double> Finite(std::optional<double> value);

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
/// Coordinates: two digits are finer than any screen.
inline void Append(std::string& out, double number) {
  out += Fixed(number, 2);
}

}  // namespace detail

/// The parts one after another: literals and Html as they are, other text escaped, integers, reals
/// with two digits.
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
