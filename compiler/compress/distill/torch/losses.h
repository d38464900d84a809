#pragma once

// Losses of training other than those of output_losses.h, as scalar tensors. Private to this shared
// object.

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

/// Returns mean |a - b|^power.
[[nodiscard]] at::Tensor Distance(const at::Tensor& a, const at::Tensor& b, double power);
/// Returns the weighted loss of a FeatureTerm. Replaces `student` if the term asks for it.
[[nodiscard]] at::Tensor FeatureLoss(const FeatureTerm& term, at::Tensor teacher,
                                     at::Tensor& student);

}  // namespace msc::detail
