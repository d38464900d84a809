#include "gym/search/recipe.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/ir/serialize.h"
#include "cost/measure/machine.h"
#include "envs/common/evaluation.h"
#include "envs/distill/distill_env.h"
#include "gym/search/live_run.h"
#include "gym/search/phase_time.h"
#include "gym/search/prepare.h"
#include "gym/search/recipe_finalists.h"
#include "gym/search/record.h"
#include "gym/search/registries.h"
#include "gym/search/run_files.h"
#include "gym/search/text.h"
#include "gym/search/training_task.h"

namespace msc::gym {
namespace {

std::string RecipeFile(const std::string& folder) {
  return folder + "/recipe.json";
}

/// Returns one line per trained finalist, and how they were trained and judged; empty if none was.
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
    if (const std::string held_out = HeldOutText(objective, recipe); !held_out.empty()) {
      text += "\n    " + held_out;
    }
    text += "\n";
  }
  if (text.empty()) return text;
  text = "finalists, means with 95 % intervals:\n" + text;
  const std::string times =
      AllTrained(findings) ? std::to_string(kRecipeRepeats) + " times each " : "";
  return text + "finalists were trained " + times + "with seeds that no trial used, and " +
         JudgedText(findings) + "\n" + WarningLines(findings);
}

std::string ClosingText(const SearchConfig& config, const RunPaths& paths,
                        const SearchResult& result) {
  const StudyResult& study = result.study;
  const Findings& findings = result.findings;
  std::string text = "\n" + CountsText(study) +
                     "\ntrials ended: " + EndText(study.stop, ToStopRules(config.stop)) + "\n";
  const std::string volume = VolumeText(ToObjective(config.objective), study.trials);
  if (!volume.empty()) text += volume + " (of trials that keep the limits)\n";
  text +=
      FinalistLines(ToObjective(config.objective), findings) + SuspicionLines(findings.suspicions);
  text += ShortenedLines(findings) + UsedText(findings.used_s, config.time_budget_s) + "\n";
  const bool trained = findings.best || (!findings.recipes.empty() && AllTrained(findings));
  if (!study.best || (trained && !findings.best)) {
    text += "no recipe keeps the constraints; pareto.json lists the trade-offs\n";
    if (findings.nearest) text += "nearest: " + RecipeFile(paths.nearest()) + "\n";
    return text;
  }
  if (!trained) {
    const Trial& best = study.trials[*study.best];
    text += "best so far, not trained again: trial " + std::to_string(best.number);
    for (const auto& [metric, value] : best.evaluation.metrics) {
      text += ", " + metric + Formatted(" %.6g", value);
    }
    text += "\n";
  }
  return text + "recipe: " + RecipeFile(paths.best()) +
         "\ntrain with it, adding the options for the format of the samples: " +
         TrainCommand(config, paths) + "\n";
}

/// Writes the best recipe: of the finalists, or of the trials until all finalists are trained.
/// Writes the nearest to its own folder, and removes the results of an earlier run.
void WriteRecipes(const RunPaths& paths, const Objective& objective,
                  const envs::RecipeProblem& problem, const SearchResult& result) {
  const Findings& findings = result.findings;
  WriteFileAtomic(paths.At("pareto.json"), ParetoJson(objective, result.study));
  WriteFileAtomic(paths.results(), ResultsJson(findings));
  const auto write = [](const std::string& folder, const TrainSettings& recipe) {
    MakeFolders(folder);
    WriteFileAtomic(RecipeFile(folder), ToJsonText(recipe, 2) + "\n");
  };
  std::filesystem::remove_all(paths.nearest());
  if (findings.best) {
    write(paths.best(), findings.recipes[*findings.best].recipe);
  } else if (result.study.best && (findings.recipes.empty() || !AllTrained(findings))) {
    const Assignment& best = result.study.trials[*result.study.best].assignment;
    write(paths.best(), problem.RecipeOf(best));
  } else {
    std::filesystem::remove(RecipeFile(paths.best()));
    if (findings.nearest) write(paths.nearest(), findings.recipes[*findings.nearest].recipe);
  }
}

/// Fraction of time_budget_s that trainings of finalists may take, and the time reserved for
/// writing the result.
constexpr double kFinalistsPart = 0.4;
constexpr double kAnswerSeconds = 1;

