#include "compiler/partition/rules/pattern_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/nearest.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

constexpr std::size_t kMaxBytes = 2000;
constexpr std::size_t kMaxLevels = 32;

constexpr std::array<std::string_view, 10> kEitherWay = {"Add", "And", "Equal", "Max", "Mean",
                                                         "Min", "Mul", "Or",    "Sum", "Xor"};

bool StartsName(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool InName(char c) {
  return StartsName(c) || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/// Returns a byte of the input, made printable for a message.
std::string Shown(char c) {
  if (c >= ' ' && c <= '~') return "'" + std::string(1, c) + "'";
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return "byte 0x" + std::string(1, kHex[byte / 16]) + std::string(1, kHex[byte % 16]);
}

std::vector<std::string> OperatorNames() {
  std::vector<std::string> names;
  for (const OpDef* op : Ops().All()) {
    names.push_back(op->domain.empty() ? op->name : op->domain + "." + op->name);
  }
  return names;
}

/// Returns whether the pattern can match without any node, as a wildcard does.
bool MayBeEmpty(const Pattern& pattern) {
  if (pattern.kind == Pattern::Kind::kAny || pattern.kind == Pattern::Kind::kConstant) return true;
  return pattern.kind == Pattern::Kind::kEither &&
         std::any_of(pattern.parts.begin(), pattern.parts.end(),
                     [](const PatternPtr& part) { return MayBeEmpty(*part); });
}

/// A recursive descent parser; kMaxLevels bounds its depth.
class Parser {
 public:
  Parser(std::string_view text, const std::string& what) : text_(text), what_(what) {}

  PatternPtr Whole() {
    if (text_.size() > kMaxBytes) {
      throw UserError(what_ + " has " + std::to_string(text_.size()) +
                      " bytes; write one of at most " + std::to_string(kMaxBytes));
    }
    PatternPtr pattern = Choice(0);
    if (at_ < text_.size()) Reject("'|' or the end belongs here, not " + Shown(text_[at_]));
    if (MayBeEmpty(*pattern)) {
      throw UserError(what_ +
                      " may match without a node; write an operator, such as Relu(*), in each of "
                      "its alternatives");
    }
    return pattern;
  }

 private:
  [[noreturn]] void RejectAt(std::size_t at, const std::string& why) const {
    throw UserError(what_ + ", column " + std::to_string(at + 1) + ": " + why);
  }
  [[noreturn]] void Reject(const std::string& why) const { RejectAt(at_, why); }

  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  /// Skips `c` and returns true if it comes next.
  bool Take(char c) {
    SkipSpaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  PatternPtr Choice(std::size_t level) {
    if (level == kMaxLevels) {
      Reject("this is nested deeper than " + std::to_string(kMaxLevels) + " levels");
    }
    PatternPtr pattern = Term(level);
    while (Take('|')) pattern = Either(std::move(pattern), Term(level));
    SkipSpaces();
    return pattern;
  }

  PatternPtr Term(std::size_t level) {
    constexpr std::string_view kConstant = "$const";
    if (Take('*')) return Any();
    if (Take('(')) {
      PatternPtr pattern = Choice(level + 1);
      if (!Take(')')) Reject("')' belongs here" + InsteadOf());
      return pattern;
    }
    if (text_.substr(at_).starts_with(kConstant)) {
      at_ += kConstant.size();
      return AnyConstant();
    }
    if (at_ == text_.size() || !StartsName(text_[at_])) {
      Reject("an operator, '*', '$const' or '(' belongs here" + InsteadOf());
    }
    return Operator(level);
  }

  PatternPtr Operator(std::size_t level) {
    std::string name = Name();
    const bool optional = Take('?');
    if (!Take('(')) {
      if (optional) {
        Reject("write what " + name + " may be wrapped around: " + name + "?(...)");
      }
      return CallOf(std::move(name));
    }
    std::vector<PatternPtr> operands;
    if (!optional && Take(')')) return Call(std::move(name), {});
    do {
      operands.push_back(Choice(level + 1));
    } while (Take(','));
    if (!Take(')')) Reject("')' or ',' belongs here" + InsteadOf());
    PatternPtr inner = operands.front();
    PatternPtr call = MakeCall(std::move(name), std::move(operands));
    return optional ? Either(std::move(call), std::move(inner)) : call;
  }

  std::string Name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && InName(text_[at_])) ++at_;
    std::string name(text_.substr(begin, at_ - begin));
    const std::size_t dot = name.rfind('.');
    const bool domain = dot != std::string::npos;
    if (Ops().Find(domain ? name.substr(0, dot) : "", domain ? name.substr(dot + 1) : name) ==
        nullptr) {
      RejectAt(begin, "there is no operator '" + name + "'" + DidYouMean(name, OperatorNames()));
    }
    return name;
  }

  static PatternPtr MakeCall(std::string name, std::vector<PatternPtr> operands) {
    const bool either_way = operands.size() == 2 && std::find(kEitherWay.begin(), kEitherWay.end(),
                                                              name) != kEitherWay.end();
    if (!either_way) return Call(std::move(name), std::move(operands));
    return CallEitherWay(std::move(name), std::move(operands[0]), std::move(operands[1]));
  }

  [[nodiscard]] std::string InsteadOf() const {
    return at_ == text_.size() ? ", where the text ends" : ", not " + Shown(text_[at_]);
  }

  std::string_view text_;
  const std::string& what_;
  std::size_t at_ = 0;
};

}  // namespace

PatternPtr ParsePattern(std::string_view text, const std::string& what) {
  return Parser(text, what).Whole();
}

}  // namespace msc
