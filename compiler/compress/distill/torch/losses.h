#pragma once

// Losses of training, as scalar tensors. Private to this shared object.

#include <stdexcept>
#include <string>

#include <ATen/core/Tensor.h>

#include "compiler/compress/distill/trainer.h"

namespace msc::detail {

/// Thrown if the caller's samples, labels or settings do not fit.
class WrongArguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws WrongArguments with `what` and both shapes if they differ.
void RequireSame(const at::Tensor& student, const at::Tensor& teacher, const std::string& what);

/// Returns the mean over rows of T^2 KL(softmax(teacher / T), softmax(student / T)) along the last
/// axis (Hinton et al. 2015, arXiv 1503.02531, section 2.1).
[[nodiscard]] at::Tensor Divergence(const at::Tensor& student, const at::Tensor& teacher,
                                    double temperature);
/// Returns mean |a - b|^power.
[[nodiscard]] at::Tensor Distance(const at::Tensor& a, const at::Tensor& b, double power);
/// Returns the mean cross entropy of logits [N, C] with N class numbers below C. WrongArguments if
/// they do not fit.
[[nodiscard]] at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& labels);
/// Returns the class with the largest logit of each row of [N, C].
[[nodiscard]] at::Tensor MostLikely(const at::Tensor& logits);
/// Returns the weighted loss of a FeatureTerm. Replaces `student` if the term asks for it.
[[nodiscard]] at::Tensor FeatureLoss(const FeatureTerm& term, at::Tensor teacher,
                                     at::Tensor& student);

}  // namespace msc::detail
