#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/candidate.h"
#include "compiler/partition/generate/units.h"
#include "compiler/partition/rules/rule_file.h"
#include "compiler/targets/target.h"

namespace msc {

/// Options of GenerateCandidates.
struct GenerateOptions {
  RegionOptions regions = {};
  PartitionRules rules = {};  ///< rules of the user
  /// By target: the graph in the precisions in which that target computes. If empty, all use the
  /// same graph.
  std::vector<const Graph*> graphs = {};
};

/// Returns the regions of `graph` that each of `targets` could compute, with unknown costs. Each
/// set of nodes occurs once per target.
///
/// `graph` is canonical with static types, and may contain Q/DQ and Cast nodes of a strategy.
/// `flow` is the DataflowGraph of `graph`, or of the graph without those nodes. Nodes are matched
/// by name; nodes that are missing from `flow` go with the nodes around them.
///
/// The units of a target are the nodes that its own lowering of the whole graph fuses, and single
/// nodes. A target supports a node if Target::Supports accepts it before or after lowering. The
/// candidates of a target are:
/// - the regions of MakeRegions;
/// - units of other targets and layers (see passes/chain.h) of which the target supports all nodes;
/// - every single node that it supports;
/// - matches of its patterns and of the rules for it that are convex and of which it supports all
///   nodes (see CandidateRegion::also).
///
/// For a target that runs node by node (see Target), the first two are replaced by its largest
/// regions and the largest regions of nodes that no other of `targets` supports: any further region
/// costs as much as its nodes, so it makes no cover cheaper. Only compiling shows whether a target
/// runs a region fused as expected. Nodes with nested graphs that read values around them get no
/// candidate.
///
/// UserError if the nodes that a rule lists are not convex, or if a rule has regions but a target
/// that it names (or, if it names none, every target) supports none of them; the message names a
/// node.
[[nodiscard]] std::vector<CandidateRegion> GenerateCandidates(
    const Graph& graph, const DataflowGraph& flow, std::span<const Target* const> targets,
    const GenerateOptions& options = {});

/// Returns sentences with warnings about rules, for the user, after GenerateCandidates: rules that
/// match nothing; rules for targets that are not among `targets`; and rules of which a target
/// supports only some regions. A rule of which a target supports no region is not reported here:
/// another target supports some, or GenerateCandidates rejected the rule.
[[nodiscard]] std::vector<std::string> RuleWarnings(const PartitionRules& rules,
                                                    std::span<const Target* const> targets,
                                                    const DataflowGraph& flow,
                                                    std::span<const CandidateRegion> candidates);

/// Returns the indices of the candidates that are units of their targets.
[[nodiscard]] std::vector<std::uint32_t> UnitCandidates(
    std::span<const CandidateRegion> candidates);

}  // namespace msc
