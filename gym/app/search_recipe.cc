#include "gym/app/search_recipe.h"

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "cost/measure/machine.h"
#include "envs/common/evaluation.h"
#include "envs/distill/distill_env.h"
#include "gym/app/distill_task.h"
#include "gym/app/recipe_finalists.h"
#include "gym/app/registries.h"
#include "gym/app/run_files.h"
#include "gym/app/search_record.h"
#include "gym/app/search_session.h"
#include "gym/app/search_text.h"
#include "gym/app/stop.h"

namespace msc::gym {
namespace {

std::string RecipeFile(const std::string& folder) {
  return folder + "/recipe.json";
}

/// A line each, and how they were trained and judged; empty where none was.
std::string FinalistLines(const Objective& objective, const Findings& findings) {
  std::string text;
  for (std::size_t i = 0; i < findings.recipes.size(); ++i) {
    const RecipeFinalist& recipe = findings.recipes[i];
    if (recipe.repeats.empty()) continue;
    text += std::string("  ") +
            (findings.best == i      ? "best: "
             : findings.nearest == i ? "nearest: "
                                     : "") +
            "trial " + std::to_string(recipe.trial);
    for (const auto& [metric, mean] : recipe.metrics) {
      text += ", " + metric + " " + MeanText(recipe, metric);
    }
    const Evaluation evaluation = EvaluationOf(recipe);
    if (evaluation.failure) {
      text += ", " + evaluation.failure->detail;
    } else if (Violation(objective, evaluation) > 0) {
      text += ", misses a limit";
    }
    if (const std::string fresh = FreshText(objective, recipe); !fresh.empty()) {
      text += "\n    " + fresh;
    }
    text += "\n";
  }
  if (text.empty()) return text;
  text = "finalists, means with 95 % intervals:\n" + text;
  return text + "finalists were trained " + std::to_string(kRecipeRepeats) +
         " times each with seeds that no trial had, and " + JudgedText(findings) + "\n" +
         WarningLines(findings);
}

std::string ClosingText(const SearchConfig& config, const RunPaths& paths,
                        const SearchResult& result) {
  const StudyResult& study = result.study;
  const Findings& findings = result.findings;
  std::string text = "\n" + CountsText(study) +
                     "\ntrials ended: " + EndText(study.stop, ToStopRules(config.stop)) + "\n";
  const std::string volume = VolumeText(ToObjective(config.objective), study.trials);
  if (!volume.empty()) text += volume + " (of trials that keep the limits)\n";
  text += FinalistLines(ToObjective(config.objective), findings);
  const bool trained = !findings.recipes.empty() && AllTrained(findings);
  if (!study.best || (trained && !findings.best)) {
    text += "nothing keeps the constraints; pareto.json has the trade-offs\n";
    if (findings.nearest) text += "nearest: " + RecipeFile(paths.nearest()) + "\n";
    return text;
  }
  if (!trained) {
    const Trial& best = study.trials[*study.best];
    text += "best so far, not trained again: trial " + std::to_string(best.number);
    for (const auto& [metric, value] : best.evaluation.metrics) {
      char part[64] = "";  // NOLINT(modernize-avoid-c-arrays): snprintf
      std::snprintf(part, sizeof part, " %.6g", value);
      text += ", " + metric + part;
    }
    text += "\n";
  }
  return text + "recipe: " + RecipeFile(paths.best()) +
         "\ntrain by it, with the form of the samples: " + TrainCommand(config, paths) + "\n";
}

/// The recipe that is the answer: of the finalists, or, before all are trained, of the trials. The
/// nearest goes elsewhere, and what another answer left behind goes away.
void WriteRecipes(const RunPaths& paths, const Objective& objective, const SearchProblem& problem,
                  const SearchResult& result) {
  const Findings& findings = result.findings;
  WriteFileAtomic(paths.At("pareto.json"), ParetoJson(objective, result.study));
  WriteFileAtomic(paths.results(), ResultsJson(findings));
  const auto write = [](const std::string& folder, const std::string& recipe) {
    MakeFolders(folder);
    WriteFileAtomic(RecipeFile(folder), ParseJson(recipe, "the recipe").dump(2) + "\n");
  };
  std::filesystem::remove_all(paths.nearest());
  if (findings.best) {
    write(paths.best(), findings.recipes[*findings.best].recipe);
  } else if (result.study.best && (findings.recipes.empty() || !AllTrained(findings))) {
    write(paths.best(), problem.Describe(result.study.trials[*result.study.best].assignment));
  } else {
    std::filesystem::remove(RecipeFile(paths.best()));
    if (findings.nearest) write(paths.nearest(), findings.recipes[*findings.nearest].recipe);
  }
}

/// Trains the finalists; what there was of them before the search went on stays.
void Finish(const SearchSession& session, const FinalSamples& samples, ProgressLine& line,
            LiveRun& run, SearchResult& result) {
  const SearchConfig& config = session.config();
  const SearchProblem& problem = *session.env().problem();
  Findings& findings = result.findings;
  findings.judged_from = samples.from;
  findings.judged = samples.count;
  findings.fresh_from = samples.fresh_from;
  findings.warnings = samples.warnings;
  findings.judged_hash = samples.hash;
  if (auto before = run.Kept(); before && before->judged_hash == samples.hash) {
    findings.recipes = std::move(before->recipes);
  }
  const auto train =
      [&](const TrainSettings& settings,
          const std::function<void(double)>& heard) -> std::optional<Result<cost::Outcome>> {
    const auto trained = envs::TrainAndJudge(
        *session.task(), {settings, samples.judge}, StopRequested, [&](const TrainProgress& at) {
          if (std::string_view(at.phase) != "train" || at.total == 0) return;
          heard(static_cast<double>(at.done) / static_cast<double>(at.total));
        });
    if (!trained) return std::nullopt;
    if (!trained->quality.ok()) return trained->quality.failure();
    cost::Outcome outcome;
    outcome.quality = trained->quality.value();
    outcome.fresh = samples.fresh();
    return outcome;
  };
  const Retraining how{
      .describe = [&](const Assignment& assignment) { return problem.Describe(assignment); },
      .train = train,
      .say = [&](const std::string& text) { line.Show(text); },
      .keep = [&](const Findings& found) { run.Keep(found); }};
  const bool done = TrainFinalists(ToObjective(config.objective), result.study.trials,
                                   config.finalists, how, findings);
  if (done) run.Keep(findings);
}

}  // namespace

std::string TrainCommand(const SearchConfig& config, const RunPaths& paths) {
  const DistillConfig& distill = config.distill;
  std::string line = "mscgym distill " + config.model;
  if (!config.strategy.empty()) line += " --strategy " + config.strategy;
  if (distill.weight_bits > 0) line += " --weight-bits " + std::to_string(distill.weight_bits);
  line += " --recipe " + RecipeFile(paths.best()) + " --data " + config.calibration.data.images;
  if (!config.calibration.data.labels.empty()) {
    line += " --data-labels " + config.calibration.data.labels;
  }
  return line + " --samples " + std::to_string(distill.most()) + " --calibration-samples " +
         std::to_string(config.calibration.most()) + " --save-strategy trained.json";
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
  const FinalSamples samples = MakeFinalSamples(config, session.graph(), *session.task());

  LiveRun run(config, paths, options);
  for (const std::string& warning : samples.warnings) run.log().Warn(warning);
  WriteFileAtomic(paths.At("env.json"), EnvJson(machine, GraphHash(session.graph())));
  SearchResult result;
  {
    ProgressLine line;
    const SearchStart start{.setup = {.config = config,
                                      .machine = machine,
                                      .model_hash = GraphHash(session.graph()),
                                      .decisions = problem.decisions()}};
    result.study = run.Try(problem, *agent, start, line);
    if (!StopRequested()) Finish(session, samples, line, run, result);
  }
  WriteRecipes(paths, objective, problem, result);
  (void)WriteReport(paths);
  const std::string summary = ClosingText(config, paths, result);
  run.log().Info(summary);
  std::printf("%s", summary.c_str());
  if (StopRequested()) {
    std::printf("interrupted; --resume goes on\n");
    return kExitFailure;
  }
  return result.findings.best ? kExitOk : kExitInfeasible;
}

}  // namespace msc::gym
