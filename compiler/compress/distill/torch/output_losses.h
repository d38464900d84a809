#pragma once

// Losses of a model's outputs by what their numbers mean (compiler/compress/distill/trainer.h), as
// scalar tensors. They are the differentiable forms of distill_loss (cost/quality/output_meter.h).
// An output is [N, ...] with N samples. Private to this shared object.

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "compiler/compress/distill/trainer.h"

namespace msc::detail {

/// Variances by which squared errors of an output are divided.
class ErrorScale {
 public:
  /// Counts the numbers of a batch of the teacher. Only outputs of numbers need it.
  void Add(const OutputForm& form, const at::Tensor& teacher);
  /// Returns the variances, f32: one for each column of the last axis, or one. A column that hardly
  /// varies has at least a small part of the whole output's; a constant output has 1.
  [[nodiscard]] at::Tensor Variances() const;

 private:
  at::Tensor sum_;  // by column, f64
  at::Tensor squares_;
  double count_ = 0;
};

/// Returns whether errors of the output are divided by its variance: it has numbers and no
/// decisions.
[[nodiscard]] bool HasErrors(const OutputForm& form);

/// Returns the loss of the student's output against the teacher's. Classes and decisions:
/// T^2 KL(teacher / T, student / T), a mean over rows (Hinton et al. 2015, arXiv 1503.02531,
/// section 2.1); probabilities are turned into logits first. Numbers: half the squared error by
/// `variances`; boxes whose scores are another output are numbers, too. Boxes: divergences of all
/// scores, and the squared errors of corners in units of the sides, halved and weighted by the
/// teacher's scores, relative to the sum of these scores. WrongArguments for outputs that have no
/// gradient: integers and boxes that the model selected.
[[nodiscard]] at::Tensor DistillLoss(const NamedForm& output, const at::Tensor& student,
                                     const at::Tensor& teacher, const at::Tensor& variances,
                                     double temperature);

/// Returns the mean cross entropy of an output that has one decision for each sample with N class
/// numbers. WrongArguments if the output or a label does not fit.
[[nodiscard]] at::Tensor LabelLoss(const NamedForm& output, const at::Tensor& student,
                                   const at::Tensor& labels);

/// Returns a loss whose gradient shows how much an output depends on a weight, although the model
/// is compared with itself: of decisions the cross entropy with the model's own. The gradient of a
/// squared error would be 0; of numbers and boxes it is therefore the sum with random signs, in
/// units of the deviation, divided by the root of their number. The square of a change of that sum
/// has the mean squared change of the numbers as its expectation. `seed` chooses the signs.
/// WrongArguments as DistillLoss.
[[nodiscard]] at::Tensor SelfLoss(const NamedForm& output, const at::Tensor& values,
                                  std::uint64_t seed);

}  // namespace msc::detail
