#include "cost/partition/measure_candidates.h"

#include <functional>
#include <numeric>

#include "cost/partition/measuring_time.h"
#include "cost/partition/propose.h"

namespace msc::cost {
namespace {

using Clock = std::chrono::steady_clock;
using Progress = std::function<void(const std::string&)>;
using Stop = std::function<bool()>;

Cost CostFrom(const Result<Outcome>& outcome) {
  if (!outcome.ok()) {
    return Cost::Invalid(std::string(Name(outcome.failure().kind)) + ": " +
                         outcome.failure().detail);
  }
  constexpr double kNanosPerMicro = 1e3;
  const double micros = outcome.value().latency.value().median_ns / kNanosPerMicro;
  if (!(micros <= Cost::kMaxMicros)) return Cost::Invalid("takes longer than a cost may be");
  return Cost::Micros(micros);
}

}  // namespace

CandidateMeasurer::CandidateMeasurer(CoverProblem& problem, RegionCosts& costs,
                                     const Progress& progress, const Stop& stop)
    : problem_(problem), costs_(costs), progress_(progress), stop_(stop) {}

std::vector<Cost> CandidateMeasurer::operator()(std::span<const std::uint32_t> candidates) {
  std::vector<Cost> found(candidates.size(), Cost::Invalid(kNotReached));
  if (stop_ && stop_()) {
    missed_ += candidates.size();
    return found;
  }
  std::size_t done = 0;
  MeasuringTime time(costs_.ExpectedSeconds());
  if (progress_) progress_("looking up known costs of regions");
  costs_.Measure(
      RegionsOf(problem_, candidates),
      [&](std::size_t i, const Result<Outcome>& outcome) {
        found[i] = CostFrom(outcome);
        if (outcome.ok()) {
          problem_.candidates[candidates[i]].bytes =
              outcome.value().weight_bytes + outcome.value().peak_bytes;
        }
        ++done;
      },
      stop_,
      [&](const RegionMeter::Progress& now) {
        const std::chrono::duration<double> taken = Clock::now() - start_;
        if (progress_) progress_(time.Text(now, taken.count()));
      });
  missed_ += candidates.size() - done;
  return found;
}

void CandidateMeasurer::Store(std::span<const std::uint32_t> candidates) {
  if (candidates.empty()) return;
  const std::vector<Cost> found = (*this)(candidates);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    problem_.candidates[candidates[i]].cost = found[i];
  }
}

std::vector<MeasuredRegion> RegionsOf(const CoverProblem& problem,
                                      std::span<const std::uint32_t> candidates) {
  std::vector<MeasuredRegion> regions;
  for (const std::uint32_t i : candidates) {
    regions.push_back({NodeNames(problem, problem.candidates[i]), problem.candidates[i].target});
  }
  return regions;
}

std::vector<std::uint32_t> AllCandidates(const CoverProblem& problem) {
  std::vector<std::uint32_t> all(problem.candidates.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

std::vector<std::vector<std::uint32_t>> ByNeed(const CoverProblem& problem) {
  std::vector<std::vector<std::uint32_t>> parts(3);
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    const CandidateRegion& candidate = problem.candidates[i];
    const bool whole = candidate.nodes.Count() == problem.flow.size();
    const bool unit = candidate.rule == "unit" || candidate.rule == "node";
    parts[whole ? 0 : unit ? 1 : 2].push_back(i);
  }
  return parts;
}

void MeasureCandidates(CoverProblem& problem, RegionCosts& costs, const Progress& progress,
                       const Stop& stop) {
  CandidateMeasurer(problem, costs, progress, stop).Store(AllCandidates(problem));
}

void MeasureInTime(CoverProblem& problem, RegionCosts& costs, const Progress& progress,
                   const Stop& stop, const Stop& late) {
  const Stop ends = [&] { return (stop && stop()) || (late && late()); };
  CandidateMeasurer whole(problem, costs, progress, stop);
  CandidateMeasurer others(problem, costs, progress, ends);
  const std::vector<std::vector<std::uint32_t>> parts = ByNeed(problem);
  for (std::size_t k = 0; k < parts.size(); ++k) (k == 0 ? whole : others).Store(parts[k]);
}

LearnedUse MeasureLearnedCandidates(CoverProblem& problem, RegionCosts& costs,
                                    const Progress& progress, const Stop& stop) {
  if (costs.model() == nullptr) {  // there is no folder for samples
    MeasureCandidates(problem, costs, progress, stop);
    return {};
  }
  CandidateMeasurer measure(problem, costs, progress, stop);
  const std::vector<std::uint32_t> alike = costs.Alike(RegionsOf(problem, AllCandidates(problem)));
  LearnedUse use = MeasureFastest(problem, costs, alike, std::ref(measure));
  for (CandidateRegion& candidate : problem.candidates) {
    if (candidate.cost.unknown()) {
      candidate.cost = Cost::Invalid("was not measured: another target is predicted to be faster");
    }
  }
  return use;
}

}  // namespace msc::cost
