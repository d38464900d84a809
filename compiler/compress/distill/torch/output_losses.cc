#include "compiler/compress/distill/torch/output_losses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/clamp_min.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/max.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include "compiler/compress/distill/torch/losses.h"

namespace msc::detail {
namespace {

using at::Tensor;

/// As in cost/quality: about the resolution of an f32 near 1, which keeps logarithms finite.
constexpr double kLeastProbability = 1e-7;
/// As in cost/quality: more columns are positions of one quantity; least variance of a column.
constexpr std::int64_t kMostColumns = 64;
constexpr double kLeastVariance = 1e-4;
/// Least side of a box relative to the mean side. Candidates on nothing may have no area.
constexpr double kLeastSide = 1e-2;

bool HasClasses(const OutputForm& form) {
  return form.kind == OutputKind::kLogits || form.kind == OutputKind::kProbabilities ||
         form.kind == OutputKind::kCtc;
}

bool IsBinary(const OutputForm& form) {
  return form.kind == OutputKind::kLogit || form.kind == OutputKind::kBinary;
}

/// Returns whether the output has boxes without their scores, which are another output.
bool IsBoxesAlone(const OutputForm& form) {
  return form.kind == OutputKind::kBoxes && !form.selected && !form.scores.empty();
}

void RequireGradient(const NamedForm& output) {
  const bool selected = output.form.kind == OutputKind::kBoxes && output.form.selected;
  if (output.form.kind != OutputKind::kIntegers && !selected) return;
  throw WrongArguments("output '" + output.name + "' has no gradient: it holds " +
                       (selected ? "boxes that the model selected" : "integers") +
                       "; train the model without the operators that select");
}

/// Returns the axis of classes, or of the numbers of a box.
std::int64_t AxisOf(const NamedForm& output, const Tensor& x) {
  const std::int64_t axis = output.form.axis < 0 ? output.form.axis + x.dim() : output.form.axis;
  if (axis < 1 || axis >= x.dim()) {
    throw WrongArguments("output '" + output.name + "' has no axis " +
                         std::to_string(output.form.axis) + " beside that of samples");
  }
  return axis;
}

/// Returns the logarithm of probabilities.
Tensor SafeLog(const Tensor& x) {
  return at::log(at::clamp_min(x, kLeastProbability));
}

/// Returns the logits of probabilities of yes and no.
Tensor LogitOf(const Tensor& x) {
  const Tensor p = at::clamp(x, kLeastProbability, 1 - kLeastProbability);
  return at::log(p) - at::log(1 - p);
}

/// Returns what a softmax along the axis of classes turns into the probabilities.
Tensor ClassLogits(const OutputForm& form, const Tensor& x) {
  const bool logits =
      form.kind == OutputKind::kLogits || (form.kind == OutputKind::kCtc && form.logits);
  return logits ? x : SafeLog(x);
}

/// Returns the Kullback-Leibler divergence of yes and no, number by number, from logits.
Tensor BinaryDivergence(const Tensor& student, const Tensor& teacher) {
  const Tensor yes = at::log_sigmoid(teacher);
  const Tensor no = at::log_sigmoid(-teacher);
  return at::exp(yes) * (yes - at::log_sigmoid(student)) +
         at::exp(no) * (no - at::log_sigmoid(-student));
}

/// Corners of boxes along axis 1 of [rows, numbers], [rows] each.
struct Corners {
  Tensor x0, y0, x1, y1;
};

Corners CornersOf(const OutputForm& form, const Tensor& rows) {
  const Tensor a = rows.select(1, 0);
  const Tensor b = rows.select(1, 1);
  const Tensor c = rows.select(1, 2);
  const Tensor d = rows.select(1, 3);
  if (form.corners) return {a, b, c, d};
  return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
}

Tensor BoxLoss(const NamedForm& output, const Tensor& student, const Tensor& teacher) {
  const OutputForm& form = output.form;
  const std::int64_t axis = AxisOf(output, student);
  const std::int64_t numbers = student.size(axis);
  if (numbers < (form.objectness ? 6 : 5)) {
    throw WrongArguments("output '" + output.name + "' has no scores beside the boxes");
  }
  const Tensor s = student.movedim(axis, -1).reshape({-1, numbers});
  const Tensor t = teacher.movedim(axis, -1).reshape({-1, numbers});
  const Tensor scores_s = s.narrow(1, 4, numbers - 4);
  const Tensor scores_t = t.narrow(1, 4, numbers - 4);
  const Tensor logits_t = form.logits ? scores_t : LogitOf(scores_t);
  const Tensor logits_s = form.logits ? scores_s : LogitOf(scores_s);
  const Tensor yes = at::exp(at::log_sigmoid(logits_t));
  const std::int64_t first = form.objectness ? 1 : 0;
  Tensor weight = std::get<0>(at::max(yes.narrow(1, first, numbers - 4 - first), 1));
  if (form.objectness) weight = weight * yes.select(1, 0);
  const Corners p = CornersOf(form, t);
  const Corners q = CornersOf(form, s);
  const auto side = [](const Tensor& x) {
    const Tensor length = at::abs(x);
    return at::maximum(length, at::mean(length) * kLeastSide + std::numeric_limits<float>::min());
  };
  const Tensor width = side(p.x1 - p.x0);
  const Tensor height = side(p.y1 - p.y0);
  const auto square = [](const Tensor& x) { return x * x; };
  const Tensor errors = (square((q.x0 - p.x0) / width) + square((q.x1 - p.x1) / width) +
                         square((q.y0 - p.y0) / height) + square((q.y1 - p.y1) / height)) /
                        8;
  const Tensor divergence = BinaryDivergence(logits_s, logits_t);
  return (at::sum(errors * weight) + at::sum(divergence)) / at::clamp_min(at::sum(weight), 1);
}

/// Returns the logarithms of the probabilities of all decisions, [decisions, classes].
Tensor LogProbabilities(const NamedForm& output, const Tensor& x) {
  const OutputForm& form = output.form;
  if (IsBinary(form)) {
    const Tensor logits = (form.kind == OutputKind::kLogit ? x : LogitOf(x)).reshape({-1});
    return at::stack({at::log_sigmoid(-logits), at::log_sigmoid(logits)}, 1);
  }
  const std::int64_t axis = AxisOf(output, x);
  const Tensor rows = ClassLogits(form, x).movedim(axis, -1);
  return at::log_softmax(rows.reshape({-1, x.size(axis)}), -1);
}

/// Returns a list of +1 and -1 that look random, by SplitMix64 (Steele et al., "Fast splittable
/// pseudorandom number generators", 2014).
Tensor RandomSigns(std::int64_t count, std::uint64_t seed) {
  Tensor signs = at::empty({count}, at::kFloat);
  auto* const data = signs.data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t bits = seed + static_cast<std::uint64_t>(i + 1) * 0x9e3779b97f4a7c15U;
    bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
    data[i] = ((bits ^ (bits >> 31U)) & 1U) != 0 ? 1.0F : -1.0F;
  }
  return signs;
}

}  // namespace

