#include "compiler/ops/regex.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr std::size_t kMostSteps = 20000;
constexpr int kMostRepeats = 1000;  // as in RE2
constexpr int kMostDepth = 200;
constexpr char32_t kLastCharacter = 0x10FFFF;

bool IsWord(char32_t letter) {
  return letter == '_' || (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= 'a' && letter <= 'z');
}

std::vector<char32_t> CharactersOf(std::string_view text, bool& valid) {
  std::vector<char32_t> letters;
  for (std::size_t at = 0; at < text.size() && valid;) {
    const auto letter = NextCharacter(text, at);
    valid = letter.has_value();
    letters.push_back(letter.value_or(0));
  }
  return letters;
}

}  // namespace

/// Parses an expression by recursive descent, and writes its steps. Repetitions copy the steps of
/// what they repeat.
class RegexParser {
 public:
  RegexParser(const std::string& pattern, Regex& regex) : pattern_(pattern), regex_(regex) {
    bool valid = true;
    letters_ = CharactersOf(pattern, valid);
    if (!valid) Reject("is no UTF-8");
  }

  void Run() {
    Alternatives(0);
    if (at_ < letters_.size()) Reject("has a ')' without its '('");
    Add({.op = Regex::Op::kMatch});
  }

 private:
  using Op = Regex::Op;
  using Set = Regex::Set;

  [[noreturn]] void Reject(const std::string& why) const {
    throw UserError("the expression '" + pattern_.substr(0, 60) + "' " + why);
  }
  [[nodiscard]] bool Is(char32_t letter) const {
    return at_ < letters_.size() && letters_[at_] == letter;
  }
  bool Skip(char32_t letter) {
    const bool is = Is(letter);
    at_ += is ? 1 : 0;
    return is;
  }
  char32_t Next() {
    if (at_ == letters_.size()) Reject("ends too early");
    return letters_[at_++];
  }

  /// Adds a step that goes on with the one behind it.
  std::size_t Add(Regex::Step step) {
    if (regex_.steps_.size() == kMostSteps) Reject("is too long");
    step.next = regex_.steps_.size() + 1;
    regex_.steps_.push_back(step);
    return step.next - 1;
  }
  void AddSet(Set set) {
    regex_.sets_.push_back(std::move(set));
    Add({.op = Op::kSet, .set = regex_.sets_.size() - 1});
  }
  [[nodiscard]] std::size_t End() const { return regex_.steps_.size(); }

  void Alternatives(int depth);
  void Sequence(int depth);
  void Repeated(int depth);
  void Atom(int depth);
  void Group(int depth);
  void Escape();
  [[nodiscard]] Set ClassInBrackets();
  [[nodiscard]] char32_t CharacterOfClass(Set& set, bool& is_class);
  [[nodiscard]] static std::optional<Set> NamedClass(char32_t name);
  [[nodiscard]] char32_t EscapedCharacter(char32_t letter);
  [[nodiscard]] char32_t NumberedCharacter();
  /// Reads * + ? or {m,n} behind an atom; `most` is -1 without a limit.
  bool Count(int& least, int& most);
  [[nodiscard]] bool Braces(int& least, int& most);
  [[nodiscard]] int Number();

  std::string pattern_;
  Regex& regex_;
  std::vector<char32_t> letters_;
  std::size_t at_ = 0;
};

void RegexParser::Alternatives(int depth) {
  if (depth > kMostDepth) Reject("nests too deeply");
  std::vector<std::size_t> ends;
  while (true) {
    const std::size_t split = Add({.op = Op::kSplit});
    Sequence(depth);
    const bool more = Skip('|');
    // The last alternative has no other; both ways of its split are the same.
    regex_.steps_[split].other = regex_.steps_[split].next;
    if (!more) break;
    ends.push_back(Add({.op = Op::kJump}));
    regex_.steps_[split].other = End();
  }
  for (const std::size_t end : ends) regex_.steps_[end].next = End();
}

void RegexParser::Sequence(int depth) {
  while (at_ < letters_.size() && !Is('|') && !Is(')')) Repeated(depth);
}

void RegexParser::Repeated(int depth) {
  const std::size_t first = End();
  Atom(depth);
  int least = 1;
  int most = 1;
  if (!Count(least, most)) return;
  // Whether a repetition takes much or little makes no difference to whether all of a text matches.
  Skip('?');
  int again = 1;
  int second = 1;
  if (Count(again, second)) Reject("repeats a repetition");
  const std::vector<Regex::Step> body(regex_.steps_.begin() + static_cast<std::ptrdiff_t>(first),
                                      regex_.steps_.end());
  regex_.steps_.resize(first);
  const auto copy = [&] {
    const std::size_t moved = End() - first;
    for (Regex::Step step : body) {
      const std::size_t next = step.next + moved;
      step.other += moved;
      regex_.steps_[Add(step)].next = next;
    }
  };
  for (int i = 0; i < least; ++i) copy();
  if (most < 0) {
    const std::size_t split = Add({.op = Op::kSplit});
    copy();
    regex_.steps_[Add({.op = Op::kJump})].next = split;
    regex_.steps_[split].other = End();
  }
  std::vector<std::size_t> splits;
  for (int i = least; i < most; ++i) {
    splits.push_back(Add({.op = Op::kSplit}));
    copy();
  }
  for (const std::size_t split : splits) regex_.steps_[split].other = End();
}

