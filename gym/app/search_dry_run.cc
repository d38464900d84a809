#include <chrono>
#include <cstdio>
#include <optional>

#include "compiler/base/error.h"
#include "gym/app/progress.h"
#include "gym/app/search_estimates.h"
#include "gym/app/search_measuring.h"
#include "gym/app/search_run.h"
#include "gym/app/search_session.h"
#include "gym/app/stop.h"
#include "gym/study/describe.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

/// How much a trial of it asks for besides measuring.
std::pair<std::int64_t, bool> FittingOf(const Strategy& strategy) {
  return {strategy.fit.train.epochs, !strategy.fit.samples.empty()};
}

/// The baseline that asks most of a trial: the one that is trained longest, or one that is fitted
/// to samples, if there is one.
std::pair<std::string, Strategy> Specimen(const SearchProblem& problem) {
  std::optional<std::pair<std::string, Strategy>> found;
  for (const auto& [name, assignment] : problem.Anchors()) {
    Strategy strategy = StrategyFromJson(problem.Describe(assignment), "a baseline");
    if (!found || FittingOf(found->second) < FittingOf(strategy)) {
      found = {name, std::move(strategy)};
    }
  }
  Check(found.has_value(), "a problem that a search may take has baselines");
  return *std::move(found);
}

}  // namespace

void DryRun(const AppContext& context, const SearchConfig& config, std::size_t workers) {
  const PassingRun run;
  Prepared prepared = LoadSearch(config);
  const auto start = Clock::now();
  PrepareSearch(context, config, run.paths(), prepared);
  cost::LocalEvaluator local(LocalFor(context, run.paths().folder, 0));
  std::unique_ptr<Env> env = MakeSearchEnv(config, SearchContext(config, prepared, local));
  {
    ProgressLine line;
    PrepareEstimates(
        context, config, run.paths(), *env->problem(), local,
        [&](const std::string& text) { line.Show(text); }, StopRequested, prepared);
  }
  env = MakeSearchEnv(config, SearchContext(config, prepared, local));
  const std::chrono::duration<double> preparing = Clock::now() - start;
  std::printf("%s, %s on %s, agent %s\n%s", config.env.c_str(), config.model.c_str(),
              config.target.c_str(), config.agent.c_str(),
              DescribeSpace(*env->problem(), ToObjective(config.objective)).c_str());

  const auto [name, strategy] = Specimen(*env->problem());
  const cost::Candidate candidate{.strategy = strategy};
  std::optional<Failure> failure;
  bool measured = false;
  const auto before = Clock::now();
  local.Evaluate(
      {&candidate, 1},
      [&](std::size_t /*index*/, const Result<cost::Outcome>& result) {
        measured = true;
        if (!result.ok()) failure = result.failure();
      },
      StopRequested);
  if (!measured) return;
  const std::chrono::duration<double> trial = Clock::now() - before;
  std::printf("one trial, the baseline '%s': %.1f s%s\n", name.c_str(), trial.count(),
              failure ? (", failed: " + failure->detail).c_str() : "");
  const std::uint64_t whole_rounds = (config.trials + workers - 1) / workers;
  const auto rounds = static_cast<double>(whole_rounds);
  std::printf(
      "%llu trials, %zu at a time: about %s, after %.1f s of preparing; the rest of sensitivities "
      "and %llu "
      "finalists come on top%s\n",
      static_cast<unsigned long long>(config.trials), workers,
      FormatDuration(trial * rounds).c_str(), preparing.count(),
      static_cast<unsigned long long>(config.finalists),
      config.time_budget_s > 0 ? "; time_budget_s ends the trials earlier" : "");
}

}  // namespace msc::gym
