#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/partition/dataflow.h"

namespace msc {

/// What an expression may look like, from its result backwards. Immutable; a part that is used
/// twice may match two different nodes.
struct Pattern;
using PatternPtr = std::shared_ptr<const Pattern>;

/// Anything; not part of the match.
[[nodiscard]] PatternPtr Any();
/// A constant, which is part of the match; or a weight, which is part of its reader.
[[nodiscard]] PatternPtr AnyConstant();
/// A call of `op` with such operands, operator name and scalars not counted, nor weights behind the
/// last of `operands`.
[[nodiscard]] PatternPtr Call(std::string op, std::vector<PatternPtr> operands);
/// A call of `op`, whatever it reads.
[[nodiscard]] PatternPtr CallOf(std::string op);
/// The same with two operands in either order.
[[nodiscard]] PatternPtr CallEitherWay(std::string op, PatternPtr a, PatternPtr b);
/// A tuple of such fields; of any number of fields that are each `every`.
[[nodiscard]] PatternPtr TupleOf(std::vector<PatternPtr> fields);
[[nodiscard]] PatternPtr TupleOfAny(PatternPtr every);
/// An element of what `tuple` matches.
[[nodiscard]] PatternPtr Projection(PatternPtr tuple);
[[nodiscard]] PatternPtr Either(PatternPtr a, PatternPtr b);
/// `wrap(inner)` or `inner` alone.
[[nodiscard]] PatternPtr Optionally(const std::function<PatternPtr(PatternPtr)>& wrap,
                                    const PatternPtr& inner);

/// Which matches of a pattern at one root.
enum class Matches : std::uint8_t {
  kAll,
  kFirst,  ///< as in TVM: alternatives after one that matches are not tried
};

/// The nodes of each match with root `root`, each set once, in the order in which alternatives are
/// written. At most 1,000, and of two operands no more than 10,000 pairs of their matches are
/// looked at (a pattern of many alternatives has exponentially many). Each part of `pattern` is
/// matched once a node.
[[nodiscard]] std::vector<IndexSet> FindMatches(const DataflowGraph& flow, const Pattern& pattern,
                                                std::size_t root, Matches matches);

struct Pattern {
  enum class Kind : std::uint8_t {
    kAny,
    kConstant,
    kCall,
    kCallOf,
    kTuple,
    kTupleOfAny,
    kProjection,
    kEither
  };
  Kind kind = Kind::kAny;
  std::string op = {};
  std::vector<PatternPtr> parts = {};
};

}  // namespace msc
