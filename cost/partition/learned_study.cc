#include "cost/partition/learned_study.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "compiler/base/rng.h"
#include "compiler/partition/search/lazy.h"
#include "cost/partition/propose.h"

namespace msc::cost {
namespace {

constexpr std::size_t kAudited = 8;
constexpr std::size_t kMostWrong = 1;
/// Most of the audited costs that may be below their bounds. About 31 % of all costs are half a
/// standard deviation below the likely cost.
constexpr std::size_t kMostBelow = 4;
/// Standard deviations that an unknown cost on a cover is assumed to lie below the likely cost. A
/// single cost is often that low, but rarely all of a dozen.
constexpr double kDeviations = 0.5;
/// Accepted excess over the best cover, which is about the uncertainty of the costs.
constexpr double kGap = 0.02;
constexpr int kDraws = 16;

using Indices = std::vector<std::uint32_t>;

MeasuredRegion RegionOf(const CoverProblem& problem, std::uint32_t candidate) {
  return {NodeNames(problem, problem.candidates[candidate]), problem.candidates[candidate].target};
}

/// Returns whether plans are compared with a plan made of this candidate.
bool IsLargest(const CoverProblem& problem, std::uint32_t i) {
  const CandidateRegion& candidate = problem.candidates[i];
  return candidate.rule == "whole" || candidate.rule == "greedy" ||
         candidate.nodes.Count() == problem.flow.size();
}

/// Returns the candidates that are always requested, see LearnedMeasuring::Ask.
Indices AskedFirst(const CoverProblem& problem, RegionCosts& costs, const Forecast& forecast) {
  Indices first;
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    if (!forecast.Has(i) || IsLargest(problem, i) || costs.Find(RegionOf(problem, i))) {
      first.push_back(i);
    }
  }
  return first;
}

/// Returns how many measurements the unknown costs among the candidates need.
std::size_t CountUnknown(const CoverProblem& problem, const Indices& candidates,
                         RegionCosts& costs) {
  std::vector<MeasuredRegion> regions;
  for (const std::uint32_t i : candidates) {
    if (problem.candidates[i].cost.unknown()) regions.push_back(RegionOf(problem, i));
  }
  return costs.CountUnknown(regions);
}

Indices All(const CoverProblem& problem) {
  Indices all(problem.candidates.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

/// Adds the counts of earlier requests.
void AddAnswers(const CoverStatistics& before, CoverStatistics& statistics) {
  statistics.asked += before.asked;
  statistics.checked += before.checked;
  statistics.violated += before.violated;
}

/// Candidates grouped by their nodes: decides which of them to measure, from the costs of the
/// others.
class Rivals {
 public:
  Rivals(CoverProblem& problem, std::span<const std::uint32_t> alike, const CandidateMeter& measure)
      : problem_(problem), measure_(measure) {
    std::map<IndexSet, Indices> groups;
    for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
      groups[problem.candidates[i].nodes].push_back(i);
      same_cost_[alike[i]].push_back(i);
    }
    number_.assign(alike.begin(), alike.end());
    for (auto& [nodes, group] : groups) groups_.push_back(std::move(group));
  }

  /// Measures the unknown candidates, one for all of equal cost.
  void FindOut(const Indices& candidates) {
    Indices asked;
    std::map<std::uint32_t, bool> seen;
    for (const std::uint32_t i : candidates) {
      if (problem_.candidates[i].cost.unknown() && seen.emplace(number_[i], true).second) {
        asked.push_back(i);
      }
    }
    if (asked.empty()) return;
    const std::vector<Cost> found = measure_(asked);
    for (std::size_t k = 0; k < asked.size(); ++k) {
      for (const std::uint32_t i : same_cost_.at(number_[asked[k]])) {
        problem_.candidates[i].cost = found[k];
      }
    }
  }

  /// Returns an upper bound on the cost of replacing the candidate by a known one of its group,
  /// without the rest of the cover; infinite if there is no known one.
  [[nodiscard]] double Instead(std::uint32_t candidate, const Indices& group) const {
    double least = std::numeric_limits<double>::infinity();
    for (const std::uint32_t other : group) {
      const CandidateRegion& rival = problem_.candidates[other];
      if (other == candidate || !rival.cost.known() || rival.cost.micros() >= least) continue;
      least = std::min(least, rival.cost.micros() +
                                  DetourBound(problem_, problem_.candidates[candidate], rival));
    }
    return least;
  }

  /// Returns for each set of nodes the likely fastest candidate among those that are not ruled out.
  [[nodiscard]] Indices Next(const Forecast& forecast) const {
    Indices next;
    for (const Indices& group : groups_) {
      std::optional<std::uint32_t> pick;
      for (const std::uint32_t i : group) {
        if (!problem_.candidates[i].cost.unknown()) continue;
        if (forecast.AtLeast(i) >= Instead(i, group)) continue;
        if (!pick || forecast.Likely(i) < forecast.Likely(*pick)) pick = i;
      }
      if (pick) next.push_back(*pick);
    }
    return next;
  }

  /// Returns up to `count` unknown candidates, drawn at random, one for all of equal cost, each
  /// with the cost of its replacement (Instead).
  [[nodiscard]] std::vector<std::pair<std::uint32_t, double>> Draw(std::size_t count) const {
    std::vector<std::pair<std::uint32_t, double>> left;
    std::set<std::uint32_t> seen;
    for (const Indices& group : groups_) {
      for (const std::uint32_t i : group) {
        if (!problem_.candidates[i].cost.unknown() || !seen.insert(number_[i]).second) continue;
        left.emplace_back(i, Instead(i, group));
      }
    }
    Rng rng(1);
    count = std::min(count, left.size());
    for (std::size_t k = 0; k < count; ++k)
      std::swap(left[k], left[k + rng.Below(left.size() - k)]);
    left.resize(count);
    return left;
  }

 private:
  CoverProblem& problem_;
  const CandidateMeter& measure_;
  std::vector<Indices> groups_;
  std::map<std::uint32_t, Indices> same_cost_;
  std::vector<std::uint32_t> number_;
};

}  // namespace

LearnedMeasuring::LearnedMeasuring(CoverProblem& problem, RegionCosts& costs,
                                   std::span<const std::uint32_t> alike, CandidateMeter measure,
                                   std::function<bool()> stop)
    : problem_(problem),
      costs_(costs),
      alike_(alike.begin(), alike.end()),
      measure_(std::move(measure)),
      stop_(std::move(stop)),
      forecast_(problem, costs, alike) {}

Result<Cover> LearnedMeasuring::Ask(const SearchOptions& options, const BoundaryCost& boundary) {
  // Boundaries are priced into a copy of the problem. Candidates of equal cost have the same price.
  CoverProblem free = problem_;
  for (CandidateRegion& candidate : free.candidates) candidate.cost = Cost::Micros(0);
  const CoverProblem prices = WithBoundaries(free, boundary);
  const auto priced = [&](std::uint32_t i, const Cost& cost) {
    if (cost.invalid()) return cost;
    const double micros =
        std::min(cost.at_least() + prices.candidates[i].cost.micros(), Cost::kMaxMicros);
    return cost.known() ? Cost::Micros(micros) : Cost::Unknown(micros);
  };
  std::map<std::uint32_t, Indices> same;
  for (std::uint32_t i = 0; i < alike_.size(); ++i) same[alike_[i]].push_back(i);
  // One measurement tells the cost of all candidates that are alike.
  const CostOracle oracle = [&](std::span<const std::uint32_t> asked) {
    std::vector<Cost> found = measure_(asked);
    for (std::size_t k = 0; k < asked.size(); ++k) {
      for (const std::uint32_t i : same.at(alike_[asked[k]]))
        problem_.candidates[i].cost = found[k];
      found[k] = priced(asked[k], found[k]);
    }
    return found;
  };
  // Without a forecast, only 0 is known to be a bound.
  const BoundSource bounds = [&](CoverProblem& of) {
    forecast_.Correct(problem_);
    for (std::uint32_t i = 0; i < of.candidates.size(); ++i) {
      if (!of.candidates[i].cost.unknown()) continue;
      const double micros = forecast_.Has(i) ? forecast_.At(i, -kDeviations) : 0;
      of.candidates[i].cost = priced(i, Cost::Unknown(micros));
    }
  };
  const std::int64_t measured_before = costs_.counts().measured;
  const bool again = std::any_of(problem_.candidates.begin(), problem_.candidates.end(),
                                 [](const CandidateRegion& c) { return c.cost.known(); });
  Indices first;
  if (!again) {
    (void)oracle(BestAt([](std::uint32_t) { return 0.0; }, options));
    first = AskedFirst(problem_, costs_, forecast_);
    const Indices likely = LikelyInPlans(options);
    first.insert(first.end(), likely.begin(), likely.end());
  }
  CoverProblem asked = WithBoundaries(problem_, boundary);
  LazyOptions lazy{.bounds = bounds, .first = first, .alike = alike_, .gap = kGap, .stop = stop_};
  Result<Cover> cover = FindCoverLazily(asked, oracle, options, lazy);
  // Cached results of an earlier run were audited in that run.
  if (!cover.ok() || costs_.counts().measured == measured_before) return cover;
  // The audit measures some costs that bounds ruled out, which shows how far the proof can be
  // trusted.
  lazy.first = {};
  lazy.audit = kAudited;
  lazy.audit_allows = kMostBelow;
  Result<Cover> audited = FindCoverLazily(asked, oracle, options, lazy);
  if (audited.ok()) AddAnswers(cover.value().statistics, audited.value().statistics);
  return audited;
}

Indices LearnedMeasuring::BestAt(const std::function<double(std::uint32_t)>& deviations,
                                 const SearchOptions& options) const {
  CoverProblem drawn = problem_;
  for (std::uint32_t i = 0; i < alike_.size(); ++i) {
    if (!problem_.candidates[i].cost.unknown()) continue;
    const double micros = forecast_.Has(i) ? forecast_.At(i, deviations(alike_[i])) : 0;
    drawn.candidates[i].cost = Cost::Micros(micros);
  }
  const Result<Cover> cover = FindCover(drawn, "exact", options);
  return cover.ok() ? cover.value().chosen : Indices();
}

Indices LearnedMeasuring::LikelyInPlans(const SearchOptions& options) const {
  Rng rng(1);
  std::set<std::uint32_t> likely;
  // Each draw is one possible state of all unknown costs. Candidates of its best cover are likely
  // in plans.
  for (int draw = 0; draw < kDraws; ++draw) {
    if (stop_ && stop_()) break;
    std::map<std::uint32_t, double> off;
    // Candidates of equal cost share their deviation.
    const auto drawn = [&](std::uint32_t number) {
      const auto [it, is_new] = off.emplace(number, 0);
      if (is_new) it->second = rng.Normal();
      return it->second;
    };
    const Indices chosen = BestAt(drawn, options);
    if (chosen.empty()) return {};
    likely.insert(chosen.begin(), chosen.end());
  }
  return {likely.begin(), likely.end()};
}

LearnedUse LearnedMeasuring::Use() {
  return {.errors = costs_.model()->errors(),
          .here = forecast_.ErrorOn(problem_),
          .skipped = CountUnknown(problem_, All(problem_), costs_)};
}

double DetourBound(const CoverProblem& problem, const CandidateRegion& candidate,
                   const CandidateRegion& other) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double sum = 0;
  const auto turn = [&](Label from, Label to, FlowIndex tensor) {
    if (from == to) return 0.0;
    return problem.conversions.Micros(from, to, tensor, problem.flow.tensor(tensor).bytes)
        .value_or(kNever);
  };
  const auto labels = static_cast<Label>(problem.labels.size());
  for (const FlowIndex tensor : TensorsIn(problem.flow, candidate.nodes)) {
    const Label now = LabelOf(candidate.wants, tensor);
    const Label then = LabelOf(other.wants, tensor);
    if (now == then) continue;
    // The image may arrive in any form from which the candidate's form can be made.
    double most = 0;
    for (Label from = 0; from < labels; ++from) {
      if (turn(from, now, tensor) < kNever) most = std::max(most, turn(from, then, tensor));
    }
    sum += most;
  }
  for (const FlowIndex tensor : TensorsOut(problem.flow, candidate.nodes)) {
    const Label now = LabelOf(candidate.makes, tensor);
    const Label then = LabelOf(other.makes, tensor);
    if (now == then) continue;
    // Readers may want any form into which the candidate's form can be converted.
    for (Label to = 0; to < labels; ++to) {
      const double before = turn(now, to, tensor);
      if (before < kNever) sum += std::max(0.0, turn(then, to, tensor) - before);
    }
  }
  return sum;
}

