#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/sample_source.h"
#include "compiler/pipeline/observe.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "gym/app/test_judge.h"

namespace msc::gym {

/// Input of CalibrationJudge. All that it points to outlives the judge.
struct CalibrationJudgeInput {
  const Graph* graph = nullptr;  ///< canonical
  const SampleSource* samples = nullptr;
  CalibrationRun run;
  const TargetRegistry* targets = nullptr;
  std::map<std::string, OutputForm> outputs;  ///< forms that the user gave
};

/// Judges strategies of one model by what its outputs lose, against f32, on the first calibration
/// samples. Runs the f32 model once.
class CalibrationJudge {
 public:
  /// Uses at most `most` samples, but those of a whole batch if the model fixes its size. UserError
  /// as TestJudge.
  CalibrationJudge(CalibrationJudgeInput input, std::int64_t most);
  /// A strategy that cannot be compiled, or whose outputs are rejected, is a failure in the result.
  [[nodiscard]] Judged Judge(const Strategy& strategy) const;
  /// Returns a judge that uses at most `most` samples.
  [[nodiscard]] CalibrationJudge WithSamples(std::int64_t most) const { return {input_, most}; }
  [[nodiscard]] std::int64_t samples() const { return judge_.samples(); }
  /// Returns the number of passes over all its samples so far, including that of f32.
  [[nodiscard]] std::int64_t passes() const { return judge_.passes(); }

 private:
  CalibrationJudgeInput input_;
  TestJudge judge_;
};

/// Returns the loss that quantized models are compared by: the distillation loss, which shows
/// differences too small to change the decisions of a few samples; of outputs that have none, the
/// relative error or the disagreement. Infinity for a failure.
[[nodiscard]] double FineLoss(const Judged& judged);
/// Returns "distillation loss 0.0123 nats", or "failed: " and why.
[[nodiscard]] std::string FineLossText(const Judged& judged);

}  // namespace msc::gym
