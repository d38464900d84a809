#include "compiler/compress/distill/torch/losses.h"

#include <algorithm>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

namespace msc::detail {
namespace {

using at::Tensor;

/// Returns a map [N, positions] with norm 1 for each sample. The small constants keep gradients
/// finite at 0.
Tensor AttentionMap(const Tensor& x, double power) {
  const Tensor map = at::pow(at::abs(x) + 1e-12, power).sum({1}).reshape({x.size(0), -1});
  return map / at::sqrt((map * map).sum({1}, true) + 1e-24);
}

std::string SizesOf(const Tensor& x) {
  std::string sizes;
  for (const std::int64_t size : x.sizes()) {
    sizes += (sizes.empty() ? "[" : ",") + std::to_string(size);
  }
  return sizes.empty() ? "[]" : sizes + "]";
}

}  // namespace

void RequireSame(const Tensor& student, const Tensor& teacher, const std::string& what) {
  if (student.sizes() == teacher.sizes()) return;
  throw WrongArguments(what + " is " + SizesOf(student) + " in the student and " +
                       SizesOf(teacher) + " in the teacher");
}

Tensor Distance(const Tensor& a, const Tensor& b, double power) {
  const Tensor difference = a - b;
  // |x|^p has no gradient at 0 if p < 1, so add a small constant; a square needs none.
  if (power == 2) return at::mean(difference * difference);
  return at::mean(at::pow(at::abs(difference) + 1e-12, power));
}

Tensor FeatureLoss(const FeatureTerm& term, Tensor teacher, Tensor& student) {
  if (!term.keep.empty() && (!term.attention || term.replace)) {
    Tensor index = at::empty({static_cast<std::int64_t>(term.keep.size())}, at::kLong);
    std::copy(term.keep.begin(), term.keep.end(), index.data_ptr<std::int64_t>());
    teacher = at::index_select(teacher, term.axis, index);
  }
  Tensor loss;
  if (term.attention) {
    const Tensor s = AttentionMap(student, term.power);
    const Tensor t = AttentionMap(teacher, term.power);
    RequireSame(s, t, "an attention map");
    loss = at::sum((s - t) * (s - t)) / static_cast<double>(s.size(0));
  } else {
    RequireSame(student, teacher, "a feature");
    // Relative to the teacher's magnitude, features of different scale weigh alike. The small
    // constant avoids dividing by 0.
    const Tensor scale = at::mean(at::pow(at::abs(teacher), term.power)) + 1e-12;
    loss = Distance(student, teacher, term.power) / scale;
  }
  if (term.replace) {
    RequireSame(student, teacher, "a feature");
    student = std::move(teacher);
  }
  return loss * term.weight;
}

}  // namespace msc::detail
