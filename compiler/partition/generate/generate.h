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

struct GenerateOptions {
  RegionOptions regions = {};
  PartitionRules rules = {};  ///< of a user
  /// By target, the graph in the precisions that it would compute in; none: the same for all.
  std::vector<const Graph*> graphs = {};
};

/// What each of `targets` could compute of `graph` as one region, with costs Unknown.
///
/// `graph` is canonical with every type static, and may hold Q/DQ and Cast nodes of a strategy.
/// `flow` is the DataflowGraph of it, or of the graph without those nodes: nodes are matched by
/// name, and what `flow` does not name goes with the nodes around it.
///
/// A target's units are what its own lowering of the whole graph fuses, and single nodes; what it
/// can run is what Target::Supports says, before and after. Candidates are the regions of
/// MakeRegions; units of other targets and layers (see passes/chain.h), where the target can run
/// all their nodes; and every single node that it can run. Of a target that runs node by node (see
/// Target) only single nodes, its largest regions, and the largest of nodes that no other of
/// `targets` can run: any further region costs what its nodes cost, so no cover gets cheaper by it.
/// Then what its patterns match and what rules for it offer, as far as that is convex and it can
/// run all nodes: see Candidate::also. Each set of nodes once a target. Whether a target runs a
/// region as one, fused as hoped for, only compiling it shows. Nodes with nested graphs that read
/// values around them are left to nobody.
///
/// UserError where the nodes that a rule lists are not convex, or where of all that a rule offers a
/// target that it names, or each target where it names none, can run nothing: it says which node.
[[nodiscard]] std::vector<Candidate> GenerateCandidates(const Graph& graph,
                                                        const DataflowGraph& flow,
                                                        std::span<const Target* const> targets,
                                                        const GenerateOptions& options = {});

/// What a user should know about rules after GenerateCandidates, a sentence each: which match
/// nothing, which are for targets that are none of `targets`, and of which a target takes some
/// regions and leaves others. Of a rule of which it takes nothing nothing is said here: another
/// target takes it, or GenerateCandidates refused it.
[[nodiscard]] std::vector<std::string> RuleWarnings(const PartitionRules& rules,
                                                    std::span<const Target* const> targets,
                                                    const DataflowGraph& flow,
                                                    std::span<const Candidate> candidates);

/// Indices of those of `candidates` that are units of their targets.
[[nodiscard]] std::vector<std::uint32_t> UnitCandidates(std::span<const Candidate> candidates);

}  // namespace msc