/// Context for training the finalists.
struct Finishing {
  const SearchConfig& config;
  const envs::TrainingTask& task;
  const envs::RecipeProblem& problem;
  const FinalSamples& samples;
  const TimeBudget& time;
  SearchListener& listener;
  LiveRun& run;
  /// Whether each training goes into the journal at once; not while trials are to follow.
  bool keeps = true;
};

/// Trains the best of `trials`; keeps the trainings of an interrupted run. Returns false if
/// stopped.
bool Finish(const Finishing& with, const std::vector<Trial>& trials, Findings& findings) {
  const FinalSamples& samples = with.samples;
  LiveRun& run = with.run;
  // The time for writing the answer is kept back.
  const auto late = [&](double seconds) {
    return with.time.limited() && with.time.Left() <= seconds + kAnswerSeconds;
  };
  const auto stop = [&] {
    run.Tick();
    return with.listener.StopRequested() || late(0);
  };
  findings.judged_from = samples.from;
  findings.judged = samples.count;
  findings.held_out_from = samples.held_out_from;
  findings.warnings = samples.warnings;
  findings.judged_hash = samples.hash;
  // Trainings of an interrupted run count if they were judged on the same samples.
  if (auto before = run.StoredFindings(); before && before->judged_hash == samples.hash) {
    findings.recipes = std::move(before->recipes);
  }
  const auto train =
      [&](const TrainSettings& settings,
          const std::function<void(double)>& heard) -> std::optional<Result<cost::Outcome>> {
    const auto trained = envs::TrainAndJudge(
        with.task, {settings, samples.judge}, stop, [&](const TrainProgress& at) {
          if (std::string_view(at.phase) != "train" || at.total == 0) return;
          heard(static_cast<double>(at.done) / static_cast<double>(at.total));
        });
    if (!trained) return std::nullopt;
    if (!trained->quality.ok()) return trained->quality.failure();
    cost::Outcome outcome;
    outcome.quality = trained->quality.value();
    outcome.held_out = samples.held_out();
    return outcome;
  };
  const Retraining how{
      .recipe_of = [&](const Assignment& assignment) { return with.problem.RecipeOf(assignment); },
      .train = train,
      .say = [&](const std::string& text) { with.listener.ReportProgress(text); },
      .keep =
          [&](const Findings& found) {
            if (with.keeps) run.StoreFindings(found);
          },
      .late = late};
  const bool done = TrainFinalists(ToObjective(with.config.objective), trials,
                                   with.config.finalists, how, findings);
  findings.used_s = with.time.Used();
  findings.suspicions = SuspicionsOfBest(with.config, findings);
  if (done && with.keeps) run.StoreFindings(findings);
  return done;
}

/// Returns the expected time to train all finalists, within the limits of the config.
double FinishingSeconds(const SearchConfig& config, double trial_s) {
  const auto trainings = static_cast<double>(kRecipeRepeats * config.finalists);
  const double wanted = kAnswerSeconds + trainings * trial_s;
  return config.time_budget_s > 0 ? std::min(wanted, kFinalistsPart * config.time_budget_s)
                                  : wanted;
}

/// Returns whether the best retrained recipe reaches the goal; nothing if time ran out or the
/// search was stopped before.
std::optional<bool> ReachesGoal(const Finishing& with, const std::vector<Trial>& claims,
                                Findings& findings) {
  if (!Finish(with, claims, findings) || !AllTrained(findings)) return std::nullopt;
  if (!findings.best) return false;
  const Objective goal{.subject_to = ToStopRules(with.config.stop).goal};
  return Violation(goal, EvaluationOf(findings.recipes[*findings.best])) <= 0;
}

/// Trains the finalists; reuses the confirmed findings if a goal ended the trials.
void FinishAll(const Finishing& with, const std::optional<Findings>& confirmed,
               SearchResult& result) {
  if (with.listener.StopRequested()) return;
  if (confirmed && result.study.stop == StopReason::kGoal) {
    result.findings = *confirmed;
  } else {
    (void)Finish(with, result.study.trials, result.findings);
  }
}

/// Rejects settings that a search of recipes cannot honour: it runs in this process, one trial
/// after another.
void CheckSupported(const SearchConfig& config, const SearchOptions& options) {
  if (options.farm != nullptr || options.workers != 1) {
    throw UserError("a search of recipes tries one after another: leave out mpirun and --workers");
  }
  if (!options.cache.empty()) {
    throw UserError("a search of recipes caches no outcomes: leave out --cache");
  }
  if (!config.quality.metrics.empty()) {
    throw UserError(
        "a search of recipes measures no metrics of your own: leave out "
        "'quality.metrics'");
  }
  if (config.race) throw UserError("a search of recipes cannot race: leave out 'race'");
  if (!config.from.empty()) {
    throw UserError("a search of recipes cannot start from another run: leave out 'from'");
  }
}

}  // namespace