bool RegexParser::Count(int& least, int& most) {
  if (Skip('*')) {
    least = 0;
    most = -1;
  } else if (Skip('+')) {
    least = 1;
    most = -1;
  } else if (Skip('?')) {
    least = 0;
    most = 1;
  } else {
    return Is('{') && Braces(least, most);
  }
  return true;
}

/// Reads {m}, {m,} or {m,n}. Other braces stand for themselves.
bool RegexParser::Braces(int& least, int& most) {
  const std::size_t begin = at_++;
  least = Number();
  most = least;
  if (least >= 0 && Skip(',')) most = Is('}') ? -1 : Number();
  const bool open = least >= 0 && most == -1 && letters_[at_ - 1] == ',';
  if (least < 0 || (most < 0 && !open) || !Skip('}')) {
    at_ = begin;
    return false;
  }
  if (least > kMostRepeats || most > kMostRepeats || (most >= 0 && most < least)) {
    Reject("has a number of repetitions that is not supported");
  }
  return true;
}

/// Reads a number; -1 if there is none.
int RegexParser::Number() {
  int number = -1;
  while (at_ < letters_.size() && letters_[at_] >= '0' && letters_[at_] <= '9') {
    const int digit = static_cast<int>(letters_[at_++] - '0');
    number = std::min(kMostRepeats + 1, std::max(number, 0) * 10 + digit);
  }
  return number;
}

void RegexParser::Atom(int depth) {
  const char32_t letter = Next();
  switch (letter) {
    case '(':
      return Group(depth);
    case '[':
      return AddSet(ClassInBrackets());
    case '\\':
      return Escape();
    case '.':
      return AddSet({.ranges = {{'\n', '\n'}}, .negated = true});
    case '^':
      Add({.op = Op::kStart});
      return;
    case '$':
      Add({.op = Op::kEnd});
      return;
    case '*':
    case '+':
    case '?':
      Reject("repeats nothing");
    default:
      AddSet({.ranges = {{letter, letter}}});
  }
}

void RegexParser::Group(int depth) {
  if (Skip('?')) {
    const bool named = Is('P') || Is('<');
    if (named) {
      Skip('P');
      if (!Skip('<')) Reject("has a group that is not supported");
      while (!Is('>')) {
        if (!IsWord(Next())) Reject("has a bad name of a group");
      }
      Skip('>');
    } else if (!Skip(':')) {
      Reject("has flags, which are not supported");
    }
  }
  Alternatives(depth + 1);
  if (!Skip(')')) Reject("has a '(' without its ')'");
}

std::optional<Regex::Set> RegexParser::NamedClass(char32_t name) {
  const bool negated = name >= 'A' && name <= 'Z';
  switch (negated ? name - 'A' + 'a' : name) {
    case 'd':
      return Set{{{'0', '9'}}, negated};
    case 'w':
      return Set{{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}, negated};
    case 's':
      return Set{{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}}, negated};
    default:
      return std::nullopt;
  }
}

/// Reads a character by its number behind \x.
char32_t RegexParser::NumberedCharacter() {
  const bool braced = Skip('{');
  char32_t code = 0;
  std::size_t digits = 0;
  while (braced ? !Is('}') : digits < 2) {
    const char32_t digit = Next();
    const bool decimal = digit >= '0' && digit <= '9';
    const char32_t lower = digit | 0x20U;
    if (!decimal && (lower < 'a' || lower > 'f')) Reject("has a bad number of a character");
    code = code * 16 + (decimal ? digit - '0' : lower - 'a' + 10);
    if (code > kLastCharacter) Reject("has a bad number of a character");
    ++digits;
  }
  if (braced && (!Skip('}') || digits == 0)) Reject("has a bad number of a character");
  return code;
}

/// Returns the character of an escape whose letter was read.
char32_t RegexParser::EscapedCharacter(char32_t letter) {
  constexpr std::string_view kNames = "aftnrv";
  constexpr std::string_view kMeant = "\a\f\t\n\r\v";
  const auto known = letter < 0x80 ? kNames.find(static_cast<char>(letter)) : std::string::npos;
  if (known != std::string::npos) return static_cast<char32_t>(kMeant[known]);
  if (letter == 'x') return NumberedCharacter();
  // Letters and digits have meanings, of which those above are read.
  if (letter < 0x80 && letter != '_' && IsWord(letter)) {
    Reject(std::string("has \\") + static_cast<char>(letter) + ", which is not supported");
  }
  return letter;
}

