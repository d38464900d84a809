#include "compiler/ir/text_lex.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ir/hex.h"

namespace msc::detail {
namespace {

// Not <cctype>, which depends on the locale.
bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsWordChar(char c) {
  return IsLetter(c) || IsDigit(c) || c == '_';
}

bool IsNameChar(char c) {
  return IsWordChar(c) || c == '.' || c == '/' || c == '$' || c == '-';
}

}  // namespace

bool IsPlainWord(std::string_view text) {
  return !text.empty() && !IsDigit(text.front()) &&
         std::all_of(text.begin(), text.end(), IsWordChar);
}

bool IsPlainName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsNameChar);
}

std::string Quote(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      quoted += "\\x";
      quoted += kDigits[byte >> 4U];
      quoted += kDigits[byte & 15U];
    }
  }
  return quoted + '"';
}

std::string WordOrQuote(std::string_view text) {
  return IsPlainWord(text) ? std::string(text) : Quote(text);
}

std::string NameOrQuote(std::string_view text) {
  return IsPlainName(text) ? std::string(text) : Quote(text);
}

Lexer::Lexer(std::string_view source) : source_(source) {
  Next();
}

Token Lexer::Take() {
  Token taken = std::move(token_);
  Next();
  return taken;
}

void Lexer::Fail(std::size_t at, const std::string& what) const {
  const std::string_view before = source_.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n') + 1;  // npos + 1 is 0
  throw UserError("graph text, " + std::to_string(line) + ":" + std::to_string(at - start + 1) +
                  ": " + what);
}

void Lexer::FailExpected(const std::string& what) const {
  std::string found;
  switch (token_.kind) {
    case TokenKind::kEnd:
      found = "the end";
      break;
    case TokenKind::kString:
      found = "a text";
      break;
    case TokenKind::kValue:
      found = "%" + NameOrQuote(token_.text);
      break;
    case TokenKind::kNode:
      found = "@" + NameOrQuote(token_.text);
      break;
    default:
      found = "'" + token_.text + "'";
  }
  constexpr std::size_t kMost = 60;
  if (found.size() > kMost) found = found.substr(0, kMost) + "...";
  Fail(token_.at, "expected " + what + ", found " + found);
}

void Lexer::SkipBlanks() {
  while (at_ < source_.size()) {
    const char c = source_[at_];
    if (c == '#') {
      at_ = std::min(source_.find('\n', at_), source_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

std::string Lexer::TakeString() {
  const std::size_t start = at_++;
  std::string text;
  while (true) {
    // Runs without escapes are copied at once, because weights in hex take megabytes.
    const std::size_t stop = source_.find_first_of("\"\\\n", at_);
    if (stop == std::string_view::npos || source_[stop] == '\n') {
      Fail(start, "this text has no closing quote on its line");
    }
    text += source_.substr(at_, stop - at_);
    at_ = stop + 1;
    if (source_[stop] == '"') return text;
    const char escape = at_ < source_.size() ? source_[at_] : '\0';
    ++at_;
    if (escape == 'n') {
      text += '\n';
    } else if (escape == 't') {
      text += '\t';
    } else if (escape == '"' || escape == '\\') {
      text += escape;
    } else if (escape == 'x' && at_ + 2 <= source_.size() && HexDigit(source_[at_]) >= 0 &&
               HexDigit(source_[at_ + 1]) >= 0) {
      text += static_cast<char>(HexDigit(source_[at_]) * 16 + HexDigit(source_[at_ + 1]));
      at_ += 2;
    } else {
      Fail(stop, "unknown escape; known are \\n, \\t, \\\", \\\\ and \\xHH");
    }
  }
}

std::string Lexer::TakeName() {
  const std::size_t start = at_++;
  if (at_ < source_.size() && source_[at_] == '"') return TakeString();
  const std::size_t first = at_;
  while (at_ < source_.size() && IsNameChar(source_[at_])) ++at_;
  if (at_ == first) Fail(start, "expected a name here");
  return std::string(source_.substr(first, at_ - first));
}

void Lexer::Next() {
  token_ = {};
  SkipBlanks();
  token_.at = at_;
  if (at_ == source_.size()) return;
  const char c = source_[at_];
  const auto take_while = [&](auto more) {
    const std::size_t first = at_++;
    while (at_ < source_.size() && more(source_[at_])) ++at_;
    token_.text = source_.substr(first, at_ - first);
  };
  if (c == '"') {
    token_.kind = TokenKind::kString;
    token_.text = TakeString();
  } else if (c == '%' || c == '@') {
    token_.kind = c == '%' ? TokenKind::kValue : TokenKind::kNode;
    token_.text = TakeName();
  } else if (IsDigit(c) || c == '-' || c == '+') {
    token_.kind = TokenKind::kNumber;
    take_while([&](char next) {
      const char last = source_[at_ - 1];
      const bool sign = (next == '-' || next == '+') && (last == 'e' || last == 'E');
      return IsWordChar(next) || next == '.' || sign;
    });
  } else if (IsWordChar(c)) {
    token_.kind = TokenKind::kWord;
    take_while(IsWordChar);
  } else if (source_.substr(at_, 3) == "...") {
    token_.kind = TokenKind::kMark;
    token_.text = "...";
    at_ += 3;
  } else if (std::string_view("()[]{},:=.?*").find(c) != std::string_view::npos) {
    token_.kind = TokenKind::kMark;
    token_.text = c;
    ++at_;
  } else {
    Fail(at_, "no word of the text form starts with " + Quote(std::string_view(&c, 1)));
  }
}

}  // namespace msc::detail
