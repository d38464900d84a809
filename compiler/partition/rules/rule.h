#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/rules/pattern.h"
#include "compiler/partition/rules/sub_graph.h"

namespace msc {

/// Finds sub-graphs that a target could compute; they may overlap. Rules are built from other
/// rules.
/// Source: apache/tvm at fb43fc8577, src/relay/collage.
using Rule = std::function<std::vector<SubGraph>(const DataflowGraph& flow)>;

// --- rules that look at the graph ---

/// Finds the matches of `pattern`. Values that Any() stands for are not part of them.
[[nodiscard]] Rule PatternRule(PatternPtr pattern);
/// Horizontal: among the calls of `op` that read the same tensors, finds every run of two to eight
/// neighbours, and all together.
[[nodiscard]] Rule SiblingRule(std::string op);
/// Finds the sets of nodes that a user lists by name. UserError if there is no such node.
[[nodiscard]] Rule UserRule(std::vector<std::vector<std::string>> regions);

// --- rules made of rules ---

/// Finds what each of `rules` finds, one after the other; duplicates stay.
[[nodiscard]] Rule UnionRule(std::vector<Rule> rules);

class CombineRound;
/// Adds unions of the present sub-graphs in one round.
using Combiner = std::function<void(CombineRound& round)>;

/// Finds the closure of the sub-graphs of `rule` under `combiners`, round by round. Two touching
/// sub-graphs are joined if the sum of their depths is at most `max_depth` (0: no limit). UserError
/// beyond 100,000 sub-graphs.
[[nodiscard]] Rule CombineRule(Rule rule, std::vector<Combiner> combiners, std::size_t max_depth);

/// Joins an upstream sub-graph of the first kind or easier with a downstream one of the second kind
/// or easier.
[[nodiscard]] Combiner JoinByKind(std::vector<std::pair<OpKind, OpKind>> kinds);
/// Joins touching sub-graphs that are not opaque.
[[nodiscard]] Combiner JoinAnything();
/// Horizontal: joins calls of one operator that read the same nodes, such as the three products in
/// front of attention. The regions have several exits.
[[nodiscard]] Combiner JoinSiblings();
/// Vertical: joins two touching sub-graphs that both have an anchor, such as two successive
/// convolutions.
[[nodiscard]] Combiner JoinAnchors();
/// Joins what TVM's FuseOps joins: anchors take elementwise and broadcast operators, these take a
/// reduction, injective operators take each other.
[[nodiscard]] Combiner JoinLikeTvm();

}  // namespace msc