void RegexParser::Escape() {
  const char32_t letter = Next();
  if (auto named = NamedClass(letter)) return AddSet(std::move(*named));
  switch (letter) {
    case 'A':
      Add({.op = Op::kStart});
      return;
    case 'z':
      Add({.op = Op::kEnd});
      return;
    case 'b':
      Add({.op = Op::kBoundary});
      return;
    case 'B':
      Add({.op = Op::kInside});
      return;
    default: {
      const char32_t meant = EscapedCharacter(letter);
      AddSet({.ranges = {{meant, meant}}});
    }
  }
}

/// Reads a character of a class in brackets. Where it is a class itself, adds its ranges to `set`.
char32_t RegexParser::CharacterOfClass(Set& set, bool& is_class) {
  const char32_t letter = Next();
  if (letter == '[' && Is(':')) Reject("has a class [:...:], which is not supported");
  if (letter != '\\') return letter;
  const char32_t escaped = Next();
  const auto named = NamedClass(escaped);
  if (!named) return EscapedCharacter(escaped);
  is_class = true;
  char32_t from = 0;
  for (const Regex::Range& range : named->ranges) {
    if (!named->negated) {
      set.ranges.push_back(range);
    } else if (range.first > from) {
      set.ranges.push_back({from, range.first - 1});
    }
    from = range.last + 1;
  }
  if (named->negated) set.ranges.push_back({from, kLastCharacter});
  return 0;
}

/// Reads a class behind its bracket.
Regex::Set RegexParser::ClassInBrackets() {
  Set set{.ranges = {}, .negated = Skip('^')};
  for (bool first = true; first || !Is(']'); first = false) {
    bool is_class = false;
    const char32_t from = CharacterOfClass(set, is_class);
    if (is_class) continue;
    char32_t to = from;
    const bool range = Is('-') && at_ + 1 < letters_.size() && letters_[at_ + 1] != ']';
    if (range) {
      Skip('-');
      to = CharacterOfClass(set, is_class);
      if (is_class || to < from) Reject("has a range of characters that ends before it starts");
    }
    set.ranges.push_back({from, to});
  }
  Skip(']');
  return set;
}

Regex::Regex(const std::string& pattern) {
  RegexParser(pattern, *this).Run();
}

bool Regex::Has(const Set& set, char32_t letter) {
  const bool found = std::ranges::any_of(set.ranges, [&](const Range& range) {
    return range.first <= letter && letter <= range.last;
  });
  return found != set.negated;
}

void Regex::Reach(std::size_t step, const Place& place, std::vector<bool>& seen,
                  std::vector<std::size_t>& reached) const {
  std::vector<std::size_t> open = {step};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const Step& one = steps_[at];
    bool passes = false;
    switch (one.op) {
      case Op::kSet:
      case Op::kMatch:
        reached.push_back(at);
        break;
      case Op::kSplit:
        open.push_back(one.other);
        passes = true;
        break;
      case Op::kJump:
        passes = true;
        break;
      case Op::kStart:
        passes = place.first;
        break;
      case Op::kEnd:
        passes = place.last;
        break;
      case Op::kBoundary:
        passes = place.boundary;
        break;
      case Op::kInside:
        passes = !place.boundary;
        break;
    }
    if (passes) open.push_back(one.next);
  }
}

bool Regex::MatchesAll(std::string_view text) const {
  bool valid = true;
  const std::vector<char32_t> letters = CharactersOf(text, valid);
  if (!valid) return false;
  const auto word = [&](std::size_t i) { return i < letters.size() && IsWord(letters[i]); };
  const auto place = [&](std::size_t i) {
    return Place{.first = i == 0,
                 .last = i == letters.size(),
                 .boundary = (i > 0 && word(i - 1)) != word(i)};
  };
  std::vector<std::size_t> reached;
  std::vector<bool> seen(steps_.size(), false);
  Reach(0, place(0), seen, reached);
  for (std::size_t i = 0; i < letters.size() && !reached.empty(); ++i) {
    std::vector<std::size_t> next;
    seen.assign(steps_.size(), false);
    for (const std::size_t at : reached) {
      const Step& step = steps_[at];
      if (step.op == Op::kSet && Has(sets_[step.set], letters[i])) {
        Reach(step.next, place(i + 1), seen, next);
      }
    }
    reached = std::move(next);
  }
  return std::ranges::any_of(reached, [&](std::size_t at) { return steps_[at].op == Op::kMatch; });
}

}  // namespace msc
