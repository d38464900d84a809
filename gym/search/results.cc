#include "gym/search/results.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/pairs.h"
#include "compiler/pipeline/samples.h"
#include "cost/samples/dataset.h"
#include "envs/common/evaluation.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/held_out.h"
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
  csv << "layer,choice,distill_loss,mse,accuracy_drop,failure\n";
  for (const LayerSensitivity& row : findings.sensitivities) {
    csv << CsvText(row.layer) << ',' << CsvText(row.choice) << ',';
    if (row.failure.empty()) csv << row.distill_loss << ',' << row.mse;
    if (!row.failure.empty()) csv << ',';
    csv << ',';
    if (row.accuracy_drop) csv << *row.accuracy_drop;
    csv << ',' << CsvText(row.failure) << '\n';
  }
  return csv.str();
}

void WriteConfiguration(const SearchConfig& config, const std::string& folder,
                        const Prepared& prepared, const Strategy& strategy) {
  MakeFolders(folder);
  // Remove a file of an earlier run before the resume.
  std::filesystem::remove(folder + "/strategy.weights");
  SaveStrategy(strategy, folder + "/strategy.json");
  ExportOnnx(ApplyStrategy(*prepared.graph, strategy), folder + "/model.onnx");
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

/// Returns a row of the table that ends in `more`.
std::string Line(const char* name, const Evaluation& evaluation, const std::string& more = "") {
  const auto metric = [&](const char* key) {
    const auto it = evaluation.metrics.find(key);
    return it == evaluation.metrics.end() ? 0.0 : it->second;
  };
  return Formatted("  %-22s %9.3f ms  %6.2fx  %8s  %9.5f  %8.2f MB", name, metric("latency_ms"),
                   1 / std::max(1e-9, metric("latency")),
                   SignedPoints(-metric("accuracy_drop")).c_str(), metric("distill_loss"),
                   metric("weight_bytes") * 1e-6) +
         (more.empty() ? "" : "  " + more) + '\n';
}

/// Returns the result of the best on held-out samples; empty if these were not judged separately.
std::string HeldOutLines(const SearchConfig& config, const cost::Outcome& best) {
  if (!best.held_out) return "";
  std::string text = "on the " + std::to_string(best.held_out->samples) +
                     " samples that no trial saw: " + IntervalsText(*best.held_out) + '\n';
  const std::string contradiction = ContradictionText(config.objective, best);
  if (contradiction.empty()) return text;
  return text + "warning: " + contradiction +
         "; the best was chosen because all samples together keep the limit: set \"finalists\": "
         "\"others\" in 'quality', or give more samples\n";
}

/// Compares the best with the uncompressed model on other targets, one line each.
std::string ComparedLines(const Findings& findings) {
  std::string rows;
  std::string verdicts;
  for (const Compared& compared : findings.compared) {
    const std::string name = "f32 on " + compared.target;
    const Result<cost::Outcome>& result = compared.result;
    if (!result.ok()) {
      rows += "  " + name + " failed: " + result.failure().detail + '\n';
      continue;
    }
    const Evaluation evaluation = envs::ToEvaluation(result, "");
    rows += Line(name.c_str(), evaluation, EnergyText(result.value()));
    if (!findings.best) continue;
    const std::string latency(envs::kLatency);
    const double best = EvaluationOf(findings.finalists.at(*findings.best)).metrics.at(latency);
    verdicts += Formatted("the best is %.2fx as fast as %s\n",
                          evaluation.metrics.at(latency) / best, name.c_str());
  }
  return rows + verdicts;
}

}  // namespace

Findings WriteResults(const SearchTask& task, const SearchConfig& config, const RunPaths& paths,
                      const Prepared& prepared, const SearchResult& result) {
  WriteFileAtomic(paths.At("pareto.json"), ParetoJson(ToObjective(config.objective), result.study));
  WriteFileAtomic(paths.At("sensitivity.csv"), SensitivityCsv(result.findings));
  Findings findings = result.findings;
  std::filesystem::remove_all(paths.nearest());  // left by an earlier run before the resume
  if (findings.best) {
    const Strategy& best = findings.finalists[*findings.best].strategy;
    WriteConfiguration(config, paths.best(), prepared, best);
    findings.pairs = PairsOf(config, prepared, best);
    task.AddFindings(*prepared.graph, best, findings);
  } else if (result.so_far) {
    WriteConfiguration(config, paths.best(), prepared, *result.so_far);
  } else if (findings.nearest) {
    WriteConfiguration(config, paths.nearest(), prepared,
                       findings.finalists[*findings.nearest].strategy);
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
  text << "  configuration            latency  faster  accuracy  loss KL     weights\n";
  for (std::size_t i = 0; i < result.findings.finalists.size(); ++i) {
    const Finalist& finalist = result.findings.finalists[i];
    const Evaluation evaluation = EvaluationOf(finalist);
    const bool best = result.findings.best && *result.findings.best == i;
    const std::string name = (best ? "best: trial " : "trial ") + std::to_string(finalist.trial);
    if (evaluation.failure) {
      text << "  " << name << " failed: " << evaluation.failure->detail << '\n';
    } else {
      text << Line(name.c_str(), evaluation, EnergyText(finalist.result.value()));
    }
  }
  text << ComparedLines(result.findings);
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
    text << "best: " << paths.best() << "/strategy.json, model.onnx, artefact\n";
    const Finalist& best = result.findings.finalists[*result.findings.best];
    if (best.result.ok()) {
      const cost::Outcome& outcome = best.result.value();
      text << "with 95 % intervals: " << IntervalsText(outcome) << '\n'
           << HeldOutLines(config, outcome);
      if (IsSlower(outcome)) text << "the best is slower than the uncompressed model\n";
    }
  } else if (result.so_far && study.best) {
    const Trial& trial = study.trials[*study.best];
    text << Line(("so far: trial " + std::to_string(trial.number)).c_str(), trial.evaluation)
         << "best so far, not measured again: " << paths.best()
         << "/strategy.json, model.onnx, artefact\n";
  } else if (!result.findings.finalists.empty()) {
    text << "no candidate keeps the constraints: " << ConstraintText(config.objective)
         << "; pareto.json lists the trade-offs\n";
    if (const auto nearest = result.findings.nearest) {
      text << "nearest: trial " << result.findings.finalists[*nearest].trial << ", "
           << paths.nearest() << "/strategy.json, model.onnx, artefact\n";
    }
  }
  text << UsedText(result.findings.used_s, config.time_budget_s) << '\n';
  text << "report: " << paths.At("report.html") << '\n';
  return text.str();
}

}  // namespace msc::gym
