#include "cost/partition/propose.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/partition/generate/generate.h"
#include "compiler/pipeline/region_precision.h"
#include "cost/partition/layout_conversion_costs.h"

namespace msc::cost {
namespace {

std::vector<const Target*> Made(std::span<const std::string> targets,
                                const TargetRegistry& registry) {
  std::vector<const Target*> made;
  made.reserve(targets.size());
  for (const std::string& spec : targets) made.push_back(&registry.Get(spec));
  return made;
}

/// Removes candidates that ask for a precision but contain no layer that it changes. In a plan they
/// would compute in the strategy's precisions, not in the measured ones.
void LeaveOutSame(const RegionSource& source, CoverProblem& problem) {
  std::map<const RegionSource*, IndexSet> changed;  // layers
  for (const CandidateRegion& candidate : problem.candidates) {
    const RegionSource& own = source.For(candidate.target);
    const auto [it, is_new] = changed.try_emplace(&own, problem.flow.EmptySet());
    if (!is_new) continue;
    for (FlowIndex i = 0; i < problem.flow.size(); ++i) {
      const std::string& name = problem.flow.node(i).name;
      if (own.PrecisionOf(name) != source.PrecisionOf(name)) it->second.Insert(i);
    }
  }
  std::erase_if(problem.candidates, [&](const CandidateRegion& candidate) {
    return PrecisionAsked(candidate.target) &&
           !candidate.nodes.Intersects(changed.at(&source.For(candidate.target)));
  });
}

}  // namespace

CoverProblem ProposeRegions(const Graph& plain, const RegionSource& source,
                            std::span<const std::string> targets, const TargetRegistry& registry,
                            const ProposeOptions& options) {
  if (targets.empty()) throw UserError("name at least one target");
  const std::vector<const Target*> made = Made(targets, registry);
  CoverProblem problem;
  problem.flow = DataflowGraph(plain);
  GenerateOptions generate{.rules = options.rules};
  for (const Target* target : made) {
    generate.graphs.push_back(&source.For(target->spec()).graph());
  }
  problem.candidates = GenerateCandidates(source.graph(), problem.flow, made, generate);
  LeaveOutSame(source, problem);
  ExchangeChannelsLast(source, registry, options.channels_last, problem);
  return problem;
}

std::vector<std::string> WarningsOf(const PartitionRules& rules, const CoverProblem& problem,
                                    std::span<const std::string> targets,
                                    const TargetRegistry& registry) {
  return RuleWarnings(rules, Made(targets, registry), problem.flow, problem.candidates);
}

std::vector<std::string> NodeNames(const CoverProblem& problem, const CandidateRegion& candidate) {
  std::vector<std::string> names;
  candidate.nodes.ForEach(
      [&](std::size_t index) { names.push_back(problem.flow.node(index).name); });
  return names;
}

namespace {

/// Returns the spec of the target, that of the target with images exchanged channels last, and, if
/// the target names no precision, both in every precision in the problem.
std::vector<std::string> InAllForms(const CoverProblem& problem, const std::string& target) {
  const std::string other = ChannelsLastSpec(target);
  std::set<std::string> there;
  for (const CandidateRegion& candidate : problem.candidates) there.insert(candidate.target);
  std::vector<std::string> specs = {target};
  for (const std::string& spec : there) {
    const std::string own = PrecisionAsked(target) ? spec : WithPrecision(spec, std::nullopt);
    if ((own == target || own == other) && spec != target) specs.push_back(spec);
  }
  return specs;
}

}  // namespace

void PinNode(CoverProblem& problem, const std::string& node, const std::string& target) {
  const FlowIndex index = problem.flow.Find(node);
  if (index == kNoFlow) {
    throw UserError("there is no node '" + node +
                    "' in the canonical graph to pin: `mscgym inspect` lists its nodes");
  }
  if (problem.conditions.pins.contains(index)) {
    throw UserError("node '" + node + "' is pinned twice: leave one of the pins out");
  }
  const std::vector<std::string> specs = InAllForms(problem, target);
  std::set<std::string> takers;
  for (const CandidateRegion& candidate : problem.candidates) {
    if (candidate.nodes.Contains(index)) takers.insert(candidate.target);
  }
  const bool takes = std::any_of(specs.begin(), specs.end(),
                                 [&](const std::string& spec) { return takers.contains(spec); });
  if (!takes) {
    std::string text = target + " does not support node '" + node + "' (" +
                       problem.flow.node(index).op + "), which is pinned to it";
    std::string separator = "; pin it to ";
    for (const std::string& taker : takers) text += std::exchange(separator, " or ") + taker;
    throw UserError(text);
  }
  problem.conditions.pins[index] = specs;
}

void KeepPins(CoverProblem& problem) {
  const auto pins = std::exchange(problem.conditions.pins, {});
  std::erase_if(problem.candidates, [&](const CandidateRegion& candidate) {
    return std::any_of(pins.begin(), pins.end(), [&](const auto& pin) {
      return candidate.nodes.Contains(pin.first) &&
             std::find(pin.second.begin(), pin.second.end(), candidate.target) == pin.second.end();
    });
  });
}

void LimitRegions(CoverProblem& problem, const std::string& target, std::int64_t most) {
  const bool there = std::any_of(problem.candidates.begin(), problem.candidates.end(),
                                 [&](const CandidateRegion& c) { return c.target == target; });
  if (!there) {
    throw UserError("the number of regions is limited for " + target +
                    ", which is none of the targets");
  }
  problem.conditions.max_regions.push_back({InAllForms(problem, target), most});
}

std::vector<PartitionRegion> PlanOf(const CoverProblem& problem,
                                    const std::vector<std::uint32_t>& chosen) {
  std::vector<PartitionRegion> plan;
  plan.reserve(chosen.size());
  for (const std::uint32_t i : chosen) {
    const CandidateRegion& candidate = problem.candidates[i];
    plan.push_back({.nodes = NodeNames(problem, candidate), .target = candidate.target});
  }
  return plan;
}

}  // namespace msc::cost