std::string TrainCommand(const SearchConfig& config, const RunPaths& paths) {
  const DistillConfig& distill = config.section<DistillConfig>();
  std::string line = "mscgym distill " + config.model;
  if (!config.strategy.empty()) line += " --strategy " + config.strategy;
  if (distill.weight_bits > 0) line += " --weight-bits " + std::to_string(distill.weight_bits);
  line += " --recipe " + RecipeFile(paths.best()) + " --data " + config.calibration.data.images;
  for (const auto& [output, file] : config.calibration.data.labels.files) {
    line += " --data-labels " + file;
  }
  return line + " --samples " + std::to_string(distill.most()) + " --calibration-samples " +
         std::to_string(config.calibration.most()) + " --save-strategy trained.json";
}

SearchOutcome SearchRecipe(const SearchConfig& config, const SearchOptions& options,
                           const SearchHost& host) {
  CheckSupported(config, options);
  const RunPaths paths{options.folder};
  TimeBudget time(config.time_budget_s);
  const Prepared prepared = LoadUnmeasured(config);
  const auto task = MakeTrainingTask(config, *prepared.graph, prepared.targets);
  const std::unique_ptr<envs::RecipeProblem> made = envs::MakeDistillProblem(task);
  envs::RecipeProblem& problem = *made;
  const Objective objective = ToObjective(config.objective);
  CheckObjective(objective, problem.metrics());
  const std::unique_ptr<Agent> agent =
      MakeAgents().Make(config.agent, AgentSetupFor(problem, objective, config.seed));
  const cost::MachineFacts machine = cost::ReadMachine();
  const FinalSamples samples = MakeFinalSamples(config, *prepared.graph, *task);

  // All that can fail because of the config lies before the first change to the run directory.
  host.listener.ReportStart();
  for (const std::string& note : task->notes) host.listener.ReportLine(note);
  LiveRun run(config, paths, time, LiveOptionsOf(options), host.listener);
  for (const std::string& warning : samples.warnings) run.log().Warn(warning);
  WriteFileAtomic(paths.At("env.json"), EnvJson(machine, GraphHash(*prepared.graph)));
  SearchOutcome outcome;
  SearchResult& result = outcome.result;
  {
    const SearchStart start{.setup = {.config = config,
                                      .machine = machine,
                                      .model_hash = GraphHash(*prepared.graph),
                                      .decisions = problem.decisions()}};
    const Finishing with{config, *task, problem, samples, time, host.listener, run};
    std::optional<Findings> confirmed;
    std::vector<Trial> heard = run.EarlierTrials();
    std::optional<double> most;
    // A goal that trials reach is confirmed by retraining. The time reserved for finalists follows
    // that of trials.
    const TrialHooks hooks{
        .confirm = [&](const std::vector<Trial>& claims) -> std::optional<bool> {
          Findings found;
          const std::optional<bool> holds = ReachesGoal(
              {config, *task, problem, samples, time, host.listener, run, false}, claims, found);
          if (holds && *holds) {
            run.StoreFindings(found);
            confirmed = std::move(found);
          }
          return holds;
        },
        .tail =
            [&](const Progress& progress) {
              if (progress.last != nullptr) heard.push_back(*progress.last);
              // Fixed at the first call, as the time that is left shrinks while trials run.
              if (!most) most = time_parts::kAfterTrials * time.Left();
              return std::min(FinishingSeconds(config, SecondsOfTrial(heard)), *most);
            }};
    result.study = run.RunTrials(problem, *agent, start, hooks);
    FinishAll(with, confirmed, result);
  }
  WriteRecipes(paths, objective, problem, result);
  outcome.interrupted = host.listener.StopRequested();
  outcome.decisions = problem.decisions();
  outcome.feasible = result.findings.best || (result.study.best && !AllTrained(result.findings));
  if (outcome.feasible) outcome.best = paths.best();
  outcome.suspicions = result.findings.suspicions;
  outcome.summary = ClosingText(config, paths, result);
  run.log().Info(outcome.summary);
  return outcome;
}

}  // namespace msc::gym
