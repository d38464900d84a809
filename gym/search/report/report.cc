#include "gym/search/report/report.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "cost/model/loss.h"
#include "envs/common/evaluation.h"
#include "gym/report/html.h"
#include "gym/report/report.h"
#include "gym/search/explain.h"
#include "gym/search/losses.h"
#include "gym/search/report/axes.h"
#include "gym/search/report/facts.h"
#include "gym/search/report/finalists.h"
#include "gym/search/report/headline.h"
#include "gym/search/report/layers.h"
#include "gym/search/report/search_run.h"
#include "gym/search/report/shipping.h"
#include "gym/search/report/text.h"
#include "gym/search/text.h"

namespace msc::gym {
namespace {

/// Assigns to each task the first trial with the same strategy.
std::vector<ReportTask> MakeTasks(const SearchRun& run) {
  std::map<std::string, std::uint64_t> trials;
  for (const Trial& trial : run.study.trials) {
    const std::string hash = envs::RecordedStrategyHash(trial.evaluation);
    if (!hash.empty()) trials.emplace(hash, trial.number);
  }
  std::vector<ReportTask> tasks;
  for (const TaskSpan& span : run.tasks) {
    ReportTask& task = tasks.emplace_back();
    task.worker = span.worker;
    if (const auto it = trials.find(span.strategy); it != trials.end()) task.trial = it->second;
    task.from = span.from;
    task.to = span.to;
    task.end = span.end;
  }
  return tasks;
}

/// Adds information on choices that the winner did not take, besides trials.
void TellOthers(const SearchRun& run, ReportInput& input) {
  for (const Decision& decision : input.decisions) {
    std::string& instead = input.instead.emplace_back();
    for (const Neighbour& neighbour : run.findings.neighbours) {
      if (neighbour.decision != decision.name) continue;
      instead = NeighbourText(run.setup.config.objective, neighbour);
    }
    std::string& unsupported = input.unsupported.emplace_back();
    const auto absent = run.setup.unsupported.find(decision.name);
    if (absent == run.setup.unsupported.end()) continue;
    for (const Precision precision : absent->second) {
      unsupported += (unsupported.empty() ? "excluded, because " + run.setup.config.target +
                                                " does not support it here: "
                                          : ", ") +
                     std::string(Name(precision));
    }
  }
}

/// Returns the judged samples that the best changes most.
std::vector<ReportSample> MakeSamples(const SearchRun& run) {
  if (!run.findings.best) return {};
  std::vector<ReportSample> samples;
  const auto& outcome = run.findings.finalists.at(*run.findings.best).result;
  const bool several = outcome.ok() && outcome.value().quality.outputs.size() > 1;
  for (const ShownSample& shown : run.findings.changed) {
    const cost::ChangedSample& change = shown.change;
    std::string measure =
        change.measure == cost::kLargestDifference
            ? "up to " + FormatSignificant(change.change, 3)
            : cost::TitleOf(change.measure) + " " + FormatLoss(change.measure, change.change);
    if (several) measure += " of '" + change.output + "'";
    samples.push_back({.name = "Sample " + std::to_string(change.sample + 1),
                       .change = measure,
                       .before = change.before,
                       .after = change.after,
                       .label = shown.label ? std::to_string(*shown.label) : "",
                       .picture = shown.picture,
                       .tokens = shown.tokens});
  }
  return samples;
}

/// Returns what the estimates give for each trial on an axis; empty if it has none.
std::vector<std::optional<double>> EstimatesOn(const ReportAxis& axis, const SearchRun& run) {
  const auto cost = run.setup.estimates.costs.find(axis.metric);
  if (cost == run.setup.estimates.costs.end()) return {};
  const auto& effects = cost->second.effects;
  std::vector<std::optional<double>> estimates;
  for (const Trial& trial : run.study.trials) {
    std::optional<double>& estimate = estimates.emplace_back();
    if (trial.assignment.size() != effects.size()) continue;
    double sum = cost->second.offset;
    bool known = true;
    for (std::size_t i = 0; i < effects.size() && known; ++i) {
      const auto choice = static_cast<std::size_t>(trial.assignment[i]);
      known = choice < effects[i].size();
      if (known) sum += effects[i][choice];
    }
    if (known) estimate = sum / axis.scale;
  }
  return estimates;
}

/// Fills in the parts of a report that only a search of compressed models has.
void TellModels(const SearchRun& run, const RunPaths& paths, ReportInput& input) {
  input.headline = MakeHeadline(run);
  TellAxes(run.setup, input);
  input.estimated_latency = EstimatesOn(input.latency, run);
  input.estimated_quality = EstimatesOn(input.quality, run);
  const std::string loss = MainLossOf(run.setup.config);
  const cost::LossInfo* info = cost::FindLoss(loss);
  const std::string unit(info == nullptr ? "" : info->unit);
  input.sensitivity =
      cost::TitleOf(loss) + (unit.empty() ? "" : " in " + unit) + " with this layer alone in int8";
  run.task->AddToReport(run.setup, run.findings, paths, input);
  const auto looked_at = std::ssize(run.findings.sensitivities);
  if (looked_at < run.findings.probed) {
    input.sensitivity += "; there was time for " + std::to_string(looked_at) + " of " +
                         std::to_string(run.findings.probed) + " decisions";
  }
  for (const Decision& decision : input.decisions) {
    std::optional<double>& alone = input.alone.emplace_back();
    for (const LayerSensitivity& row : run.findings.sensitivities) {
      if (row.layer == decision.name && row.failure.empty()) alone = LossOf(run, row);
    }
  }
  TellOthers(run, input);
  const Finalist* best =
      run.findings.best ? &run.findings.finalists.at(*run.findings.best) : nullptr;
  if (best != nullptr) input.winner = best->trial;
  input.layers = MakeLayers(run);
  input.steps_before = MakeSteps(run.findings.profiles, 0);
  input.steps_after = MakeSteps(run.findings.profiles, 1);
  input.final_axes = FinalAxes(input);
  input.finalists = MakeFinalists(run, input.final_axes);
  input.timed = TimedText(run.findings);
  input.judged = JudgedText(run.findings);
  input.left_out = RejectedText(run);
  input.changed = MakeSamples(run);
  input.tasks = MakeTasks(run);
  TellShipping(run, paths, input);
}

}  // namespace

WrittenReport WriteReport(const RunPaths& paths, const TaskRegistry& tasks) {
  const SearchRun run = ReadRun(paths, tasks);
  ReportInput input;
  input.model = std::filesystem::path(run.setup.config.model).filename().string();
  input.created = NowText();
  input.tool = std::string("mscgym ") + MSC_VERSION;
  input.decisions = run.setup.decisions;
  input.study = run.study;
  const Objective objective = ToObjective(run.setup.config.objective);
  // Trials of one strategy share its measurement, and the first of them caused it.
  for (const Trial& trial : run.study.trials) {
    input.feasible.push_back(IsFeasible(objective, trial));
    input.missed.push_back(MissedText(objective, trial.evaluation));
  }
  input.volume = VolumeText(objective, run.study.trials);
  input.sources = SharesOf(objective, run.study.trials);
  input.machine = MakeFacts(run);
  input.config = ToJson(run.setup.config);
  input.commands = {
      {"repeat the search", "mscgym search " + paths.At("config.json") + " --out NEW_RUN"},
      {"continue the search", "mscgym search " + paths.At("config.json") + " --out " +
                                  paths.folder + " --resume --trials N"}};
  if (run.task->measured()) {
    TellModels(run, paths, input);
  } else {
    input.headline.unfinished = !run.finished;
    input.judged = JudgedText(run.findings);
    run.task->AddToReport(run.setup, run.findings, paths, input);
  }
  WriteFileAtomic(paths.At("report.html"), RenderReport(input));
  return {.finished = run.finished, .loss = run.loss};
}

}  // namespace msc::gym
