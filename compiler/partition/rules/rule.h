#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/rules/pattern.h"
#include "compiler/partition/rules/sub_graph.h"

namespace msc {

/// Whether rules are complete, or compatible with TVM's Collage for comparisons: kCompat takes one
/// match of a pattern for each root, and never joins an old candidate with a new one that reads
/// from it.
/// Source: apache/tvm at fb43fc8577, src/relay/collage.
enum class RuleMode : std::uint8_t { kComplete, kCompat };

/// A sub-graph that a rule found. The same nodes may be found several times, with other nested
/// functions.
struct Offered {
  std::string rule;
  SubGraph sub_graph;
};

/// Finds sub-graphs that a target could compute; they may overlap. Rules are built from other
/// rules; each target gets rules made of its patterns.
struct Rule {
  std::string name;
  std::function<std::vector<Offered>(const DataflowGraph& flow, RuleMode mode)> find;
};

// --- rules that look at the graph ---

/// Finds the matches of `pattern` whose root `accepts`. Values that Any() stands for are not part
/// of them.
[[nodiscard]] Rule PatternRule(std::string name, PatternPtr pattern,
                               std::function<bool(const FlowNode&)> accepts = {});
/// Finds each call of kind kAnchor or easier to fuse.
[[nodiscard]] Rule KindRule();
/// Finds each call that `accepts`, with the constants it reads.
[[nodiscard]] Rule OperatorRule(std::string name, std::function<bool(const FlowNode&)> accepts);
/// Finds each node that needs no kernel: all roles but calls.
[[nodiscard]] Rule HostRule();
/// Horizontal: among the calls of `op` that read the same tensors, constants not counted, finds
/// every run of two to eight neighbours, and all together.
[[nodiscard]] Rule SiblingRule(std::string op);
/// Finds the sets of nodes that a user lists by name. UserError if there is no such node.
[[nodiscard]] Rule UserRule(std::vector<std::vector<std::string>> regions);

// --- rules made of rules ---

/// Makes each sub-graph of `rule` a composite function of this name.
[[nodiscard]] Rule CompositeRule(const std::string& name, Rule rule);
/// Makes each sub-graph of `rule` a primitive function. `compiler`, if not empty, names the
/// external target that compiles it.
[[nodiscard]] Rule PrimitiveRule(Rule rule, std::string compiler = {});
/// Finds what each of `rules` finds, one after the other; duplicates stay.
[[nodiscard]] Rule UnionRule(std::vector<Rule> rules);
/// Finds the sub-graphs of `rule` that are valid under `config`.
[[nodiscard]] Rule ValidRule(Rule rule, SubGraphConfig config);

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
/// Joins a reader of a tuple, the tuple, and one producer for each of its fields; all must be
/// injective or easier.
[[nodiscard]] Combiner JoinTupleArguments();
/// Joins a projection with the sub-graph that it reads from.
[[nodiscard]] Combiner JoinTupleProjections();
/// Joins a sub-graph with all constants that it reads.
[[nodiscard]] Combiner JoinConstants();
/// Horizontal: joins calls of one operator that read the same tensors, constants not counted, such
/// as the three products in front of attention. The regions have several exits.
[[nodiscard]] Combiner JoinSiblings();
/// Vertical: joins two touching sub-graphs that both have an anchor, such as two successive
/// convolutions.
[[nodiscard]] Combiner JoinAnchors();

/// Returns the combiners of TVM's FuseOps: anchors take elementwise and broadcast operators, these
/// take a reduction, injective operators take each other; also tuples and projections.
[[nodiscard]] std::vector<Combiner> FuseLikeTvm();

/// How a library's patterns are joined.
enum class FusionStyle : std::uint8_t { kNone, kLikeTvm, kAnything };

/// Returns the rule of a target that generates code: calls by kind, fused like TVM; one exit, no
/// taps.
[[nodiscard]] Rule GeneratedCodeRule(std::size_t max_depth);

/// A pattern that a library computes in one call; `accepts` checks its root.
struct TargetPattern {
  std::string name;
  PatternPtr pattern;
  std::function<bool(const FlowNode&)> accepts = {};
};
/// Returns the rule of a library: its patterns as composites, joined by `style`; one exit, no taps.
[[nodiscard]] Rule LibraryRule(std::string compiler, const std::vector<TargetPattern>& patterns,
                               FusionStyle style, std::size_t max_depth);

}  // namespace msc
