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
  /// Whether targets that lay out images channels last may also exchange them so
  /// (layout_conversion_costs.h).
  bool channels_last = false;
  PartitionRules rules = {};  ///< rules given by the user
};

/// Returns the problem of covering the bound canonical graph `plain` with regions that `targets`
/// can compute; `source` is the same graph with a strategy's precisions. A target with the option
/// `precision` gets only regions with a layer whose precision this changes. Costs are unknown.
/// UserError if `targets` is empty or names an unknown target, and as GenerateCandidates.
[[nodiscard]] CoverProblem ProposeRegions(const Graph& plain, const RegionSource& source,
                                          std::span<const std::string> targets,
                                          const TargetRegistry& registry,
                                          const ProposeOptions& options = {});

/// Returns the RuleWarnings for the proposed candidates.
[[nodiscard]] std::vector<std::string> WarningsOf(const PartitionRules& rules,
                                                  const CoverProblem& problem,
                                                  std::span<const std::string> targets,
                                                  const TargetRegistry& registry);

/// Returns the names of a candidate's nodes, in the problem's order.
[[nodiscard]] std::vector<std::string> NodeNames(const CoverProblem& problem,
                                                 const CandidateRegion& candidate);

/// Pins `node` to `target`, in either image layout and, if `target` names no precision, in every
/// proposed precision. UserError if there is no such node, if it is pinned already, or if no
/// candidate of that target contains it; the message then names targets that have such candidates.
void PinNode(CoverProblem& problem, const std::string& node, const std::string& target);

/// Removes candidates that violate pins, and then the pins.
void KeepPins(CoverProblem& problem);

/// Limits `target` to `most` regions, in all layouts and precisions as for PinNode. UserError if it
/// has no candidate.
void LimitRegions(CoverProblem& problem, const std::string& target, std::int64_t most);

/// Returns the chosen candidates as a plan for Strategy::partition.
[[nodiscard]] std::vector<PartitionRegion> PlanOf(const CoverProblem& problem,
                                                  const std::vector<std::uint32_t>& chosen);

}  // namespace msc::cost
