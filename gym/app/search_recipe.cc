#include "gym/app/search_recipe.h"

#include <chrono>
#include <cstdio>
#include <memory>
#include <numeric>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "cost/measure/machine.h"
#include "envs/common/evaluation.h"
#include "envs/distill/distill_env.h"
#include "gym/app/registries.h"
#include "gym/app/search_record.h"
#include "gym/app/search_session.h"
#include "gym/app/search_text.h"
#include "gym/app/stop.h"
#include "gym/study/describe.h"

namespace msc::gym {
namespace {

std::string RecipeFile(const RunPaths& paths) {
  return paths.best() + "/recipe.json";
}

std::string ClosingText(const SearchConfig& config, const RunPaths& paths,
                        const StudyResult& study) {
  std::string text = "\n" + CountsText(study) +
                     "\ntrials ended: " + EndText(study.stop, ToStopRules(config.stop)) + "\n";
  const std::string volume = VolumeText(ToObjective(config.objective), study.trials);
  if (!volume.empty()) text += volume + " (of trials that keep the limits)\n";
  if (!study.best) return text + "nothing keeps the constraints; pareto.json has the trade-offs\n";
  const Trial& best = study.trials[*study.best];
  text += "best: trial " + std::to_string(best.number);
  for (const auto& [metric, value] : best.evaluation.metrics) {
    char part[64] = "";  // NOLINT(modernize-avoid-c-arrays): snprintf
    std::snprintf(part, sizeof part, " %.6g", value);
    text += ", " + metric + part;
  }
  return text + "\nrecipe: " + RecipeFile(paths) +
         "\ntrain by it, with the form of the samples: " + TrainCommand(config, paths) + "\n";
}

/// Mean over all assignments.
double Mean(const AdditiveCost& cost) {
  double mean = cost.offset;
  for (const std::vector<double>& effects : cost.effects) {
    mean +=
        std::accumulate(effects.begin(), effects.end(), 0.0) / static_cast<double>(effects.size());
  }
  return mean;
}

}  // namespace

std::string TrainCommand(const SearchConfig& config, const RunPaths& paths) {
  const DistillConfig& distill = config.distill;
  std::string line = "mscgym distill " + config.model;
  if (!config.strategy.empty()) line += " --strategy " + config.strategy;
  if (distill.weight_bits > 0) line += " --weight-bits " + std::to_string(distill.weight_bits);
  line += " --recipe " + RecipeFile(paths) + " --data " + config.calibration.data.images;
  if (!config.calibration.data.labels.empty()) {
    line += " --data-labels " + config.calibration.data.labels;
  }
  return line + " --samples " + std::to_string(distill.samples) + " --calibration-samples " +
         std::to_string(config.calibration.samples) + " --save-strategy trained.json";
}

int SearchRecipe(const SearchConfig& asked, const RunPaths& paths, const LiveRunOptions& options) {
  SearchSession session(asked, {});
  const SearchConfig& config = session.config();
  SearchProblem& problem = *session.env().problem();
  const Objective objective = ToObjective(config.objective);
  CheckObjective(objective, problem.metrics());
  const std::unique_ptr<Agent> agent =
      MakeAgents().Make(config.agent, AgentSetupFor(problem, objective, config.seed));
  const cost::MachineFacts machine = cost::ReadMachine();

  LiveRun run(config, paths, options);
  WriteFileAtomic(paths.At("env.json"), cost::ToJson(machine) + "\n");
  StudyResult study;
  {
    ProgressLine line;
    const SearchStart start{.setup = {.config = config,
                                      .machine = machine,
                                      .model_hash = GraphHash(session.graph()),
                                      .decisions = problem.decisions()}};
    study = run.Try(problem, *agent, start, line);
  }
  WriteFileAtomic(paths.At("pareto.json"), ParetoJson(study));
  if (study.best) {
    const std::string recipe = problem.Describe(study.trials[*study.best].assignment);
    MakeFolders(paths.best());
    WriteFileAtomic(RecipeFile(paths), ParseJson(recipe, "the recipe").dump(2) + "\n");
  }
  (void)WriteReport(paths);
  const std::string summary = ClosingText(config, paths, study);
  run.log().Info(summary);
  std::printf("%s", summary.c_str());
  if (StopRequested()) {
    std::printf("interrupted; --resume goes on\n");
    return kExitFailure;
  }
  return study.best ? kExitOk : kExitInfeasible;
}

void DryRunRecipe(const SearchConfig& asked) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  SearchSession session(asked, {});
  const std::chrono::duration<double> preparing = Clock::now() - start;
  const SearchConfig& config = session.config();
  SearchProblem& problem = *session.env().problem();
  CheckObjective(ToObjective(config.objective), problem.metrics());
  std::printf("%s, %s, agent %s\n%s", config.env.c_str(), config.model.c_str(),
              config.agent.c_str(), DescribeSpace(problem, ToObjective(config.objective)).c_str());
  const auto anchors = problem.Anchors();
  const auto& [name, recipe] = anchors.front();
  Evaluation tried;
  const auto before = Clock::now();
  problem.Evaluate(
      {&recipe, 1}, [&](std::size_t, const Evaluation& result) { tried = result; }, StopRequested);
  const std::chrono::duration<double> trial = Clock::now() - before;
  std::printf("one trial, the baseline '%s': %.1f s%s\n", name.c_str(), trial.count(),
              tried.failure ? (", failed: " + tried.failure->detail).c_str() : "");
  const auto steps = tried.metrics.find(std::string(envs::kTrainSteps));
  if (steps == tried.metrics.end()) return;
  const double mean = Mean(problem.AdditiveCosts().at(std::string(envs::kTrainSteps)));
  std::printf(
      "%llu trials: about %s, after %.1f s of preparing%s\n",
      static_cast<unsigned long long>(config.trials),
      FormatDuration(trial * (mean / steps->second) * static_cast<double>(config.trials)).c_str(),
      preparing.count(), config.time_budget_s > 0 ? "; time_budget_s ends the trials earlier" : "");
}

}  // namespace msc::gym
