#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "envs/common/evaluation.h"
#include "gym/app/progress.h"
#include "gym/app/recipe_finalists.h"
#include "gym/app/search_run.h"
#include "gym/app/search_session.h"
#include "gym/app/stop.h"
#include "gym/study/describe.h"

namespace msc::gym {
namespace {

/// Bounds that follow from the time of the uncompressed model, which a trial measures beside it.
std::map<std::string, double> BoundsBy(const std::optional<TrialTime>& trial,
                                       const SearchProblem& problem) {
  if (!trial || !trial->reference_ms) return {};
  const std::map<std::string, double> bounds = problem.LowerBounds();
  const auto ms = bounds.find(std::string(envs::kLatencyMs));
  if (ms == bounds.end()) return {};
  return {{std::string(envs::kLatency), ms->second / *trial->reference_ms}};
}

}  // namespace

void DryRun(const AppContext& context, const SearchConfig& asked, std::size_t workers) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  SearchSession session(asked, {.program = context.self, .folder = "", .cache = ""});
  const std::chrono::duration<double> preparing = Clock::now() - start;
  const SearchConfig& config = session.config();
  const SearchProblem& problem = *session.env().problem();
  const Objective objective = ToObjective(config.objective);
  CheckObjective(objective, problem.metrics());
  std::printf("%s, %s%s, agent %s\n", config.env.c_str(), config.model.c_str(),
              Trains(config) ? "" : (" on " + config.target).c_str(), config.agent.c_str());
  const std::optional<TrialTime> trial = session.TimeOneTrial(StopRequested);
  std::printf("%s", DescribeSpace(
                        problem, objective,
                        {.goal = ToStopRules(config.stop).goal, .bounds = BoundsBy(trial, problem)})
                        .c_str());
  if (!trial) return;
  std::printf("%s\n", trial->Text().c_str());
  const auto time = [&](std::uint64_t trials) {
    return FormatDuration(std::chrono::duration<double>(trial->mean * static_cast<double>(trials)));
  };
  const auto finalists = static_cast<unsigned long long>(config.finalists);
  std::printf("%llu trials, %zu at a time: about %s, after %.1f s of preparing%s\n",
              static_cast<unsigned long long>(config.trials), workers,
              time((config.trials + workers - 1) / workers).c_str(), preparing.count(),
              config.time_budget_s > 0 ? "; time_budget_s ends the trials earlier" : "");
  if (Trains(config)) {
    std::printf("%llu finalists, trained %zu times each: about %s more\n", finalists,
                kRecipeRepeats, time(kRecipeRepeats * config.finalists).c_str());
  } else {
    std::printf("the rest of sensitivities and %llu finalists come on top\n", finalists);
  }
}

}  // namespace msc::gym
