#pragma once

// Lexer of the text form (text.h). Private to compiler/ir.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace msc::detail {

enum class TokenKind : std::uint8_t {
  kEnd,
  kWord,    ///< letters, digits and `_`, not starting with a digit
  kNumber,  ///< starts with a digit or a sign; not validated
  kString,  ///< "..."; `text` has no quotes and no escapes
  kValue,   ///< %name
  kNode,    ///< @name
  kMark,    ///< one of ( ) [ ] { } , : = . ? * and `...`
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  std::size_t at = 0;  ///< byte offset in the source

  [[nodiscard]] bool IsMark(std::string_view mark) const {
    return kind == TokenKind::kMark && text == mark;
  }
  [[nodiscard]] bool IsWord(std::string_view word) const {
    return kind == TokenKind::kWord && text == word;
  }
};

/// Splits text into tokens with a lookahead of one.
class Lexer {
 public:
  explicit Lexer(std::string_view source);

  [[nodiscard]] const Token& Peek() const noexcept { return token_; }
  Token Take();
  /// Bytes not read yet: an upper bound on the items of a list.
  [[nodiscard]] std::size_t left() const noexcept { return source_.size() - at_; }
  /// Throws UserError with the line and column of the byte at offset `at`.
  [[noreturn]] void Fail(std::size_t at, const std::string& what) const;
  /// Throws UserError "expected WHAT, found TOKEN" at the next token.
  [[noreturn]] void FailExpected(const std::string& what) const;

 private:
  void Next();
  void SkipBlanks();
  [[nodiscard]] std::string TakeString();
  [[nodiscard]] std::string TakeName();

  std::string_view source_;
  std::size_t at_ = 0;
  Token token_;
};

[[nodiscard]] bool IsPlainWord(std::string_view text);  ///< can be a kWord
[[nodiscard]] bool IsPlainName(std::string_view text);  ///< can follow % or @ without quotes
/// Returns `text` in quotes, with escapes for all but printable ASCII.
[[nodiscard]] std::string Quote(std::string_view text);
/// Returns `text`, in quotes unless it is a plain word.
[[nodiscard]] std::string WordOrQuote(std::string_view text);
/// Returns `text`, in quotes unless it is a plain name.
[[nodiscard]] std::string NameOrQuote(std::string_view text);

}  // namespace msc::detail
