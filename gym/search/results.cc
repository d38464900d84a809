#include "gym/search/results.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/export_onnx.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/pairs.h"
#include "compiler/pipeline/samples.h"
#include "cost/samples/dataset.h"
#include "envs/common/evaluation.h"
#include "gym/search/compared.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/held_out.h"
#include "gym/search/losses.h"
#include "gym/search/model.h"
#include "gym/search/phase_time.h"
#include "gym/search/prepare.h"
#include "gym/search/run_files.h"
#include "gym/search/run_paths.h"
#include "gym/search/search_result.h"
#include "gym/search/text.h"
#include "gym/search/winner.h"

namespace msc::gym {
namespace {

/// Returns a quoted field of a CSV file (RFC 4180), so that any layer name stays one field.
std::string CsvText(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + "\"";
}

std::string SensitivityCsv(const Findings& findings) {
  std::ostringstream csv;
  csv.precision(9);
  std::set<std::string> losses;
  for (const LayerSensitivity& row : findings.sensitivities) {
    for (const auto& [name, loss] : row.losses) losses.insert(name);
  }
  csv << "layer,choice";
  for (const std::string& name : losses) csv << ',' << CsvText(name);
  csv << ",failure\n";
  for (const LayerSensitivity& row : findings.sensitivities) {
    csv << CsvText(row.layer) << ',' << CsvText(row.choice);
    for (const std::string& name : losses) {
      csv << ',';
      if (const auto loss = row.losses.find(name); loss != row.losses.end()) csv << loss->second;
    }
    csv << ',' << CsvText(row.failure) << '\n';
  }
  return csv.str();
}

/// Writes model.onnx for any reader, and model.NAME.onnx for those whose form differs from it.
/// Returns their notes by name of the file.
std::map<std::string, std::vector<std::string>> WriteModels(const std::string& folder,
                                                            const Graph& graph,
                                                            const Strategy& strategy) {
  std::map<std::string, std::vector<std::string>> notes;
  std::optional<Graph> plain;
  for (const ReaderRules& reader : AllReaders()) {
    const std::string name =
        plain ? "model." + std::string(reader.name) + ".onnx" : std::string("model.onnx");
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::filesystem::remove(path);  // of an earlier run before the resume
    ReaderModel model = ModelForReader(graph, strategy, reader);
    if (plain && SameGraph(*plain, model.graph)) continue;
    WriteFileAtomic(path.string(), WriteForReader(model, reader).bytes);
    notes.emplace(name, std::move(model.notes));
    if (!plain) plain = std::move(model.graph);
  }
  return notes;
}

/// Returns "strategy.json, model.onnx, model.onnxruntime.onnx, artefact".
std::string FilesText(const Findings& findings) {
  std::string text = "strategy.json";
  for (const auto& [name, notes] : findings.models) text += ", " + name;
  return text + ", artefact";
}

/// Returns what model.onnx does not hold of the strategy, one line each.
std::string LostLines(const Findings& findings) {
  std::string lines;
  const auto plain = findings.models.find("model.onnx");
  if (plain == findings.models.end()) return lines;
  for (const std::string& note : plain->second) lines += "  model.onnx: " + note + '\n';
  return lines;
}

void WriteConfiguration(const SearchConfig& config, const std::string& folder,
                        const Prepared& prepared, const Strategy& strategy, Findings& findings) {
  MakeFolders(folder);
  // Remove a file of an earlier run before the resume.
  std::filesystem::remove(folder + "/strategy.weights");
  SaveStrategyFor(*prepared.graph, strategy, folder + "/strategy.json");
  findings.models = WriteModels(folder, *prepared.graph, strategy);
  WriteArtefact(folder + "/artefact", *prepared.graph, strategy, prepared.targets,
                {.threads = config.threads, .bindings = BatchBindings(*prepared.graph, 1)});
}

/// Returns a text on the loss of a strategy's int8 layers in kernels without VNNI, from a few
/// samples.
std::string PairsOf(const SearchConfig& config, const Prepared& prepared,
                    const Strategy& strategy) {
  const auto is_int8 = [](const auto& layer) { return layer.second == Precision::kInt8; };
  const auto& layers = strategy.quantize.layers;
  if (std::none_of(layers.begin(), layers.end(), is_int8)) return "";
  constexpr std::int64_t kSamples = 8;
  const std::int64_t count = BatchSize(*prepared.graph, kSamples);
  cost::DataConfig data = config.quality.data;
  data.count = count;
  data.or_fewer = true;
  const std::vector<Tensor> samples = cost::LoadSampleSet(data, FormsOf(*prepared.graph)).inputs;
  Strategy f32 = strategy;
  f32.quantize = {};
  const auto worst = FindWorstPairs(CheckPairs(
      strategy.quantize, ApplyStrategy(*prepared.graph, f32), TensorSamples(samples),
      {.target = config.target, .threads = config.threads, .batch = count}, prepared.targets));
  return worst ? PairsText(*worst, DetectIsa().vnni) : std::string();
}

constexpr int kColumn = 15;  // width of a loss; the longest name is cosine_distance

/// Returns the head of the table of configurations with these losses.
std::string HeadLine(const std::vector<std::string>& losses) {
  std::string head = Formatted("  %-22s %12s  %7s", "configuration", "latency", "faster");
  for (const std::string& name : losses) head += Formatted("  %*s", kColumn, name.c_str());
  return head + Formatted("  %11s", "weights") + '\n';
}

/// Returns a row of the table that ends in `more`.
std::string Line(const std::string& name, const Evaluation& evaluation,
                 const std::vector<std::string>& losses, const std::string& more = "") {
  const auto metric = [&](std::string_view key) {
    const auto it = evaluation.metrics.find(std::string(key));
    return it == evaluation.metrics.end() ? std::optional<double>() : it->second;
  };
  std::string line =
      Formatted("  %-22s %9.3f ms  %6.2fx", name.c_str(), metric(envs::kLatencyMs).value_or(0),
                1 / std::max(1e-9, metric(envs::kLatency).value_or(0)));
  for (const std::string& loss : losses) {
    const std::optional<double> value = metric(loss);
    line += Formatted("  %*s", kColumn, value ? FormatLoss(loss, *value).c_str() : "-");
  }
  line += Formatted("  %8.2f MB", metric(envs::kWeightBytes).value_or(0) * 1e-6);
  return line + (more.empty() ? "" : "  " + more) + '\n';
}

/// Returns the losses that the table shows, of those that the finalists have.
std::vector<std::string> LossColumns(const SearchConfig& config, const Findings& findings,
                                     const std::optional<Trial>& so_far) {
  std::set<std::string> measured;
  const auto add = [&](const Evaluation& evaluation) {
    for (const auto& [name, value] : evaluation.metrics) measured.insert(name);
  };
  for (const Finalist& finalist : findings.finalists) add(EvaluationOf(finalist));
  if (so_far) add(so_far->evaluation);
  return ShownLosses(config, {measured.begin(), measured.end()});
}

/// Returns the result of the best on held-out samples; empty if these were not judged separately.
std::string HeldOutLines(const SearchConfig& config, const cost::Outcome& best) {
  if (!best.held_out) return "";
  std::string text = "on the " + std::to_string(best.held_out->samples) +
                     " samples that no trial saw: " + IntervalsText(*best.held_out) + '\n';
  const std::string contradiction = ContradictionText(config, best);
  if (contradiction.empty()) return text;
  return text + "warning: " + contradiction +
         "; the best was chosen because all samples together keep the limit: set \"finalists\": "
         "\"others\" in 'quality', or give more samples\n";
}

/// Returns the rows of other targets, one line each.
std::string ComparedLines(const Findings& findings, const std::vector<std::string>& losses) {
  std::string rows;
  for (const Compared& compared : findings.compared) {
    const std::string name = (compared.exported ? "best on " : "f32 on ") + compared.target;
    const Result<cost::Outcome>& result = compared.result;
    if (!result.ok()) {
      rows += "  " + name + (compared.version.empty() ? " was not timed: " : " failed: ") +
              result.failure().detail + '\n';
      continue;
    }
    const Evaluation evaluation = envs::ToEvaluation(result, "");
    rows += Line(name, evaluation, losses, EnergyText(result.value()));
  }
  return rows;
}

std::string SpeedText(const SpeedRatio& speed, const std::string& other) {
  return Formatted("the best is %.2fx as fast as %s", speed.value, other.c_str()) +
         Formatted(" (95 %%: %.2fx to %.2fx", speed.low, speed.high) +
         (speed.significant() ? ")\n" : ", no significant difference)\n");
}

/// Returns how the best compares with the fastest baseline among the other finalists.
std::string BaselineLines(const SearchResult& result) {
  const Findings& findings = result.findings;
  if (!findings.best) return "";
  const auto baseline_of = [&](const Finalist& finalist) {
    const auto trial = std::ranges::find(result.study.trials, finalist.trial, &Trial::number);
    return trial == result.study.trials.end() ? "" : BaselineOf(*trial);
  };
  const auto latency_of = [](const Finalist& finalist) -> const cost::Latency* {
    const bool timed = finalist.result.ok() && finalist.result.value().latency;
    return timed ? &*finalist.result.value().latency : nullptr;
  };
  const Finalist& best = findings.finalists[*findings.best];
  const std::string own = baseline_of(best);
  std::string lines;
  if (!own.empty()) {
    lines = "the best is a baseline, " + own + ": the search found nothing better\n";
  }
  const cost::Latency* of_best = latency_of(best);
  const Finalist* fastest = nullptr;
  const cost::Latency* of_fastest = nullptr;
  for (const Finalist& finalist : findings.finalists) {
    if (&finalist == &best || baseline_of(finalist).empty()) continue;
    const cost::Latency* latency = latency_of(finalist);
    if (latency == nullptr || (of_fastest != nullptr && latency->ratio >= of_fastest->ratio)) {
      continue;
    }
    fastest = &finalist;
    of_fastest = latency;
  }
  if (of_best != nullptr && of_fastest != nullptr) {
    lines += SpeedText(SpeedAgainst(*of_best, *of_fastest),
                       baseline_of(*fastest) + (own.empty() ? ", the best without a search" : ""));
  }
  return lines;
}

/// Returns how the best compares with other targets, one line each.
std::string AgainstLines(const Findings& findings) {
  std::string lines;
  for (const Compared& compared : findings.compared) {
    const auto speed = BestAgainst(findings, compared);
    if (!speed) continue;
    lines += SpeedText(*speed, WhatOf(compared));
  }
  return lines;
}

}  // namespace

Findings WriteResults(const SearchTask& task, const SearchConfig& config, const RunPaths& paths,
                      const Prepared& prepared, const SearchResult& result) {
  WriteFileAtomic(paths.At("pareto.json"), ParetoJson(ToObjective(config.objective), result.study));
  WriteFileAtomic(paths.At("sensitivity.csv"), SensitivityCsv(result.findings));
  Findings findings = result.findings;
  findings.suspicions = SuspicionsOfBest(config, findings);
  for (Compared& compared : findings.compared) compared.best = BestAgainst(findings, compared);
  std::filesystem::remove_all(paths.nearest());  // left by an earlier run before the resume
  // The best trial, kept there during the search, turned out to miss a limit.
  if (findings.nearest) std::filesystem::remove_all(paths.best());
  if (findings.best) {
    const Strategy& best = findings.finalists[*findings.best].strategy;
    WriteConfiguration(config, paths.best(), prepared, best, findings);
    findings.pairs = PairsOf(config, prepared, best);
    task.AddFindings(*prepared.graph, best, findings);
  } else if (result.so_far) {
    WriteConfiguration(config, paths.best(), prepared, *result.so_far, findings);
  } else if (findings.nearest) {
    WriteConfiguration(config, paths.nearest(), prepared,
                       findings.finalists[*findings.nearest].strategy, findings);
  }
  WriteFileAtomic(paths.results(), ResultsJson(findings));
  return findings;
}

std::string SummaryText(const SearchConfig& config, const RunPaths& paths,
                        const SearchResult& result) {
  const StudyResult& study = result.study;
  std::ostringstream text;
  text << "\n"
       << CountsText(study) << "\ntrials ended: " << EndText(study.stop, ToStopRules(config.stop))
       << "\n";
  const std::string volume = VolumeText(ToObjective(config.objective), study.trials);
  if (!volume.empty()) text << volume << " (of trials that keep the limits)\n";
  const std::vector<std::string> losses =
      LossColumns(config, result.findings,
                  study.best ? std::optional(study.trials[*study.best]) : std::nullopt);
  text << HeadLine(losses);
  for (std::size_t i = 0; i < result.findings.finalists.size(); ++i) {
    const Finalist& finalist = result.findings.finalists[i];
    const Evaluation evaluation = EvaluationOf(finalist);
    const bool best = result.findings.best && *result.findings.best == i;
    const std::string name = (best ? "best: trial " : "trial ") + std::to_string(finalist.trial);
    if (evaluation.failure) {
      text << "  " << name << " failed: " << evaluation.failure->detail << '\n';
    } else {
      text << Line(name, evaluation, losses, EnergyText(finalist.result.value()));
    }
  }
  text << ComparedLines(result.findings, losses);
  if (const std::string judged = JudgedText(result.findings); !judged.empty()) {
    text << "finalists were timed " << TimedText(result.findings) << ", and " << judged << '\n';
  }
  text << ShortenedLines(result.findings);
  text << WarningLines(result.findings);
  if (!result.findings.rejected.empty()) {
    text << result.findings.rejected.size()
         << " candidates were rejected: they keep the limits on the samples of trials, but miss "
            "one on these samples\n";
  }
  if (result.findings.best) {
    text << "best: " << paths.best() << "/" << FilesText(result.findings) << '\n'
         << LostLines(result.findings);
    const Finalist& best = result.findings.finalists[*result.findings.best];
    if (best.result.ok()) {
      const cost::Outcome& outcome = best.result.value();
      text << "with 95 % intervals: " << IntervalsText(outcome) << '\n'
           << HeldOutLines(config, outcome) << BaselineLines(result)
           << AgainstLines(result.findings);
      text << SuspicionLines(SuspicionsOfBest(config, result.findings));
      if (IsSlower(outcome)) text << "the best is slower than the uncompressed model\n";
    }
  } else if (result.so_far && study.best) {
    const Trial& trial = study.trials[*study.best];
    text << Line("so far: trial " + std::to_string(trial.number), trial.evaluation, losses)
         << "best so far, not measured again: " << paths.best() << "/" << FilesText(result.findings)
         << '\n';
  } else if (!result.findings.finalists.empty()) {
    text << "no candidate keeps the constraints: " << ConstraintText(config.objective)
         << "; pareto.json lists the trade-offs\n";
    if (const auto nearest = result.findings.nearest) {
      text << "nearest: trial " << result.findings.finalists[*nearest].trial << ", "
           << paths.nearest() << "/" << FilesText(result.findings) << '\n';
    }
  }
  text << UsedText(result.findings.used_s, config.time_budget_s) << '\n';
  text << "report: " << paths.At("report.html") << '\n';
  return text.str();
}

}  // namespace msc::gym
