#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fitted.h"
#include "gym/app/search_run.h"

namespace msc::gym {
namespace {

/// A field of a CSV file (RFC 4180): quoted, so that a hostile name stays one field.
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

void WriteBest(const SearchConfig& config, const RunPaths& paths, const Prepared& prepared,
               const Strategy& strategy) {
  MakeFolders(paths.best());
  // Of an earlier best, before the search was resumed.
  std::filesystem::remove(paths.best() + "/strategy.weights");
  SaveStrategy(strategy, paths.best() + "/strategy.json");
  ExportOnnx(ApplyStrategy(*prepared.graph, strategy), paths.best() + "/model.onnx");
  WriteArtefact(paths.best() + "/artefact", *prepared.graph, strategy, prepared.targets,
                {.threads = config.threads, .bindings = BatchBindings(*prepared.graph, 1)});
}

std::string Line(const char* name, const Evaluation& evaluation) {
  char text[160] = "";  // NOLINT(modernize-avoid-c-arrays): snprintf
  const auto metric = [&](const char* key) {
    const auto it = evaluation.metrics.find(key);
    return it == evaluation.metrics.end() ? 0.0 : it->second;
  };
  std::snprintf(text, sizeof text, "  %-22s %9.3f ms  %6.2fx  %+8.2f  %9.5f  %8.2f MB\n", name,
                metric("latency_ms"), 1 / std::max(1e-9, metric("latency")),
                -metric("accuracy_drop"), metric("distill_loss"), metric("weight_bytes") * 1e-6);
  return text;
}

}  // namespace

std::string ParetoJson(const StudyResult& study) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::size_t index : study.pareto) {
    const Trial& trial = study.trials[index];
    list.push_back({{"trial", trial.number},
                    {"source", trial.source},
                    {"assignment", trial.assignment},
                    {"metrics", trial.evaluation.metrics}});
  }
  return list.dump(2) + "\n";
}

void WriteResults(const SearchConfig& config, const RunPaths& paths, const Prepared& prepared,
                  const SearchResult& result) {
  WriteFileAtomic(paths.At("pareto.json"), ParetoJson(result.study));
  WriteFileAtomic(paths.At("sensitivity.csv"), SensitivityCsv(result.findings));
  const Findings& findings = result.findings;
  if (findings.best) {
    WriteBest(config, paths, prepared, findings.finalists[*findings.best].strategy);
  } else if (result.so_far) {
    WriteBest(config, paths, prepared, *result.so_far);
  }
  WriteFileAtomic(paths.At("results.json"), ToJsonText(findings, 1) + "\n");
  WriteReport(paths);
}

std::string Summary(const SearchConfig& config, const RunPaths& paths, const SearchResult& result) {
  const StudyResult& study = result.study;
  std::size_t failed = 0;
  for (const Trial& trial : study.trials) failed += trial.evaluation.failure ? 1 : 0;
  std::size_t dropped = 0;
  for (const Trial& trial : study.trials) dropped += trial.evaluation.dropped ? 1 : 0;
  std::ostringstream text;
  text << "\n" << study.trials.size() << " trials, " << failed << " failed";
  if (dropped > 0) text << ", " << dropped << " dropped after a rough measurement";
  text << "\n";
  text << "  configuration            latency  faster  accuracy  loss KL     weights\n";
  for (std::size_t i = 0; i < result.findings.finalists.size(); ++i) {
    const Finalist& finalist = result.findings.finalists[i];
    const Evaluation evaluation = EvaluationOf(finalist);
    const bool best = result.findings.best && *result.findings.best == i;
    const std::string name = (best ? "best: trial " : "trial ") + std::to_string(finalist.trial);
    if (evaluation.failure) {
      text << "  " << name << " failed: " << evaluation.failure->detail << '\n';
    } else {
      text << Line(name.c_str(), evaluation);
    }
  }
  if (result.findings.best) {
    text << "best: " << paths.best() << "/strategy.json, model.onnx, artefact\n";
  } else if (result.so_far && study.best) {
    const Trial& trial = study.trials[*study.best];
    text << Line(("so far: trial " + std::to_string(trial.number)).c_str(), trial.evaluation)
         << "best so far, not measured again: " << paths.best()
         << "/strategy.json, model.onnx, artefact\n";
  } else if (!result.findings.finalists.empty()) {
    text << "nothing keeps the constraints:";
    for (const auto& [metric, limit] : config.objective.subject_to) {
      text << ' ' << metric << " <= " << limit;
    }
    text << "; pareto.json has the trade-offs\n";
  }
  text << "report: " << paths.At("report.html") << '\n';
  return text.str();
}

}  // namespace msc::gym
