#include "cost/partition/learned_study.h"

#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "cost/partition/propose.h"

namespace msc::cost {
namespace {

constexpr std::size_t kAudited = 8;
constexpr std::size_t kMostWrong = 1;

using Indices = std::vector<std::uint32_t>;

MeasuredRegion RegionOf(const CoverProblem& problem, std::uint32_t candidate) {
  return {NodeNames(problem, problem.candidates[candidate]), problem.candidates[candidate].target};
}

/// What is known of each cost, or predicted.
std::vector<std::optional<CostRange>> RangesOf(const CoverProblem& problem, RegionCosts& costs) {
  std::vector<std::optional<CostRange>> ranges(problem.candidates.size());
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    const MeasuredRegion region = RegionOf(problem, i);
    if (const auto found = costs.Find(region)) {
      if (!found->ok()) continue;
      const double micros = found->value().latency.value().median_ns * 1e-3;
      ranges[i] = CostRange{micros, micros};
    } else if (const auto predicted = costs.Predict(region)) {
      ranges[i] = CostRange{predicted->low, predicted->high};
    }
  }
  return ranges;
}

/// Whether plans are compared with what is made of it.
bool IsLargest(const Candidate& candidate) {
  return candidate.rule == "whole" || candidate.rule == "greedy";
}

void FindOut(const Indices& candidates, const CandidateMeter& measure, CoverProblem& problem) {
  if (candidates.empty()) return;
  std::vector<Cost> found = measure(candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    problem.candidates[candidates[i]].cost = std::move(found[i]);
  }
}

/// Up to `count` of `from`, which are taken out of it.
Indices Draw(std::size_t count, Indices& from) {
  Rng rng(1);
  Indices drawn;
  while (drawn.size() < count && !from.empty()) {
    const auto at = static_cast<std::size_t>(rng.Below(from.size()));
    drawn.push_back(from[at]);
    from[at] = from.back();
    from.pop_back();
  }
  return drawn;
}

}  // namespace

std::vector<std::optional<std::uint32_t>> RuledOut(
    const CoverProblem& problem, std::span<const std::optional<CostRange>> costs) {
  Check(costs.size() == problem.candidates.size(), "each candidate has what is known of its cost");
  std::map<IndexSet, Indices> groups;
  for (std::uint32_t i = 0; i < costs.size(); ++i) {
    if (costs[i]) groups[problem.candidates[i].nodes].push_back(i);
  }
  std::vector<std::optional<std::uint32_t>> rivals(costs.size());
  for (const auto& [nodes, group] : groups) {
    for (const std::uint32_t i : group) {
      const Candidate& candidate = problem.candidates[i];
      for (const std::uint32_t other : group) {
        const Candidate& rival = problem.candidates[other];
        if (rival.wants != candidate.wants || rival.makes != candidate.makes) continue;
        if (costs[other]->high >= costs[i]->low) continue;
        if (!rivals[i] || costs[other]->high < costs[*rivals[i]]->high) rivals[i] = other;
      }
    }
  }
  return rivals;
}

LearnedUse MeasureLearned(CoverProblem& problem, RegionCosts& costs,
                          const CandidateMeter& measure) {
  Check(costs.model() != nullptr, "costs have learned before they predict");
  LearnedUse use;
  use.errors = costs.model()->errors();
  const std::vector<std::optional<CostRange>> ranges = RangesOf(problem, costs);
  std::vector<std::optional<std::uint32_t>> rivals(problem.candidates.size());
  if (problem.conditions.empty()) rivals = RuledOut(problem, ranges);
  Indices asked;
  Indices skipped;
  for (std::uint32_t i = 0; i < rivals.size(); ++i) {
    // What is known costs nothing.
    const bool known = ranges[i] && ranges[i]->low == ranges[i]->high;
    const bool skip = rivals[i] && !known && !IsLargest(problem.candidates[i]);
    (skip ? skipped : asked).push_back(i);
  }
  FindOut(asked, measure, problem);

  Indices orphans;
  for (const std::uint32_t i : std::exchange(skipped, {})) {
    const bool runs = problem.candidates[*rivals[i]].cost.known();
    (runs ? skipped : orphans).push_back(i);
  }
  FindOut(orphans, measure, problem);

  const Indices audited = Draw(kAudited, skipped);
  FindOut(audited, measure, problem);
  use.audited = audited.size();
  for (const std::uint32_t i : audited) {
    const Cost& cost = problem.candidates[i].cost;
    if (cost.known() && cost.micros() < problem.candidates[*rivals[i]].cost.micros()) ++use.wrong;
  }
  if (use.wrong > kMostWrong) {
    use.given_up = true;
    FindOut(std::exchange(skipped, {}), measure, problem);
  }
  std::vector<MeasuredRegion> regions;
  for (const std::uint32_t i : skipped) regions.push_back(RegionOf(problem, i));
  use.skipped = costs.CountUnknown(regions);
  return use;
}

}  // namespace msc::cost
