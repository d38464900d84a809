#pragma once

// What TVM's Collage does with expressions (see expression.h), for comparison with its tables.
// Source: apache/tvm at fb43fc8577, src/relay/collage.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/problem.h"
#include "compiler/partition/rules/combine.h"
#include "compiler/partition/rules/rule.h"

namespace msc::test {

/// Whether touching sub-graphs are all joined, or as Collage joins them: never an old one with a
/// new one that reads from it.
enum class Joins : std::uint8_t { kAll, kAsCollage };

/// Finds each call of kind kAnchor or easier.
[[nodiscard]] Rule KindRule();
/// Finds each node that needs no kernel: all but calls.
[[nodiscard]] Rule HostRule();
/// Finds the convex sub-graphs of `rule` that have one exit and at most this depth.
[[nodiscard]] Rule ValidRule(Rule rule, std::size_t max_depth);

[[nodiscard]] Combiner JoinKinds(const std::vector<std::pair<OpKind, OpKind>>& kinds, Joins joins);
/// Joins a reader of a tuple, the tuple, and one producer for each of its fields; all must be
/// injective or easier.
[[nodiscard]] Combiner JoinTupleArguments();
/// Joins a projection with the sub-graph that it reads from.
[[nodiscard]] Combiner JoinTupleProjections();
/// Joins a sub-graph with all constants that it reads.
[[nodiscard]] Combiner JoinConstants();

/// Returns the rule of a target that generates code: calls by kind, fused like TVM, with one exit.
[[nodiscard]] Rule GeneratedCodeRule(std::size_t max_depth, Joins joins);
/// Returns the rule of a library that fuses anything: its patterns, joined, with one exit.
[[nodiscard]] Rule LibraryRule(const std::vector<PatternPtr>& patterns, std::size_t max_depth,
                               Joins joins);

/// A region of one target.
struct Merged {
  IndexSet nodes;
  std::string target;
};
/// Returns the regions of a cover after merging neighbours of one target as long as two regions
/// touch: one feeds the other, and no path leaves their union and comes back. Never builds regions
/// that wait for each other.
[[nodiscard]] std::vector<Merged> MergeNeighbours(const CoverProblem& problem,
                                                  const std::vector<std::uint32_t>& chosen);

}  // namespace msc::test
