#pragma once

// What training makes small. Private to this shared object. Everything is a scalar tensor.

#include <stdexcept>
#include <string>

#include <ATen/core/Tensor.h>

#include "compiler/compress/distill/trainer.h"

namespace msc::detail {

/// The caller's samples, labels or settings do not fit.
class WrongArguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// WrongArguments naming `what` and both shapes where they differ.
void RequireSame(const at::Tensor& student, const at::Tensor& teacher, const std::string& what);

/// Mean over rows of T^2 KL(softmax(teacher / T), softmax(student / T)) along the last axis (Hinton
/// et al. 2015, arXiv 1503.02531, section 2.1).
[[nodiscard]] at::Tensor Divergence(const at::Tensor& student, const at::Tensor& teacher,
                                    double temperature);
/// mean |a - b|^power.
[[nodiscard]] at::Tensor Distance(const at::Tensor& a, const at::Tensor& b, double power);
/// Of logits [N, C] with N class numbers below C; WrongArguments otherwise.
[[nodiscard]] at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& labels);
/// The class with the largest logit of each row of [N, C].
[[nodiscard]] at::Tensor MostLikely(const at::Tensor& logits);
/// Weighted, see FeatureTerm; replaces `student` where the term asks for it.
[[nodiscard]] at::Tensor FeatureLoss(const FeatureTerm& term, at::Tensor teacher,
                                     at::Tensor& student);

}  // namespace msc::detail
