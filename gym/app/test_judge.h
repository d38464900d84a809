#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/ir/tensor.h"
#include "compiler/pipeline/observe.h"
#include "cost/model/outcome.h"
#include "gym/app/kept_batches.h"
#include "gym/app/samples.h"
#include "gym/app/test_metrics.h"

namespace msc::gym {

/// A comparison of a model's outputs with those of the f32 model.
struct Judged {
  cost::Quality quality = {};
  std::string failure = {};  ///< why the comparison failed; empty if it succeeded
};

/// A comparison with the data of a failure.
struct LookedAt {
  Judged judged;
  std::vector<Tensor> inputs = {};   ///< after a failure: the batch whose outputs were rejected
  std::vector<Tensor> outputs = {};  ///< after a failure: these outputs
};

/// Computes the outputs of one call of a model, both in the graph's order.
using ModelCall = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;

/// Compares models with one reference model on the test samples. Keeps the reference outputs, on
/// disk where they are large (KeptBatches), and of other models one batch at a time, except for
/// users' metrics, which get the outputs for all samples.
class TestJudge {
 public:
  /// Forms that `options` does not have follow from what outputs hold. UserError if a metric
  /// fails, or for a limit on a loss that the outputs do not have.
  TestJudge(TestSamples test, const Graph& before, CalibrationRun run,
            const TargetRegistry& targets, const JudgeOptions& options);
  /// Returns the quality of `after`, which may hold Q/DQ and Cast nodes. UserError if its outputs
  /// do not fit those of the reference or are not finite, or if a metric fails.
  [[nodiscard]] cost::Quality Judge(const Graph& after) const;
  /// Returns more than Judge, and reports rejected outputs in the result. UserError if a metric
  /// fails.
  [[nodiscard]] LookedAt Look(const Graph& after) const;
  /// Does the same for a model that `call` runs, on the batches that the reference got.
  [[nodiscard]] LookedAt Look(const ModelCall& call) const;
  [[nodiscard]] std::int64_t samples() const { return test_.source->count(); }
  [[nodiscard]] const OutputForms& forms() const { return forms_; }
  /// Returns the number of passes over all samples so far, including that of the reference.
  [[nodiscard]] std::int64_t passes() const { return passes_; }

 private:
  class Comparison;
  using Visit = std::function<void(std::vector<Tensor> outputs)>;
  void ForEachBatch(const Graph& graph, const Visit& visit) const;

  TestSamples test_;
  CalibrationRun run_;
  const TargetRegistry& targets_;
  mutable std::int64_t passes_ = 0;
  SampleLayout layout_;
  KeptBatches wanted_;
  OutputForms forms_;
  std::vector<cost::OutputLabels> labels_;
  std::unique_ptr<TestMetrics> metrics_;  // nullptr if there are none
};

}  // namespace msc::gym
