#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"
#include "compiler/pipeline/fit.h"
#include "compiler/targets/target.h"
#include "cost/measure/latency.h"
#include "cost/measure/metric.h"
#include "cost/measure/metric_judge.h"
#include "cost/measure/metric_run.h"
#include "cost/model/labels.h"
#include "cost/quality/verdict.h"
#include "cost/samples/array_file.h"
#include "cost/samples/dataset.h"

namespace msc::cost {

/// How every candidate of a study is judged. Part of cache keys, so that outcomes with equal
/// settings are comparable.
struct EvaluationSettings {
  std::string target = "onednn";  ///< target of the uncompressed model
  int threads = 1;                ///< threads that run a candidate
  std::int64_t samples = 1000;    ///< samples to judge a trial on; 0 = all
  QualityLimits limits = {};      ///< a trial gets more samples while these are undecided
  std::map<std::string, Metric> metrics = {};  ///< users' own, by name
  std::int64_t most_samples = 0;               ///< most samples of such a trial; 0 = all
  std::int64_t batch = 50;                     ///< samples per call, for quality
  double f32_tolerance = 1e-3;   ///< largest error (see Closeness) if every layer stays f32
  double bf16_tolerance = 5e-2;  ///< largest error if no layer is narrower than bf16
  /// Least time limit of a busy quality child, which may have to build kernels first; for a fit, of
  /// each epoch. A slow uncompressed model lengthens it, see ChildTimeLimits.
  std::int64_t quality_ms = 300'000;
  /// The same for a latency child, in addition to the budgets in `latency`.
  std::int64_t latency_ms = 300'000;
  /// Memory limit of a child in MiB; 0 = that of LocalOptions. It does not change an outcome, but
  /// decides whether there is one.
  std::int64_t memory_mb = 0;
  bool energy = false;  ///< whether to measure energy as well
  LatencyOptions latency;
  bool operator==(const EvaluationSettings&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("target", self.target, "target that runs the uncompressed model");
    visit("threads", self.threads, "number of threads that a candidate runs on", Within{1, 1024});
    visit("samples", self.samples, "samples per trial; 0 = all", Within{0, 1e9});
    visit("limits", self.limits, "limits on quality");
    visit("metrics", self.metrics, "metrics of the user");
    visit("most_samples", self.most_samples,
          "samples for a trial that is too close to a limit to decide; 0 = all", Within{0, 1e9});
    visit("batch", self.batch, "samples per call, for quality", Within{1, 65536});
    visit("f32_tolerance", self.f32_tolerance, "largest relative error in f32", Within{0, 1});
    visit("bf16_tolerance", self.bf16_tolerance, "largest relative error in bf16", Within{0, 1});
    visit("quality_ms", self.quality_ms, "time limit of a quality child in milliseconds",
          Within{1, 1e8});
    visit("latency_ms", self.latency_ms, "time limit of a latency child in milliseconds",
          Within{1, 1e8});
    visit("memory_mb", self.memory_mb, "memory limit of a child in MiB; 0 = an equal share",
          Within{0, 1e8});
    visit("energy", self.energy, "measure energy beside time");
    visit("latency", self.latency, "how time is measured");
  }
};

/// An output with labels.
struct LabelledOutput {
  std::string output;
  LabelKind kind = LabelKind::kClasses;
  static void Fields(auto& self, auto& visit) {
    visit("output", self.output, "name of the output");
    visit("kind", self.kind, "how its labels are compared");
  }
};

/// Contents of a folder that is prepared for children that measure. Children only read it; no
/// process writes to it once it is complete.
struct PreparedFolder {
  std::string path;
  std::string graph_hash;    ///< GraphHash of the canonical graph
  std::string samples_hash;  ///< SHA-256 over inputs and labels
  std::int64_t samples = 0;
  std::int64_t inputs = 1;  ///< of the graph
  std::vector<std::string> input_names;
  std::int64_t outputs = 0;                        ///< of the graph
  bool labelled = false;                           ///< with class numbers, which metrics see
  std::vector<LabelledOutput> labels;              ///< outputs with labels
  OutputForms forms;                               ///< of the outputs
  std::map<std::string, OutputForm> given_forms;   ///< those of Preparation::forms
  std::vector<std::string> losses;                 ///< names of those that outcomes have
  std::map<std::string, MetricReference> metrics;  ///< of the uncompressed model
  EvaluationSettings settings;
  std::string fit_hash;  ///< FitHash of the calibration samples; empty if there are none
  FitOptions fit;        ///< how candidates are fitted to them
  /// Time to build the uncompressed model and to run it on all samples, measured when the folder
  /// was prepared; 0 in folders of earlier versions.
  double build_ms = 0;
  double run_ms = 0;
};

/// Input of PrepareFolder. The graph is canonical; graph and samples must outlive the call.
struct Preparation {
  const Graph* graph = nullptr;
  const SampleSet* samples = nullptr;
  EvaluationSettings settings;
  const SampleSource* calibration = nullptr;     ///< for fitting candidates; nullptr = none
  FitOptions fit = {};                           ///< how to fit; its forms follow from `forms`
  std::map<std::string, OutputForm> forms = {};  ///< by output; others follow from what they hold
  MetricHost metric_host = {};                   ///< runs settings.metrics
  /// Is told what the labels are taken for, if not nullptr (BoundLabels::notes).
  std::function<void(const std::string& line)> say = nullptr;
};

/// Time to build the uncompressed model, and to run it on all samples one call after the other.
struct ReferenceTime {
  double build_ms = 0;
  double run_ms = 0;
};

/// Returns the outputs of the uncompressed graph for all samples, computed in f32 by
/// settings.target, as one [N, ...] per output. UserError if the model does not take these samples
/// or the target does not support the model.
[[nodiscard]] std::vector<Tensor> ReferenceOutputs(const Preparation& preparation,
                                                   const TargetRegistry& targets,
                                                   ReferenceTime* time = nullptr);

/// Computes the reference outputs, chooses their forms (ChooseForms), finds what labels belong to
/// (BindLabels), and writes graph.json, graph.weights, inputs.npy, labels.npy with class numbers,
/// label_ends_<i>.npy and label_numbers_<i>.npy with labels of any kind, reference_<i>.npy and
/// calibration.npy, inputs_<i>.npy and calibration_<i>.npy for further inputs, metric_NAME.npy with
/// the values of a user's metric for each sample, and last evaluation.json, which marks the folder
/// as complete. UserError as BindLabels and MetricJudge::MeasureReference.
PreparedFolder PrepareFolder(const std::string& path, const Preparation& preparation,
                             const TargetRegistry& targets);

/// Changes settings.memory_mb, which may differ between starts of a search. Must be called before
/// children measure.
void SetMemory(PreparedFolder& folder, std::int64_t memory_mb);

/// Reads evaluation.json only. UserError if it is missing or damaged.
[[nodiscard]] PreparedFolder OpenFolder(const std::string& path);

/// Returns the size of the file with the canonical graph's weights. SystemError if it is missing.
[[nodiscard]] std::int64_t WeightFileBytes(const PreparedFolder& folder);

/// Load parts of a prepared folder; only the requested rows are read.
[[nodiscard]] Graph LoadCanonical(const PreparedFolder& folder);
[[nodiscard]] std::vector<Tensor> LoadInputs(const PreparedFolder& folder, const RowRange& rows);
[[nodiscard]] std::vector<std::int32_t> LoadLabels(const PreparedFolder& folder,
                                                   const RowRange& rows);
/// Returns the labels of all outputs that have any.
[[nodiscard]] std::vector<OutputLabels> LoadOutputLabels(const PreparedFolder& folder,
                                                         const RowRange& rows);
/// Returns the calibration samples, which are read on demand. InternalError if the folder has none.
[[nodiscard]] std::unique_ptr<SampleSource> OpenCalibration(const PreparedFolder& folder);
[[nodiscard]] std::vector<Tensor> LoadReference(const PreparedFolder& folder, const RowRange& rows);

/// Returns what measures the users' metrics of candidates; nullptr if there are none.
[[nodiscard]] std::unique_ptr<MetricJudge> OpenMetrics(const PreparedFolder& folder,
                                                       const MetricHost& host);
/// Returns the files with a candidate's outputs in `outputs`, by number: output_<i>.npy. Their
/// first row is that of the sample `first`.
[[nodiscard]] std::vector<ArrayFile> OutputFiles(const PreparedFolder& folder,
                                                 const std::string& outputs, std::int64_t first);

}  // namespace msc::cost
