// Runs agents on tables of known outcomes; benchmarks/agents/compare makes statistics of it.
//
//   agent_runs TASKS.json > runs.jsonl     the tasks: [{"task", "table", "minimize", "subject_to",
//                                          "budget", "first_seed", "seeds", "agents"}]
//   agent_runs --toy NAME                  prints a toy env as such a table
//
// One line a task, agent and seed: the rows of the table in the order in which they were measured,
// anchors first, and the seconds that asking and telling took.

#include <chrono>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/agents/table_problem.h"
#include <nlohmann/json.hpp>

#include "agents/register.h"
#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "envs/register.h"
#include "gym/core/env.h"
#include "gym/study/objective.h"

namespace {

using msc::gym::Assignment;
using msc::gym::SearchProblem;
using msc::gym::TrialResult;
using nlohmann::json;

struct Run {
  std::vector<std::size_t> rows;
  double seconds = 0;
};

TrialResult Try(SearchProblem& problem, const msc::gym::Objective& objective, std::uint64_t trial,
                const Assignment& assignment) {
  TrialResult told{.trial = trial, .assignment = assignment, .objectives = {}};
  problem.Evaluate({&assignment, 1}, [&](std::size_t, const msc::gym::Evaluation& result) {
    told.failed = result.failure.has_value();
    if (told.failed) return;
    told.objectives = ObjectiveValues(objective, result);
    told.constraints = ConstraintValues(objective, result);
    told.violation = Violation(objective, result);
  });
  return told;
}

Run Search(const std::string& agent_name, SearchProblem& problem,
           const msc::gym::Objective& objective, std::uint64_t seed, std::size_t budget) {
  msc::agents::AgentRegistry registry;
  msc::agents::RegisterAll(registry);
  const auto agent = registry.Make(agent_name, AgentSetupFor(problem, objective, seed));
  Run run;
  std::vector<TrialResult> results;
  for (const auto& [name, anchor] : problem.Anchors()) {
    results.push_back(Try(problem, objective, results.size(), anchor));
    run.rows.push_back(msc::bench::RowOf(problem.decisions(), anchor));
  }
  while (true) {
    const auto began = std::chrono::steady_clock::now();
    agent->Tell(results);
    const auto proposals = agent->Ask(run.rows.size(), agent->round().value_or(budget));
    run.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    results.clear();
    for (const Assignment& proposal : proposals) {
      if (run.rows.size() >= budget) return run;
      results.push_back(Try(problem, objective, run.rows.size(), proposal));
      run.rows.push_back(msc::bench::RowOf(problem.decisions(), proposal));
    }
    if (proposals.empty()) return run;
  }
}

void RunTasks(const std::string& path) {
  for (const json& task : msc::ParseJson(msc::ReadFile(path), path)) {
    const auto problem = msc::bench::LoadTable(task.at("table"));
    msc::gym::Objective objective;
    objective.minimize = task.at("minimize").get<std::vector<std::string>>();
    for (const auto& [metric, limit] : task.at("subject_to").items()) {
      objective.subject_to.push_back({metric, limit});
    }
    const std::uint64_t first = task.at("first_seed");
    const std::uint64_t seeds = task.at("seeds");
    for (const std::string agent : task.at("agents")) {
      for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
        const Run run = Search(agent, *problem, objective, seed, task.at("budget"));
        const json line = {{"task", task.at("task")},
                           {"agent", agent},
                           {"seed", seed},
                           {"rows", run.rows},
                           {"seconds", run.seconds}};
        std::printf("%s\n", line.dump().c_str());
        std::fflush(stdout);
      }
    }
  }
}

void PrintToy(const std::string& name) {
  msc::envs::EnvRegistry registry;
  msc::envs::RegisterToys(registry);
  const auto env = registry.Make(name);
  SearchProblem& problem = *env->problem();
  json table = {{"name", name},
                {"metrics", problem.metrics()},
                {"decisions", json::array()},
                {"anchors", json::array()},
                {"results", json::array()}};
  for (const auto& decision : problem.decisions()) {
    table["decisions"].push_back({{"name", decision.name}, {"choices", decision.choices}});
  }
  for (const auto& [anchor, assignment] : problem.Anchors()) {
    table["anchors"].push_back(assignment);
  }
  msc::agents::AgentRegistry agents;
  msc::agents::RegisterAll(agents);
  const auto grid = agents.Make("grid", {.decisions = problem.decisions()});
  for (std::uint64_t row = 0;; ++row) {
    const auto next = grid->Ask(row, 1);
    if (next.empty()) break;
    problem.Evaluate(next, [&](std::size_t, const msc::gym::Evaluation& result) {
      json values = json::array();
      for (const std::string& metric : problem.metrics()) {
        values.push_back(result.metrics.at(metric));
      }
      table["results"].push_back(std::move(values));
    });
  }
  std::printf("%s\n", table.dump().c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  try {
    if (arguments.size() == 2 && arguments[0] == "--toy") {
      PrintToy(arguments[1]);
      return 0;
    }
    if (arguments.size() != 1) throw msc::UserError("give a file of tasks, or --toy NAME");
    RunTasks(arguments[0]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "agent_runs: %s\n", error.what());
    return 2;
  }
}
