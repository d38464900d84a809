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

/// kCompat repeats what TVM's Collage leaves out, to compare with it: one match of a pattern at a
/// root, and no union of an old candidate with a new one that reads from it.
/// Source: apache/tvm at fb43fc8577, src/relay/collage.
enum class RuleMode : std::uint8_t { kComplete, kCompat };

/// A sub-graph that a rule offers. The same nodes may be offered several times, in other forms.
struct Offered {
  std::string rule;
  SubGraph sub_graph;
};

/// Finds sub-graphs that a target could take. Overlaps are wanted. Rules are made of rules; they
/// are written once a target, from its patterns.
struct Rule {
  std::string name;
  std::function<std::vector<Offered>(const DataflowGraph& flow, RuleMode mode)> find;
};

// --- rules that look at the graph ---

/// Matches of `pattern` whose root `accepts`. Values that Any() stands for are not part of them.
[[nodiscard]] Rule PatternRule(std::string name, PatternPtr pattern,
                               std::function<bool(const FlowNode&)> accepts = {});
/// Each call of kind kAnchor or easier.
[[nodiscard]] Rule KindRule();
/// Each call that `accepts`, with the constants it reads.
[[nodiscard]] Rule OperatorRule(std::string name, std::function<bool(const FlowNode&)> accepts);
/// Each node that needs no kernel: all roles but calls.
[[nodiscard]] Rule HostRule();
/// Horizontal: of the calls of `op` that read the same tensors, constants not counted, two to eight
/// neighbours each, and all together.
[[nodiscard]] Rule SiblingRule(std::string op);
/// The sets of nodes that a user lists, by name. UserError where there is no such node.
[[nodiscard]] Rule UserRule(std::vector<std::vector<std::string>> regions);

// --- rules made of rules ---

[[nodiscard]] Rule CompositeRule(const std::string& name, Rule rule);
/// `compiler`, where not empty, is who compiles the function: a target outside of this compiler.
[[nodiscard]] Rule PrimitiveRule(Rule rule, std::string compiler = {});
/// What each offers, one after the other; twins stay.
[[nodiscard]] Rule UnionRule(std::vector<Rule> rules);
[[nodiscard]] Rule ValidRule(Rule rule, SubGraphConfig config);

class CombineRound;
/// Adds unions of what there is in one round.
using Combiner = std::function<void(CombineRound& round)>;

/// Closes what `rule` offers under `combiners`, round by round. Two sub-graphs that touch are
/// joined where their depths sum to `max_depth` at most (0: any). UserError beyond 100,000
/// sub-graphs.
[[nodiscard]] Rule CombineRule(Rule rule, std::vector<Combiner> combiners, std::size_t max_depth);

/// Joins an upstream of the first kind or easier with a downstream of the second or easier.
[[nodiscard]] Combiner JoinByKind(std::vector<std::pair<OpKind, OpKind>> kinds);
/// Joins whatever touches and is not opaque.
[[nodiscard]] Combiner JoinAnything();
/// A reader of a tuple, the tuple, and one producer for each of its fields; all injective or
/// easier.
[[nodiscard]] Combiner JoinTupleArguments();
/// A projection with what it reads from.
[[nodiscard]] Combiner JoinTupleProjections();
/// All constants that a sub-graph reads, with it.
[[nodiscard]] Combiner JoinConstants();
/// Horizontal: calls of one operator that read the same tensors, constants not counted, such as the
/// three products in front of attention. Makes regions of several exits.
[[nodiscard]] Combiner JoinSiblings();
/// Vertical: two that touch and both have an anchor, such as a convolution behind another.
[[nodiscard]] Combiner JoinAnchors();

/// As FuseOps of TVM: anchors take elementwise operators, those a reduction, injective ones each
/// other; with tuples and projections.
[[nodiscard]] std::vector<Combiner> FuseLikeTvm();

enum class FusionStyle : std::uint8_t { kNone, kLikeTvm, kAnything };

/// Regions of a target that generates code: calls by kind, fused like TVM; one exit, no taps.
[[nodiscard]] Rule GeneratedCodeRule(std::size_t max_depth);

struct TargetPattern {
  std::string name;
  PatternPtr pattern;
  std::function<bool(const FlowNode&)> accepts = {};
};
/// Regions of a library: its patterns as composites, joined by `style`; one exit, no taps.
[[nodiscard]] Rule LibraryRule(std::string compiler, const std::vector<TargetPattern>& patterns,
                               FusionStyle style, std::size_t max_depth);

}  // namespace msc
