#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/tensor.h"
#include "cost/model/closeness.h"
#include "cost/model/outcome.h"
#include "cost/quality/join_boxes.h"
#include "cost/quality/output_meter.h"

namespace msc::cost {

/// Compares the outputs of a candidate with those of the uncompressed model, batch by batch, each
/// as its form says (OutputMeter). Labels refer to the first output, whose form must have classes
/// and which must have one decision for each sample; equal scores count as the lower class. Not
/// thread-safe.
class QualityMeter {
 public:
  /// `forms`: one for each output, in the graph's order.
  explicit QualityMeter(OutputForms forms);

  /// Adds outputs of the same samples, in the graph's order. `labels` has one number per sample, or
  /// is empty in every batch. UserError if outputs are strings or complex, if forms or labels do
  /// not fit them, or if the reference is not finite. Returns a failure if the candidate has a
  /// value that is not finite, or other dims or types than the reference.
  [[nodiscard]] std::optional<Failure> Add(std::span<const Tensor> reference,
                                           std::span<const Tensor> candidate,
                                           std::span<const std::int32_t> labels);

  /// Returns the quality over all batches. InternalError if there are none.
  [[nodiscard]] Quality Total() const;

  /// Returns the largest error of all outputs, as Closeness defines it.
  [[nodiscard]] double LargestError() const;

  /// Returns whether some output of the candidate had only one value while the reference varied:
  /// the sign of a kernel that computed nothing.
  [[nodiscard]] bool Constant() const;

 private:
  /// What the test of a kernel's correctness needs, whatever the numbers mean.
  struct Sanity {
    Closeness closeness;
    double low = 0;
    double high = 0;
    double candidate_low = 0;
    double candidate_high = 0;
    bool empty = true;
    void Add(std::span<const double> p, std::span<const double> q);
  };
  void AddLabels(const ComparedOutput& p, const ComparedOutput& q,
                 std::span<const std::int32_t> labels);

  OutputForms forms_;
  std::vector<OutputMeter> meters_;  // of what JoinOutputs returns
  std::vector<Sanity> sanity_;
  Spread gained_;  // +1 if only the candidate hits the label, -1 if only the reference does
  std::int64_t samples_ = 0;
  std::int64_t labelled_ = 0;
  std::int64_t hits_ = 0;
  std::int64_t reference_hits_ = 0;
};

/// Returns the names of the losses that outputs of these forms have, with labels if there are any:
/// those that a comparison of the first sample with itself gives. `outputs` are those of the
/// uncompressed model, one [N, ...] each. UserError as QualityMeter::Add.
[[nodiscard]] std::vector<std::string> LossNames(const OutputForms& forms,
                                                 std::span<const Tensor> outputs,
                                                 std::span<const std::int32_t> labels);

}  // namespace msc::cost
