#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/partition/problem.h"
#include "compiler/partition/rules/rule_file.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/partition/source.h"

namespace msc::cost {

struct ProposeOptions {
  /// Targets that lay images channels last may exchange them so, too (see turn_costs.h).
  bool channels_last = false;
  PartitionRules rules = {};  ///< of a user
};

/// The problem of covering the bound canonical graph `plain` with what `targets` could compute of
/// it; `source` is the same graph with a strategy's precisions. A target whose option asks for
/// another one gets regions with a layer that it would compute in another precision than the
/// strategy does. Costs are unknown. UserError where `targets` is empty or has one that is not
/// there, or as GenerateCandidates.
[[nodiscard]] CoverProblem ProposeRegions(const Graph& plain, const RegionSource& source,
                                          std::span<const std::string> targets,
                                          const TargetRegistry& registry,
                                          const ProposeOptions& options = {});

/// RuleWarnings of what was proposed.
[[nodiscard]] std::vector<std::string> WarningsOf(const PartitionRules& rules,
                                                  const CoverProblem& problem,
                                                  std::span<const std::string> targets,
                                                  const TargetRegistry& registry);

/// Names of the nodes of a candidate, in the problem's order.
[[nodiscard]] std::vector<std::string> NodeNames(const CoverProblem& problem,
                                                 const Candidate& candidate);

/// Who must compute `node`: `target`, with images as it likes, and in any precision that is offered
/// where it names none. UserError where there is no such
/// node, where it is pinned already, or where no candidate of that target has it, naming whose do.
void PinNode(CoverProblem& problem, const std::string& node, const std::string& target);

/// Leaves only candidates that keep the pins, which are conditions no more.
void KeepPins(CoverProblem& problem);

/// `target` gets `most` regions, with images and precisions as above. UserError where no candidate
/// is its.
void LimitRegions(CoverProblem& problem, const std::string& target, std::int64_t most);

/// The chosen candidates as a plan: what Strategy::partition holds.
[[nodiscard]] std::vector<PartitionRegion> PlanOf(const CoverProblem& problem,
                                                  const std::vector<std::uint32_t>& chosen);

}  // namespace msc::cost
