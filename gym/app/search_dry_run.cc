#include "gym/app/search_dry_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/duration_text.h"
#include "gym/search/config.h"
#include "gym/search/recipe_finalists.h"
#include "gym/search/session.h"
#include "gym/study/describe.h"
#include "gym/study/study.h"

namespace msc::gym {

void DryRun(const SearchHost& host, const SearchConfig& asked, std::size_t workers) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  SearchSession session(asked, {}, host);
  const std::chrono::duration<double> preparing = Clock::now() - start;
  const SearchConfig& config = session.config();
  const bool measured = session.task().measured();
  const SearchProblem& problem = *session.env().problem();
  const Objective objective = ToObjective(config.objective);
  const std::vector<Constraint> goal = ToStopRules(config.stop).goal;
  CheckObjective(objective, problem.metrics());
  CheckGoal(goal, problem.metrics());
  std::printf("%s, %s%s, agent %s\n", config.env.c_str(), config.model.c_str(),
              measured ? (" on " + config.target).c_str() : "", config.agent.c_str());
  const std::optional<TrialTime> trial =
      session.TimeOneTrial([&host] { return host.listener.StopRequested(); });
  const DescribeOptions options{.goal = goal, .bounds = BoundsBy(trial, problem)};
  std::printf("%s", DescribeSpace(problem, objective, options).c_str());
  if (!trial) return;
  std::printf("%s\n", trial->Text().c_str());
  const auto time = [&](std::uint64_t trials) {
    return FormatDuration(std::chrono::duration<double>(trial->mean * static_cast<double>(trials)));
  };
  const std::string finalists = std::to_string(config.finalists);
  std::printf("%llu trials, %zu at a time: about %s, after %.1f s of preparing\n",
              static_cast<unsigned long long>(config.trials), workers,
              time((config.trials + workers - 1) / workers).c_str(), preparing.count());
  double tail = 0;
  if (!measured) {
    tail = trial->mean * static_cast<double>(kRecipeRepeats * config.finalists);
    std::printf("%s finalists, trained %zu times each: about %s more\n", finalists.c_str(),
                kRecipeRepeats, time(kRecipeRepeats * config.finalists).c_str());
  } else {
    tail = session.TailAfter(*trial, workers).All();
    std::string others;
    for (const std::string& spec : config.compare) {
      others += (others.empty() ? " beside " : ", ") + spec;
    }
    std::printf("sensitivities, %s finalists%s and the explanation of the best: about %s more\n",
                finalists.c_str(), others.c_str(),
                FormatDuration(std::chrono::duration<double>(tail)).c_str());
  }
  if (config.time_budget_s <= 0) return;
  const double left = config.time_budget_s - preparing.count() - tail;
  const double trials = std::max(left, 0.0) / std::max(trial->mean, 1e-3);
  std::printf("time_budget_s %.6g covers all of this and suffices for about %.0f trials\n",
              config.time_budget_s,
              std::clamp(std::floor(trials) * static_cast<double>(workers), 1.0,
                         static_cast<double>(config.trials)));
}

}  // namespace msc::gym
