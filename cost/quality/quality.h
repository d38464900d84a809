#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/tensor.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// Compares the outputs of a candidate with those of the uncompressed model, batch by batch.
///
/// An output is [N, ..., C]: the last axis holds the classes, and every position along the other
/// axes is one row. KL and arg max are computed per row; a tie goes to the lower class. KL uses a
/// log-softmax in double that cannot overflow. If C is 1, KL and arg max are meaningless; use mse.
/// With several outputs, kl, mse and agreement are means over the outputs; labels refer to the
/// first output, which then must have one row per sample. Standard errors treat samples, not rows,
/// as independent, and are 0 for a single sample. All sums are in double, so the order of batches
/// changes only the last digits. Not thread-safe.
class QualityMeter {
 public:
  QualityMeter();
  QualityMeter(const QualityMeter&) = delete;
  QualityMeter& operator=(const QualityMeter&) = delete;
  ~QualityMeter();

  /// Adds outputs of the same samples, in the graph's order. `labels` has one number per sample, or
  /// is empty in every batch. UserError if outputs are not f32, f64, i32 or i64, if labels do not
  /// fit, or if the reference is not finite. Returns a failure if the candidate has a value that is
  /// not finite, or other dims or types than the reference.
  [[nodiscard]] std::optional<Failure> Add(std::span<const Tensor> reference,
                                           std::span<const Tensor> candidate,
                                           std::span<const std::int32_t> labels);

  /// Returns the quality over all batches. `samples` counts samples, not rows. InternalError if
  /// there are none.
  [[nodiscard]] Quality Total() const;

  /// Returns the largest error of all outputs, as Closeness defines it.
  [[nodiscard]] double LargestError() const;

  /// Returns whether some output of the candidate had only one value while the reference varied:
  /// the sign of a kernel that computed nothing.
  [[nodiscard]] bool Constant() const;

 private:
  struct Totals;
  /// Sum and sum of squares of one number per sample.
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
  Spread gained_;  // +1 if only the candidate hits the label, -1 if only the reference does
  std::int64_t samples_ = 0;
  std::int64_t labelled_ = 0;
  std::int64_t hits_ = 0;
  std::int64_t reference_hits_ = 0;
};

}  // namespace msc::cost
