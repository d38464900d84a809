#include <chrono>
#include <cstdio>
#include <optional>

#include "gym/app/progress.h"
#include "gym/app/search_run.h"
#include "gym/app/search_session.h"
#include "gym/app/stop.h"
#include "gym/study/describe.h"

namespace msc::gym {

void DryRun(const AppContext& context, const SearchConfig& asked, std::size_t workers) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  SearchSession session(asked, {.program = context.self, .folder = "", .cache = ""});
  const std::chrono::duration<double> preparing = Clock::now() - start;
  const SearchConfig& config = session.config();
  const SearchProblem& problem = *session.env().problem();
  const Objective objective = ToObjective(config.objective);
  CheckObjective(objective, problem.metrics());
  std::printf("%s, %s%s, agent %s\n%s", config.env.c_str(), config.model.c_str(),
              Trains(config) ? "" : (" on " + config.target).c_str(), config.agent.c_str(),
              DescribeSpace(problem, objective).c_str());

  const std::optional<TrialTime> trial = session.TimeOneTrial(StopRequested);
  if (!trial) return;
  std::printf("%s\n", trial->Text().c_str());
  const std::uint64_t rounds = (config.trials + workers - 1) / workers;
  std::printf(
      "%llu trials, %zu at a time: about %s, after %.1f s of preparing; %s%llu finalists come on "
      "top%s\n",
      static_cast<unsigned long long>(config.trials), workers,
      FormatDuration(std::chrono::duration<double>(trial->mean * static_cast<double>(rounds)))
          .c_str(),
      preparing.count(), Trains(config) ? "" : "the rest of sensitivities and ",
      static_cast<unsigned long long>(config.finalists),
      config.time_budget_s > 0 ? "; time_budget_s ends the trials earlier" : "");
}

}  // namespace msc::gym
