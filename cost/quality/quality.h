#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/tensor.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// Compares a candidate's outputs with the uncompressed model's, batch by batch.
///
/// An output is [N, ..., C]: the last axis holds the classes, every position along the other axes
/// is one row. KL and arg max are taken per row, ties to the lower class; KL by a log-softmax that
/// cannot overflow, in double. A last axis of 1 says nothing through KL or arg max: use mse there.
/// With several outputs kl, mse and agreement are means over the outputs; labels refer to the first
/// output, which then must have one row a sample. Standard errors take samples, not rows, for
/// independent, and are 0 for a single one. Sums are in double: the order of batches changes the
/// last digits only. Not thread-safe.
class QualityMeter {
 public:
  QualityMeter();
  QualityMeter(const QualityMeter&) = delete;
  QualityMeter& operator=(const QualityMeter&) = delete;
  ~QualityMeter();

  /// Outputs of the same samples, in the graph's order. `labels`: one a sample, or none in every
  /// batch. UserError where outputs are neither f32, f64, i32 nor i64, where labels do not fit, and
  /// where the reference itself is not finite. Returns what is wrong with the candidate, once: a
  /// value that is not finite, dims or types that differ from the reference's.
  [[nodiscard]] std::optional<Failure> Add(std::span<const Tensor> reference,
                                           std::span<const Tensor> candidate,
                                           std::span<const std::int32_t> labels);

  /// Of everything added so far. `samples` counts samples, not rows. InternalError if there were
  /// none.
  [[nodiscard]] Quality Total() const;

  /// The largest error of all outputs, each as Closeness has it.
  [[nodiscard]] double LargestError() const;

  /// Whether some output of the candidate held one value only, while the reference's varied: the
  /// sign of a kernel that computed nothing.
  [[nodiscard]] bool Constant() const;

 private:
  struct Totals;
  /// Sums over samples of a number each.
  struct Spread {
    double sum = 0;
    double squares = 0;
    void Add(double value) {
      sum += value;
      squares += value * value;
    }
  };
  [[nodiscard]] double ErrorOfMean(const Spread& spread) const;

  std::vector<Totals> outputs_;
  Spread kl_;
  Spread agreeing_;
  Spread gained_;  // labels hit by the candidate alone count 1, by the reference alone -1
  std::int64_t samples_ = 0;
  std::int64_t labelled_ = 0;
  std::int64_t hits_ = 0;
  std::int64_t reference_hits_ = 0;
};

/// One pair of outputs at once.
[[nodiscard]] Result<Quality> Compare(const Tensor& reference, const Tensor& candidate,
                                      std::span<const std::int32_t> labels);

}  // namespace msc::cost
