#include "gym/search/report/report.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>

#include <nlohmann/json.hpp>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "cost/model/loss.h"
#include "cost/quality/guard.h"
#include "envs/common/evaluation.h"
#include "envs/quantize/quantize_config.h"
#include "gym/report/html.h"
#include "gym/report/report.h"
#include "gym/search/explain.h"
#include "gym/search/findings.h"
#include "gym/search/held_out.h"
#include "gym/search/losses.h"
#include "gym/search/phase_time.h"
#include "gym/search/recipe_finalists.h"
#include "gym/search/record.h"
#include "gym/search/report/axes.h"
#include "gym/search/report/layer_time.h"
#include "gym/search/report/recipe_words.h"
#include "gym/search/report/text.h"
#include "gym/search/run_paths.h"
#include "gym/search/task_registry.h"
#include "gym/search/text.h"
#include "gym/study/timeline.h"

namespace msc::gym {
namespace {

/// Content of a journal for the report.
struct Run {
  const SearchTask* task = nullptr;
  SearchSetup setup;
  StudyResult study;
  Findings findings;
  bool finished = false;  // there are findings
  std::string loss;
  std::vector<TaskSpan> tasks;
};

Run ReadRun(const RunPaths& paths, const TaskRegistry& tasks) {
  const JournalText journal = ReadJournal(paths.journal());
  SearchRecords found = FindSearchRecords(journal.records);
  Run run;
  run.loss = journal.loss;
  run.setup = SetupIn(found, journal, paths.journal());
  run.task = &tasks.Get(run.setup.config.env);
  run.study = ReadStudy(journal.records);
  run.tasks = TasksOf(journal.records);
  // Absent while a search runs, or after a kill.
  run.finished = found.findings.has_value();
  if (run.finished) run.findings = *std::move(found.findings);
  // Findings of recipes are stored after every training.
  if (!run.task->measured()) {
    run.finished = run.finished && run.study.stop != StopReason::kInterrupted &&
                   (AllTrained(run.findings) || !run.findings.shortened.empty());
  }
  return run;
}

std::optional<double> Metric(const Evaluation& evaluation, std::string_view name) {
  const auto it = evaluation.metrics.find(std::string(name));
  if (it == evaluation.metrics.end()) return std::nullopt;
  return it->second;
}

/// Returns the violated limits, "accuracy_drop <= 0.5"; empty if the trial failed or violates none.
std::string MissedText(const Objective& objective, const Evaluation& evaluation) {
  if (!evaluation.Complete()) return "";
  std::string text;
  for (const Constraint& limit : objective.subject_to) {
    const auto value = Metric(evaluation, limit.metric);
    if (!value || *value <= limit.limit) continue;
    text += (text.empty() ? "" : ", ") + limit.metric + " <= " + nlohmann::json(limit.limit).dump();
  }
  return text;
}

/// Returns the loss of a decision tried alone by which the report compares.
std::optional<double> LossOf(const Run& run, const LayerSensitivity& row) {
  const auto loss = row.losses.find(MainLossOf(run.setup.config));
  return loss == row.losses.end() ? std::nullopt : std::optional(loss->second);
}

/// Returns whether the guard's bounds or a limit exclude a loss.
bool IsBeyond(const SearchConfig& config, const std::string& name, double value) {
  const auto limit = config.objective.subject_to.find(name);
  if (limit != config.objective.subject_to.end() && value > limit->second) return true;
  const cost::Guard& guard = config.quality.guard;
  if (name == cost::kDisagreement) {
    return value > cost::DisagreementBound(LimitsOf(config), guard);
  }
  return name == cost::kRelativeError && guard.relative_error > 0 && value > guard.relative_error;
}

/// Returns what the guard allows: "at most 2.00 % of decisions changed, relative error at most
/// 0.1".
std::string GuardText(const SearchConfig& config, const cost::Quality& quality) {
  const cost::Guard& guard = config.quality.guard;
  std::string text;
  if (quality.Loss(cost::kDisagreement)) {
    const double bound = cost::DisagreementBound(LimitsOf(config), guard);
    text = "at most " + FormatLoss(cost::kDisagreement, bound) + " of the decisions may change";
  }
  if (guard.relative_error > 0 && quality.Loss(cost::kRelativeError)) {
    text += (text.empty() ? "" : "; ") + std::string("relative error at most ") +
            FormatLoss(cost::kRelativeError, guard.relative_error);
  }
  return text;
}

/// Adds the losses that tables show, and what makes them suspicious.
void TellLosses(const SearchConfig& config, const cost::Quality& quality,
                ReportHeadline& headline) {
  std::vector<std::string> measured;
  for (const auto& [name, loss] : quality.Losses()) measured.push_back(name);
  for (const std::string& name : ShownLosses(config, measured)) {
    if (name == cost::kAccuracyDrop) continue;  // has a tile of its own
    const cost::Estimate loss = *quality.Loss(name);
    const cost::MetricQuality* metric = quality.Metric(name);
    const std::string value =
        metric == nullptr
            ? ""
            : Formatted("%.6g", metric->value) + Formatted(" (before %.6g), ", metric->reference);
    const auto limit = config.objective.subject_to.find(name);
    headline.losses.push_back({.title = cost::TitleOf(name),
                               .number = FormatLoss(name, loss.value),
                               .detail = value + "95 %: " + IntervalText(quality, name) +
                                         (limit == config.objective.subject_to.end()
                                              ? ""
                                              : ", limit " + FormatLoss(name, limit->second)),
                               .bad = IsBeyond(config, name, loss.value)});
  }
  headline.guard = GuardText(config, quality);
  headline.suspicions = SuspicionsOf(config, quality);
}

/// Adds the limits on metrics other than losses, to the tiles that show them.
void TellLimits(const SearchSetup& setup, ReportHeadline& headline) {
  const std::map<std::string_view, std::string> tiles = {
      {envs::kLatency, "Speed-up"},
      {envs::kLatencyMs, "Latency"},
      {envs::kEnergy, "Energy"},
      {envs::kWeightBytes, "Weights"},
      {envs::kPeakBytes, "Memory for activations"},
  };
  for (const auto& [metric, limit] : setup.config.objective.subject_to) {
    const auto tile = tiles.find(metric);
    if (tile == tiles.end()) continue;
    const ReportAxis axis = AxisOf(metric, setup);
    std::string text = "limit " + FormatSignificant(limit / axis.scale, 3);
    // These tiles show the inverse, or the change, of a ratio.
    if (!axis.inverse.empty()) text += " of the " + metric;
    headline.limits[tile->second] = text + (axis.unit.empty() ? "" : " ") + axis.unit;
  }
}

/// Adds the uncompressed model on other targets, as it was timed beside the finalists.
void TellCompared(const Run& run, double best_ms, ReportHeadline& headline) {
  for (const Compared& compared : run.findings.compared) {
    if (!compared.result.ok() || !compared.result.value().latency) continue;
    const double ms = compared.result.value().latency->median_ns * 1e-6;
    headline.compared.push_back({.title = "Against f32 on " + compared.target,
                                 .number = FormatFixed(ms / best_ms, 2) + "\xC3\x97",
                                 .detail = "it takes " + FormatSignificant(ms, 3) + " ms"});
  }
}

/// Returns the memory of the uncompressed model, if a trial has measured it.
std::optional<double> ReferencePeak(const Run& run) {
  for (const Trial& trial : run.study.trials) {
    const bool plain = std::all_of(trial.assignment.begin(), trial.assignment.end(),
                                   [](std::int32_t choice) { return choice == 0; });
    if (plain && trial.source.starts_with("anchor:") && !trial.evaluation.failure) {
      return Metric(trial.evaluation, envs::kPeakBytes);
    }
  }
  return std::nullopt;
}

ReportHeadline MakeHeadline(const Run& run) {
  ReportHeadline headline;
  headline.constraint = ConstraintText(run.setup.config.objective);
  headline.unfinished =
      !run.finished || (run.study.stop == StopReason::kInterrupted && !run.findings.best);
  headline.reference_weight_bytes = static_cast<double>(run.setup.weight_bytes);
  if (!run.findings.best) return headline;
  const Finalist& best = run.findings.finalists.at(*run.findings.best);
  if (!best.result.ok()) return headline;
  const cost::Outcome& outcome = best.result.value();
  headline.configuration = "trial " + std::to_string(best.trial);
  const std::string trained = TrainText(best.strategy.fit.train);
  if (!trained.empty()) headline.configuration += ", " + trained;
  headline.constraint_met = true;
  headline.speed_up = SpeedUp(outcome);
  if (outcome.latency) {
    headline.latency_ms = outcome.latency->median_ns * 1e-6;
    headline.reference_ms = outcome.latency->reference_median_ns * 1e-6;
    TellCompared(run, *headline.latency_ms, headline);
    if (const auto& energy = outcome.latency->energy) {
      headline.joules = energy->joules;
      headline.reference_joules = energy->reference_joules;
    }
  }
  TellLosses(run.setup.config, outcome.quality, headline);
  headline.accuracy = outcome.quality.accuracy;
  headline.reference_accuracy = outcome.quality.reference_accuracy;
  headline.weight_bytes = static_cast<double>(outcome.weight_bytes);
  headline.peak_bytes = static_cast<double>(outcome.peak_bytes);
  headline.reference_peak_bytes = ReferencePeak(run);
  TellLimits(run.setup, headline);
  return headline;
}

std::vector<ReportStep> MakeSteps(const std::vector<cost::Profile>& profiles, std::size_t index) {
  std::vector<ReportStep> steps;
  if (index >= profiles.size()) return steps;
  for (const cost::StepProfile& profile : profiles[index].steps) {
    ReportStep& step = steps.emplace_back();
    step.name = profile.name;
    step.target = profile.target;
    step.precision = profile.precision;
    for (const std::string& node : profile.nodes) {
      step.nodes += (step.nodes.empty() ? "" : ", ") + node;
    }
    step.ms = profile.median_ns * 1e-6;
  }
  return steps;
}

/// Returns the target of a node.
std::string RunnerOf(const Strategy& strategy, const std::string& node) {
  for (const PartitionRegion& region : strategy.partition) {
    if (std::find(region.nodes.begin(), region.nodes.end(), node) != region.nodes.end()) {
      return region.target;
    }
  }
  return strategy.target;
}

/// Returns "range by mse, rounded by gptq": decisions on an int8 layer besides its precision.
std::string HowQuantized(const QuantizePlan& plan, const std::string& layer) {
  const auto precision = plan.layers.find(layer);
  if (precision == plan.layers.end() || precision->second != Precision::kInt8) return "";
  std::string text;
  if (const auto range = plan.ranges.find(layer); range != plan.ranges.end()) {
    text = "range by " + range->second;
  }
  if (plan.rounding.empty()) return text;
  return text + (text.empty() ? "rounded by " : ", rounded by ") + plan.rounding;
}

std::vector<ReportLayer> MakeLayers(const Run& run) {
  std::vector<ReportLayer> layers;
  const std::map<std::string, double>& kept = run.findings.kept;
  for (const LayerEntry& layer : run.setup.layers) {
    ReportLayer row{.name = layer.name,
                    .op = layer.op,
                    .shape = layer.shape,
                    .latency_share = TimeOf(run.findings.profiles, 0, layer.name).share,
                    .achieved = TimeOf(run.findings.profiles, 1, layer.name).precision};
    if (run.findings.best) {
      const Strategy& strategy = run.findings.finalists.at(*run.findings.best).strategy;
      const auto& chosen = strategy.quantize.layers;
      const auto it = chosen.find(layer.name);
      const Precision precision = it == chosen.end() ? Precision::kF32 : it->second;
      row.chosen = Name(precision);
      row.how = HowQuantized(strategy.quantize, layer.name);
      const auto grid = strategy.quantize.weights.find(layer.name);
      if (precision == Precision::kInt8 && grid != strategy.quantize.weights.end()) {
        row.chosen = envs::Int8Word(grid->second.bits);
      }
      if (!run.task->OtherTargets(run.setup.config).empty()) {
        row.how = "on " + RunnerOf(strategy, layer.name) + (row.how.empty() ? "" : ", ") + row.how;
      }
    }
    if (const auto share = kept.find(layer.name); share != kept.end()) row.kept = share->second;
    for (const LayerSensitivity& sensitivity : run.findings.sensitivities) {
      if (sensitivity.layer == layer.name && sensitivity.failure.empty()) {
        row.sensitivity = LossOf(run, sensitivity);
      }
    }
    row.before_ms = TimeOf(run.findings.profiles, 0, layer.name).ms;
    row.after_ms = TimeOf(run.findings.profiles, 1, layer.name).ms;
    layers.push_back(std::move(row));
  }
  return layers;
}

/// Returns a metric of a finalist in the unit of its axis.
std::optional<double> OnAxisOf(const ReportAxis& axis, const Evaluation& evaluation) {
  const auto value = Metric(evaluation, axis.metric);
  if (!value) return std::nullopt;
  return *value / axis.scale;
}

/// Returns the axes for which the table of finalists has no column of its own.
std::vector<ReportAxis> FinalAxes(const ReportInput& input) {
  std::vector<ReportAxis> axes;
  const auto add = [&](const ReportAxis& axis) {
    const bool shown = axis.metric == envs::kLatency || axis.metric == envs::kLatencyMs ||
                       axis.metric == envs::kWeightBytes;
    if (!shown) axes.push_back(axis);
  };
  add(input.latency);
  add(input.quality);
  for (const ReportAxis& axis : input.others) add(axis);
  return axes;
}

/// Returns the values by final axis, without an interval: only the speed-up has one, in its own
/// column.
std::vector<std::optional<Measured>> MeansOf(const std::vector<ReportAxis>& axes,
                                             const Evaluation& evaluation) {
  std::vector<std::optional<Measured>> means;
  for (const ReportAxis& axis : axes) {
    const auto value = OnAxisOf(axis, evaluation);
    means.push_back(value ? std::optional(Measured{*value, *value, *value}) : std::nullopt);
  }
  return means;
}

std::vector<ReportFinalist> MakeFinalists(const Run& run, const std::vector<ReportAxis>& axes) {
  std::vector<ReportFinalist> rows;
  const Objective objective = ToObjective(run.setup.config.objective);
  for (const Finalist& finalist : run.findings.finalists) {
    ReportFinalist row{.label = "trial " + std::to_string(finalist.trial)};
    const Result<cost::Outcome>& result = finalist.result;
    if (!result.ok()) {
      row.feasible = false;
      row.note = result.failure().detail;
      rows.push_back(std::move(row));
      continue;
    }
    const Evaluation evaluation = EvaluationOf(finalist);
    row.speed_up = SpeedUp(result.value());
    row.latency_ms = Metric(evaluation, envs::kLatencyMs);
    row.means = MeansOf(axes, evaluation);
    row.weight_bytes = Metric(evaluation, envs::kWeightBytes);
    row.feasible = Violation(objective, evaluation) <= 0;
    const auto& latency = result.value().latency;
    if (latency && !latency->significant()) row.note = "difference not significant";
    if (latency && latency->noisy) row.note += row.note.empty() ? "noisy" : ", noisy";
    row.note += (row.note.empty() ? "" : ", ") + IntervalsText(result.value().quality);
    if (const auto& held_out = result.value().held_out) {
      row.note += "; on samples that no trial saw: " + IntervalsText(*held_out);
    }
    const std::string contradiction = ContradictionText(run.setup.config, result.value());
    if (!contradiction.empty()) row.note += "; " + contradiction;
    if (!row.feasible) row.note = "misses " + MissedText(objective, evaluation) + "; " + row.note;
    rows.push_back(std::move(row));
  }
  // The uncompressed model on other targets, timed with the finalists.
  for (const Compared& compared : run.findings.compared) {
    ReportFinalist row{.label = "f32 on " + compared.target};
    const Result<cost::Outcome>& result = compared.result;
    if (result.ok()) {
      row.speed_up = SpeedUp(result.value());
      const Evaluation evaluation = envs::ToEvaluation(result, "");
      row.latency_ms = Metric(evaluation, envs::kLatencyMs);
      row.means = MeansOf(axes, evaluation);
      row.weight_bytes = Metric(evaluation, envs::kWeightBytes);
    } else {
      row.note = result.failure().detail;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Returns which trials were rejected, and why.
std::string RejectedText(const Run& run) {
  if (run.findings.rejected.empty()) return "";
  std::string trials;
  for (const Rejected& rejected : run.findings.rejected) {
    trials += (trials.empty() ? "" : ", ") + std::to_string(rejected.trial);
  }
  return "Rejected, because they keep the limits on the samples of trials, but miss one on these "
         "samples: trials " +
         trials + ".";
}

/// Assigns to each task the first trial with the same strategy.
std::vector<ReportTask> MakeTasks(const Run& run) {
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

std::vector<ReportFact> MakeFacts(const Run& run) {
  const cost::MachineFacts& machine = run.setup.machine;
  std::vector<ReportFact> facts = {
      {"CPU", machine.cpu},
      {"cores", std::to_string(machine.cores)},
      {"threads per candidate", std::to_string(run.setup.config.threads)},
      {"memory", std::to_string(machine.memory_bytes >> 20U) + " MiB"},
      {"virtual machine", machine.virtual_machine ? "yes" : "no"},
      {"kernel", machine.kernel},
      {"system", machine.os},
  };
  for (const auto& [name, version] : machine.libraries) facts.push_back({name, version});
  facts.push_back({"model hash", run.setup.model_hash});
  facts.push_back({"samples per trial", std::to_string(run.setup.config.quality.samples)});
  if (run.findings.judged > 0) {
    facts.push_back({"samples of finalists", std::to_string(run.findings.judged)});
  }
  const bool energy = std::any_of(
      run.study.trials.begin(), run.study.trials.end(),
      [](const Trial& trial) { return Metric(trial.evaluation, envs::kEnergy).has_value(); });
  if (energy) facts.push_back({"energy", "read from the processor's counters during timing"});
  if (run.setup.known > 0) {
    facts.push_back({"trials of an earlier search", std::to_string(run.setup.known)});
  }
  if (run.findings.used_s > 0) {
    facts.push_back({"time", UsedText(run.findings.used_s, run.setup.config.time_budget_s)});
  }
  for (const std::string& what : run.findings.shortened) {
    facts.push_back({"cut short by time_budget_s", what});
  }
  if (!run.findings.pairs.empty()) facts.push_back({"8-bit sums", run.findings.pairs});
  return facts;
}

/// Adds information on choices that the winner did not take, besides trials.
void TellOthers(const Run& run, ReportInput& input) {
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
std::vector<ReportSample> MakeSamples(const Run& run) {
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

/// Returns the commands that use the best configuration. Paths with blanks are quoted.
std::vector<ReportCommand> ShippingCommands(const Run& run, const std::string& best) {
  const SearchConfig& config = run.setup.config;
  const std::string model = ShellWord(config.model);
  const std::string strategy = ShellWord(best + "/strategy.json");
  std::vector<ReportCommand> commands = {
      {"run the compiled model on this machine; without --input it gets random numbers",
       "mscgym run " + ShellWord(best + "/artefact")},
      {"compile it on another machine with the same kind of CPU",
       "mscgym compile " + model + " --strategy " + strategy + " --out artefact"},
      {"open it in ONNX Runtime",
       "python3 -c " + ShellWord("import onnxruntime; print([each.name for each in "
                                 "onnxruntime.InferenceSession(\"" +
                                 best + "/model.onnx\").get_inputs()])")}};
  const Strategy& chosen = run.findings.finalists.at(*run.findings.best).strategy;
  if (chosen.partition.empty()) {
    commands.push_back(
        {"write it as C++ that builds without dependencies",
         "mscgym export " + model + " --strategy " + strategy + " --to cpp --out model_cpp"});
    commands.push_back({"time it beside the uncompressed model and ONNX Runtime",
                        "mscgym bench " + model + " --targets " + ShellWord(config.target) +
                            " --precision f32 --strategy " + strategy + " --peer"});
  }
  return commands;
}

/// Adds how to use the best configuration, and the files of the run directory.
void TellShipping(const Run& run, const RunPaths& paths, ReportInput& input) {
  if (run.findings.best) {
    input.shipping = ShippingCommands(run, paths.best());
    input.files = {{"best/model.onnx", "the compressed model, for ONNX Runtime and other tools"},
                   {"best/strategy.json", "all decisions, for mscgym compile and export"},
                   {"best/artefact/", "the compiled model, for mscgym run and the C++ library"}};
  }
  if (!run.finished) return;
  input.files.push_back({"results.json", "what the final phase measured"});
  input.files.push_back({"pareto.json", "the Pareto set"});
  input.files.push_back({"sensitivity.csv", "the loss of each decision alone"});
  input.files.push_back({"trials.journal", "all that the search recorded"});
}

/// Fills in the parts of a report that only a search of compressed models has.
void TellModels(const Run& run, const RunPaths& paths, ReportInput& input) {
  input.headline = MakeHeadline(run);
  TellAxes(run.setup, input);
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
  const Run run = ReadRun(paths, tasks);
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