LearnedUse MeasureFastest(CoverProblem& problem, RegionCosts& costs,
                          std::span<const std::uint32_t> alike, const CandidateMeter& measure) {
  Forecast forecast(problem, costs, alike);
  Rivals rivals(problem, alike, measure);
  LearnedUse use;
  use.errors = costs.model()->errors();
  const bool free = problem.conditions.empty();
  Indices next = free ? AskedFirst(problem, costs, forecast) : All(problem);
  while (!next.empty()) {
    rivals.FindOut(next);
    forecast.Correct(problem);
    next = rivals.Next(forecast);
  }
  const auto drawn = rivals.Draw(kAudited);
  Indices audited;
  for (const auto& [candidate, instead] : drawn) audited.push_back(candidate);
  rivals.FindOut(audited);
  use.audited = audited.size();
  for (const auto& [candidate, instead] : drawn) {
    const Cost& cost = problem.candidates[candidate].cost;
    // A candidate that was ruled out but beats its replacement could have changed the cover.
    if (cost.known() && cost.micros() < instead) ++use.wrong;
  }
  if (use.wrong > kMostWrong) {
    use.given_up = true;
    rivals.FindOut(All(problem));
  }
  use.here = forecast.ErrorOn(problem);
  use.skipped = CountUnknown(problem, All(problem), costs);
  return use;
}

}  // namespace msc::cost
