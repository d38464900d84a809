#include "gym/app/search_recipe.h"

#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "cost/measure/machine.h"
#include "envs/common/evaluation.h"
#include "gym/app/registries.h"
#include "gym/app/search_record.h"
#include "gym/app/search_session.h"
#include "gym/app/search_text.h"
#include "gym/app/stop.h"

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

}  // namespace msc::gym
