#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"
#include "compiler/ir/tensor.h"
#include "compiler/pipeline/fit.h"
#include "compiler/targets/target.h"
#include "cost/measure/latency.h"
#include "cost/quality/array_file.h"
#include "cost/quality/dataset.h"
#include "cost/quality/verdict.h"

namespace msc::cost {

/// How every candidate of one study is judged: enters cache keys, so two outcomes with equal
/// settings can be compared.
struct EvaluationSettings {
  std::string target = "onednn";  ///< who runs the uncompressed model that is compared with
  int threads = 1;                ///< a candidate runs on
  std::int64_t samples = 1000;    ///< each trial is judged on; 0 = all
  QualityLimits limits = {};      ///< while these leave open what a trial is, it sees more,
  std::int64_t most_samples = 0;  ///< up to so many; 0 = all
  std::int64_t batch = 50;        ///< samples a call, for quality
  double f32_tolerance = 1e-3;    ///< of the output's range, where every layer stays f32
  double bf16_tolerance = 5e-2;   ///< likewise, where none is narrower than bf16
  /// Least patience with a quality child that is busy, which may have to build kernels first; with
  /// a fit, an epoch. What the uncompressed model takes (PreparedFolder) lengthens it.
  std::int64_t quality_ms = 300'000;
  std::int64_t latency_ms = 300'000;  ///< with a latency child, beyond the budgets in `latency`
  /// Memory of a child; 0 = as whoever starts it says (LocalOptions). No outcome depends on it, but
  /// for whether there is one.
  std::int64_t memory_mb = 0;
  bool energy = false;  ///< of a call is measured beside its time
  LatencyOptions latency;
  bool operator==(const EvaluationSettings&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("target", self.target, "who runs the uncompressed model");
    visit("threads", self.threads, "threads a candidate runs on", Within{1, 1024});
    visit("samples", self.samples, "samples a trial; 0 = all", Within{0, 1e9});
    visit("limits", self.limits, "what quality must keep");
    visit("most_samples", self.most_samples, "a trial that is open; 0 = all", Within{0, 1e9});
    visit("batch", self.batch, "samples a call, for quality", Within{1, 65536});
    visit("f32_tolerance", self.f32_tolerance, "largest relative error in f32", Within{0, 1});
    visit("bf16_tolerance", self.bf16_tolerance, "largest relative error in bf16", Within{0, 1});
    visit("quality_ms", self.quality_ms, "patience with a quality child", Within{1, 1e8});
    visit("latency_ms", self.latency_ms, "patience with a latency child", Within{1, 1e8});
    visit("memory_mb", self.memory_mb, "memory of a child; 0 = a share", Within{0, 1e8});
    visit("energy", self.energy, "measure energy beside time");
    visit("latency", self.latency, "how time is measured");
  }
};

/// What a folder holds for measuring children, and where. They read it; nobody writes to it once it
/// is there.
struct PreparedFolder {
  std::string path;
  std::string graph_hash;    ///< GraphHash of the canonical graph
  std::string samples_hash;  ///< SHA-256 over inputs and labels
  std::int64_t samples = 0;
  std::int64_t inputs = 1;   ///< of the graph
  std::int64_t outputs = 0;  ///< likewise
  bool labelled = false;
  EvaluationSettings settings;
  std::string fit_hash;  ///< FitHash of the calibration samples; empty = there are none
  FitOptions fit;        ///< how candidates are fitted to them
  /// What the uncompressed model took to be built and to run on all samples, when the folder was
  /// prepared. 0 in a folder that an earlier version prepared.
  double build_ms = 0;
  double run_ms = 0;
};

/// What is prepared. The graph is canonical and outlives the call, as the samples do.
struct Preparation {
  const Graph* graph = nullptr;
  const SampleSet* samples = nullptr;
  EvaluationSettings settings;
  const SampleSource* calibration = nullptr;  ///< to fit candidates to; nullptr = none
  FitOptions fit = {};                        ///< how
};

/// Milliseconds of building the uncompressed model, and of running it on all samples.
struct ReferenceTime {
  double build_ms = 0;
  double run_ms = 0;
};

/// Outputs of the uncompressed graph for all samples, in f32 by settings.target: for each output
/// [N, ...]. UserError where the model takes no such samples, or the target does not take the
/// model.
[[nodiscard]] std::vector<Tensor> ReferenceOutputs(const Preparation& preparation,
                                                   const TargetRegistry& targets,
                                                   ReferenceTime* time = nullptr);

/// Writes graph.json and graph.weights, inputs.npy, labels.npy, reference_<i>.npy,
/// calibration.npy, of further inputs inputs_<i>.npy and calibration_<i>.npy, and last
/// evaluation.json, which marks the folder as complete. Computes the reference outputs.
PreparedFolder PrepareFolder(const std::string& path, const Preparation& preparation,
                             const TargetRegistry& targets);

/// Changes settings.memory_mb, which may differ from one start of a search to the next. Before
/// anybody measures.
void SetMemory(PreparedFolder& folder, std::int64_t memory_mb);

/// Reads evaluation.json only. UserError if it is not there or damaged.
[[nodiscard]] PreparedFolder OpenFolder(const std::string& path);

/// Size of the file with the weights of the canonical graph. SystemError if it is not there.
[[nodiscard]] std::int64_t WeightFileBytes(const PreparedFolder& folder);

/// Parts of a prepared folder, read when needed; only the rows that are asked for.
[[nodiscard]] Graph LoadCanonical(const PreparedFolder& folder);
[[nodiscard]] std::vector<Tensor> LoadInputs(const PreparedFolder& folder, const RowRange& rows);
[[nodiscard]] std::vector<std::int32_t> LoadLabels(const PreparedFolder& folder,
                                                   const RowRange& rows);
/// Read as they are asked for. InternalError if the folder has none.
[[nodiscard]] std::unique_ptr<SampleSource> OpenCalibration(const PreparedFolder& folder);
[[nodiscard]] std::vector<Tensor> LoadReference(const PreparedFolder& folder, const RowRange& rows);

}  // namespace msc::cost
