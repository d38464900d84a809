#include "gym/search/trial_time.h"

#include <chrono>
#include <cstdint>
#include <numeric>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "cost/measure/local_evaluator.h"
#include "envs/common/evaluation.h"
#include "envs/common/strategy_problem.h"
#include "envs/distill/distill_env.h"
#include "gym/search/measuring.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Returns the effort of preparing a candidate: training epochs, and whether it is fitted.
std::pair<std::int64_t, bool> FittingOf(const Strategy& strategy) {
  return {strategy.fit.train.epochs, !strategy.fit.samples.empty()};
}

/// Returns the mean over all assignments.
double Mean(const AdditiveCost& cost) {
  double mean = cost.offset;
  for (const std::vector<double>& effects : cost.effects) {
    mean +=
        std::accumulate(effects.begin(), effects.end(), 0.0) / static_cast<double>(effects.size());
  }
  return mean;
}

std::optional<TrialTime> TimeRecipe(SearchProblem& problem, const std::function<bool()>& stop) {
  const auto anchors = problem.Anchors();
  Check(!anchors.empty(), "recipes have baselines");
  const auto& [name, recipe] = anchors.front();
  TrialTime time{.baseline = name};
  std::optional<Evaluation> tried;
  const auto start = Clock::now();
  problem.Evaluate(
      {&recipe, 1}, [&](std::size_t, const Evaluation& result) { tried = result; }, stop);
  if (!tried) return std::nullopt;
  time.seconds = time.mean = SecondsSince(start);
  time.failure = tried->failure;
  const auto costs = problem.Prior().costs;
  // The time of a training grows with its steps.
  const auto steps = tried->metrics.find(std::string(envs::kTrainSteps));
  const auto cost = costs.find(std::string(envs::kTrainSteps));
  if (steps != tried->metrics.end() && cost != costs.end()) {
    time.mean *= Mean(cost->second) / steps->second;
  }
  return time;
}

std::optional<TrialTime> TimeCandidate(const SearchHost& host, const RunPaths& paths,
                                       const envs::StrategyProblem& problem,
                                       const std::function<bool()>& stop) {
  TrialTime time;
  std::optional<Strategy> specimen;
  for (const auto& [name, assignment] : problem.Anchors()) {
    Strategy strategy = problem.StrategyOf(assignment);
    if (specimen && FittingOf(*specimen) >= FittingOf(strategy)) continue;
    time.baseline = name;
    specimen = std::move(strategy);
  }
  Check(specimen.has_value(), "a problem that a search may take has baselines");
  const cost::Candidate candidate{.strategy = *specimen};
  cost::LocalEvaluator local(LocalFor(host, paths.folder));
  bool tried = false;
  const auto start = Clock::now();
  local.Evaluate(
      {&candidate, 1},
      [&](std::size_t /*index*/, const Result<cost::Outcome>& result) {
        tried = true;
        if (!result.ok()) {
          time.failure = result.failure();
        } else if (result.value().latency) {
          time.reference_ms = result.value().latency->reference_median_ns * 1e-6;
        }
      },
      stop);
  if (!tried) return std::nullopt;
  time.seconds = time.mean = SecondsSince(start);
  return time;
}

}  // namespace

std::string TrialTime::Text() const {
  return "one trial, the baseline '" + baseline + Formatted("': %.1f s", seconds) +
         (failure ? ", failed: " + failure->detail : "");
}

std::optional<TrialTime> TimeTrial(const SearchTask& task, const SearchHost& host,
                                   const RunPaths& paths, SearchProblem& problem,
                                   const std::function<bool()>& stop) {
  return task.measured() ? TimeCandidate(host, paths, envs::AsStrategyProblem(problem), stop)
                         : TimeRecipe(problem, stop);
}

std::map<std::string, double> BoundsBy(const std::optional<TrialTime>& trial,
                                       const SearchProblem& problem) {
  if (!trial || !trial->reference_ms) return {};
  const std::map<std::string, double> bounds = problem.Prior().LowerBounds();
  const auto ms = bounds.find(std::string(envs::kLatencyMs));
  if (ms == bounds.end()) return {};
  return {{std::string(envs::kLatency), ms->second / *trial->reference_ms}};
}

}  // namespace msc::gym