bool HasErrors(const OutputForm& form) {
  return form.kind == OutputKind::kRegression || form.kind == OutputKind::kSeries ||
         form.kind == OutputKind::kEmbedding || IsBoxesAlone(form);
}

void ErrorScale::Add(const OutputForm& form, const Tensor& teacher) {
  const bool units = form.kind == OutputKind::kSeries || IsBoxesAlone(form) ||
                     (form.kind == OutputKind::kRegression && teacher.dim() == 2);
  const bool columns = units && teacher.dim() >= 2 && teacher.size(-1) <= kMostColumns;
  const Tensor rows =
      teacher.detach().reshape({-1, columns ? teacher.size(-1) : 1}).to(at::kDouble);
  const Tensor sum = at::sum(rows, {0});
  const Tensor squares = at::sum(rows * rows, {0});
  sum_ = count_ == 0 ? sum : sum_ + sum;
  squares_ = count_ == 0 ? squares : squares_ + squares;
  count_ += static_cast<double>(rows.size(0));
}

Tensor ErrorScale::Variances() const {
  const Tensor mean = sum_ / count_;
  const Tensor variances = at::clamp_min(squares_ / count_ - mean * mean, 0);
  const Tensor all = at::mean(mean);
  const double whole = (at::mean(squares_ / count_) - all * all).item<double>();
  if (!(whole > 0)) return at::clamp_min(variances * 0, 1).to(at::kFloat);
  return at::clamp_min(variances, whole * kLeastVariance).to(at::kFloat);
}

