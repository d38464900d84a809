#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/partition/dataflow.h"

namespace msc {

/// The form of an expression, from its result backwards. Immutable. A part that is used twice may
/// match two different nodes.
struct Pattern;
using PatternPtr = std::shared_ptr<const Pattern>;

/// Matches anything; the matched nodes are not part of the match.
[[nodiscard]] PatternPtr Any();
/// Matches a weight, which is part of its reader.
[[nodiscard]] PatternPtr AnyConstant();
/// Matches a call of `op` with these operands. Weights after the last of `operands` are not
/// counted.
[[nodiscard]] PatternPtr Call(std::string op, std::vector<PatternPtr> operands);
/// Matches a call of `op` with any operands.
[[nodiscard]] PatternPtr CallOf(std::string op);
/// Matches a call of `op` with two operands in either order.
[[nodiscard]] PatternPtr CallEitherWay(std::string op, PatternPtr a, PatternPtr b);
[[nodiscard]] PatternPtr Either(PatternPtr a, PatternPtr b);

/// Returns the nodes of each match with root `root`, each set once, in the order in which
/// alternatives are written. A pattern of many alternatives has exponentially many matches, so at
/// most 1,000 are returned, and at most 10,000 pairs of two operands' matches are examined. Matches
/// of each part of `pattern` are computed once per node.
[[nodiscard]] std::vector<IndexSet> FindMatches(const DataflowGraph& flow, const Pattern& pattern,
                                                std::size_t root);

struct Pattern {
  enum class Kind : std::uint8_t {
    kAny,
    kConstant,
    kCall,
    kCallOf,
    kEither,
  };
  Kind kind = Kind::kAny;
  std::string op = {};
  std::vector<PatternPtr> parts = {};
};

}  // namespace msc
