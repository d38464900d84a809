#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/tensor.h"
#include "cost/model/closeness.h"
#include "cost/model/labels.h"
#include "cost/model/outcome.h"
#include "cost/quality/join_boxes.h"
#include "cost/quality/label_meter.h"
#include "cost/quality/output_meter.h"

namespace msc::cost {

/// Compares the outputs of a candidate with those of the uncompressed model, batch by batch, each
/// as its form says (OutputMeter), and both with labels if there are any (LabelMeter); equal scores
/// of classes count as the lower class. Not thread-safe.
class QualityMeter {
 public:
  /// `forms`: one for each output, in the graph's order.
  explicit QualityMeter(OutputForms forms);

  /// Adds outputs of the same samples, in the graph's order. `labels` are those of the same outputs
  /// (BindLabels) in every batch. UserError if outputs are strings or complex, if forms or labels
  /// do not fit them, or if the reference is not finite. Returns a failure if the candidate has a
  /// value that is not finite, or other dims or types than the reference.
  [[nodiscard]] std::optional<Failure> Add(std::span<const Tensor> reference,
                                           std::span<const Tensor> candidate,
                                           const LabelRows& labels = {});

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
  void AddLabels(std::span<const ComparedOutput> p, std::span<const ComparedOutput> q,
                 const LabelRows& rows, std::int64_t samples);

  OutputForms forms_;
  std::vector<OutputMeter> meters_;  // of what JoinOutputs returns
  std::vector<Sanity> sanity_;
  std::map<std::size_t, LabelMeter> label_meters_;  // by index in meters_
  std::int64_t samples_ = 0;
};

/// Returns the names of the losses that outputs of these forms have, with labels if there are any:
/// those that a comparison of the first sample with itself gives. `outputs` are those of the
/// uncompressed model, one [N, ...] each. UserError as QualityMeter::Add.
[[nodiscard]] std::vector<std::string> LossNames(const OutputForms& forms,
                                                 std::span<const Tensor> outputs,
                                                 const LabelRows& labels = {});

}  // namespace msc::cost