Tensor DistillLoss(const NamedForm& output, const Tensor& student, const Tensor& teacher,
                   const Tensor& variances, double temperature) {
  RequireGradient(output);
  const OutputForm& form = output.form;
  if (HasErrors(form)) {
    const Tensor error = student - teacher;
    if (variances.numel() == 1) return at::mean(error * error) / (2 * variances.reshape({}));
    return at::mean(error * error / variances) / 2;
  }
  if (form.kind == OutputKind::kBoxes) return BoxLoss(output, student, teacher);
  // Gradients of softened outputs shrink with 1 / T^2. The factor T^2 keeps the weights of losses
  // comparable at any temperature (Hinton et al., section 2).
  const double square = temperature * temperature;
  if (IsBinary(form)) {
    const bool logit = form.kind == OutputKind::kLogit;
    return at::mean(BinaryDivergence((logit ? student : LogitOf(student)) / temperature,
                                     (logit ? teacher : LogitOf(teacher)) / temperature)) *
           square;
  }
  const std::int64_t axis = AxisOf(output, student);
  const Tensor s = at::log_softmax(ClassLogits(form, student) / temperature, axis);
  const Tensor t = at::log_softmax(ClassLogits(form, teacher) / temperature, axis);
  const double rows =
      static_cast<double>(s.numel()) / static_cast<double>(std::max<std::int64_t>(s.size(axis), 1));
  return at::sum(at::exp(t) * (t - s)) * (square / rows);
}

Tensor LabelLoss(const NamedForm& output, const Tensor& student, const Tensor& labels) {
  if (!HasClasses(output.form) && !IsBinary(output.form)) {
    throw WrongArguments("labels need an output of classes; output '" + output.name + "' is " +
                         std::string(kOutputKinds.at(static_cast<std::size_t>(output.form.kind))));
  }
  const Tensor rows = LogProbabilities(output, student);
  if (rows.size(0) != labels.size(0)) {
    throw WrongArguments("labels need one decision a sample; output '" + output.name + "' has " +
                         std::to_string(rows.size(0)) + " for " + std::to_string(labels.size(0)) +
                         " labels");
  }
  const auto largest = labels.max().item<std::int64_t>();
  if (largest >= rows.size(1)) {
    throw WrongArguments("a label is " + std::to_string(largest) + "; the model tells " +
                         std::to_string(rows.size(1)) + " classes apart");
  }
  return at::nll_loss(rows, labels);
}

Tensor SelfLoss(const NamedForm& output, const Tensor& values, std::uint64_t seed) {
  RequireGradient(output);
  if (HasClasses(output.form) || IsBinary(output.form)) {
    const Tensor rows = LogProbabilities(output, values);
    return at::nll_loss(rows, at::argmax(rows.detach(), 1));
  }
  ErrorScale scale;
  // The numbers of a box have units of their own: positions, sizes and scores.
  const bool boxes = output.form.kind == OutputKind::kBoxes;
  const Tensor numbers = boxes ? values.movedim(AxisOf(output, values), -1) : values;
  scale.Add({.kind = boxes ? OutputKind::kSeries : output.form.kind}, numbers);
  const Tensor signs = RandomSigns(numbers.numel(), seed).reshape(numbers.sizes());
  const Tensor variances = scale.Variances();
  const Tensor relative = variances.numel() == 1 ? numbers / at::sqrt(variances.reshape({}))
                                                 : numbers / at::sqrt(variances);
  return at::sum(relative * signs) / std::sqrt(static_cast<double>(numbers.numel()));
}

}  // namespace msc::detail
