#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msc {

/// Reads the character of UTF-8 that starts at `at`, which moves behind it. Returns nothing, and
/// leaves `at`, where none starts.
[[nodiscard]] std::optional<char32_t> NextCharacter(std::string_view text, std::size_t& at);

/// A regular expression in the syntax of RE2, without flags, classes of Unicode, octal numbers and
/// \Q. A match takes time in proportion to the length of the text and of the expression, whatever
/// they are. Source: https://github.com/google/re2/wiki/Syntax.
class Regex {
 public:
  /// Throws UserError, which says why, for an expression that RE2 refuses or this does not support,
  /// or that becomes too long.
  explicit Regex(const std::string& pattern);

  /// Returns whether the whole text matches. One that is no UTF-8 does not.
  [[nodiscard]] bool MatchesAll(std::string_view text) const;

 private:
  friend class RegexParser;

  enum class Op : std::uint8_t { kSet, kSplit, kJump, kStart, kEnd, kBoundary, kInside, kMatch };
  struct Range {
    char32_t first = 0;
    char32_t last = 0;
  };
  /// Characters in one of the ranges, or in none.
  struct Set {
    std::vector<Range> ranges;
    bool negated = false;
  };
  struct Step {
    Op op = Op::kMatch;
    std::size_t set = 0;    ///< of kSet
    std::size_t next = 0;   ///< but for kMatch
    std::size_t other = 0;  ///< of kSplit
  };
  /// What stands around a position of a text.
  struct Place {
    bool first = false;
    bool last = false;
    bool boundary = false;  ///< between a character of a word and another one
  };

  [[nodiscard]] static bool Has(const Set& set, char32_t letter);
  /// Adds the steps that can be reached from `step` without a character; `seen` marks them.
  void Reach(std::size_t step, const Place& place, std::vector<bool>& seen,
             std::vector<std::size_t>& reached) const;

  std::vector<Set> sets_;
  std::vector<Step> steps_;
};

}  // namespace msc
