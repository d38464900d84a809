#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// NonMaxSuppression-11 (boxes f32 [batch, boxes, 4], scores f32 [batch, classes, boxes], most?,
// least overlap?, least score?) -> i64 [selected, 3] of batch, class and box. For each class it
// takes boxes from the highest score on, except those that overlap one that it has taken. The
// number of selected boxes depends on values: inference knows it only of constants.
// Source: ONNX operator page NonMaxSuppression-11.

namespace msc {
namespace {

enum Input : std::size_t { kBoxes, kScores, kMost, kOverlap, kScore };

using Selected = std::array<std::int64_t, 3>;  // batch, class, box

/// A box by its corners.
struct Box {
  std::array<float, 2> low = {};
  std::array<float, 2> high = {};

  [[nodiscard]] float Area() const { return (high[0] - low[0]) * (high[1] - low[1]); }
};

/// Reads four numbers: two corners, or the middle and the sizes.
Box BoxAt(std::span<const float> numbers, bool centred) {
  Box box;
  for (std::size_t i = 0; i < 2; ++i) {
    const float a = numbers[i];
    const float b = numbers[i + 2];
    box.low[i] = centred ? a - b / 2.0F : std::min(a, b);
    box.high[i] = centred ? a + b / 2.0F : std::max(a, b);
  }
  return box;
}

/// Returns whether two boxes share more than `threshold` of the area that they cover together.
bool Overlap(const Box& a, const Box& b, float threshold) {
  float shared = 1.0F;
  for (std::size_t i = 0; i < 2; ++i) {
    const float side = std::min(a.high[i], b.high[i]) - std::max(a.low[i], b.low[i]);
    if (!(side > 0.0F)) return false;
    shared *= side;
  }
  const float together = a.Area() + b.Area() - shared;
  if (!(a.Area() > 0.0F && b.Area() > 0.0F && together > 0.0F)) return false;
  return shared / together > threshold;
}

/// What the scalar inputs say.
struct Limits {
  std::int64_t most = 0;  ///< boxes of a class
  float overlap = 0.0F;
  std::optional<float> score;  ///< boxes of no higher score are left out
};

/// Returns the values of the inputs if all are known.
std::optional<Limits> LimitsOf(const InferInput& in) {
  const auto known = [&](std::size_t index) {
    return !HasInput(in, index) || (index < in.constants.size() && in.constants[index] != nullptr);
  };
  const auto number = [&](std::size_t index) -> std::optional<float> {
    if (!HasInput(in, index)) return std::nullopt;
    if (in.constants[index]->size() != 1) {
      RejectNode(*in.node, "input " + std::to_string(index) + " must be one number");
    }
    return static_cast<float>(NumberAt(*in.constants[index], 0));
  };
  if (!known(kMost) || !known(kOverlap) || !known(kScore)) return std::nullopt;
  Limits limits;
  limits.most = std::max<std::int64_t>(ConstantInt(in, kMost).value_or(0), 0);
  limits.overlap = number(kOverlap).value_or(0.0F);
  limits.score = number(kScore);
  return limits;
}

/// Returns the boxes of one class that may be selected, from the highest score on.
std::vector<std::size_t> Candidates(std::span<const float> scores, const Limits& limits) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!limits.score || scores[i] > *limits.score) candidates.push_back(i);
  }
  // A stable sort puts the first of equal scores in front. NaN comes last: a sort needs an order.
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    if (std::isnan(scores[a]) || std::isnan(scores[b])) {
      return !std::isnan(scores[a]) && std::isnan(scores[b]);
    }
    return scores[a] > scores[b];
  });
  return candidates;
}

std::vector<Selected> SelectBoxes(const Node& node, const Tensor& boxes, const Tensor& scores,
                                  const Limits& limits) {
  const bool centred = AttrOr(node, "center_point_box", std::int64_t{0}) != 0;
  const std::int64_t classes = scores.dims()[1];
  const auto count = static_cast<std::size_t>(scores.dims()[2]);
  std::vector<Selected> selected;
  if (scores.size() == 0) return selected;
  for (std::int64_t i = 0; i < scores.dims()[0] * classes; ++i) {
    const std::int64_t batch = i / classes;
    const auto corners =
        boxes.Values<float>().subspan(static_cast<std::size_t>(batch) * count * 4, count * 4);
    const auto own = scores.Values<float>().subspan(static_cast<std::size_t>(i) * count, count);
    std::vector<Box> taken;
    for (const std::size_t candidate : Candidates(own, limits)) {
      if (std::ssize(taken) >= limits.most) break;
      const Box box = BoxAt(corners.subspan(candidate * 4, 4), centred);
      const bool free = std::none_of(taken.begin(), taken.end(), [&](const Box& other) {
        return Overlap(box, other, limits.overlap);
      });
      if (!free) continue;
      taken.push_back(box);
      selected.push_back({batch, i % classes, static_cast<std::int64_t>(candidate)});
    }
  }
  return selected;
}

void CheckShapes(const InferInput& in) {
  const Node& node = *in.node;
  const Shape* boxes = ShapeOf(in, kBoxes);
  const Shape* scores = ShapeOf(in, kScores);
  for (const Shape* shape : {boxes, scores}) {
    if (shape != nullptr && shape->size() != 3) {
      RejectNode(node, "needs boxes and scores of 3 dimensions, not " + ToString(*shape));
    }
  }
  if (boxes != nullptr) (void)MergeDims(node, boxes->back(), Dim(4));
  if (boxes == nullptr || scores == nullptr) return;
  (void)MergeDims(node, (*boxes)[0], (*scores)[0]);
  (void)MergeDims(node, (*boxes)[1], (*scores)[2]);
}

std::vector<ValueType> Infer(const InferInput& in) {
  const Node& node = *in.node;
  for (const std::size_t i : {kBoxes, kScores, kOverlap, kScore}) {
    RequireType(in, i, {DType::kF32});
  }
  RequireType(in, kMost, {DType::kI64});
  CheckShapes(in);
  const TensorPtr boxes = in.constants.empty() ? nullptr : in.constants[kBoxes];
  const TensorPtr scores = in.constants.empty() ? nullptr : in.constants[kScores];
  const auto limits = LimitsOf(in);
  Dim count;
  if (limits && limits->most == 0) count = 0;
  if (limits && boxes != nullptr && scores != nullptr) {
    count = std::ssize(SelectBoxes(node, *boxes, *scores, *limits));
  }
  return OneOutput(DType::kI64, Shape{count, 3});
}

std::vector<Tensor> Eval(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(Infer, node, inputs);
  const Limits limits = *LimitsOf(InferInputOf(node, inputs));
  auto to = outputs[0].MutableValues<std::int64_t>().begin();
  for (const Selected& one : SelectBoxes(node, *inputs[kBoxes], *inputs[kScores], limits)) {
    to = std::ranges::copy(one, to).out;
  }
  return outputs;
}

}  // namespace

void RegisterNmsOps(OpRegistry& ops) {
  ops.Add({.name = "NonMaxSuppression",
           .inputs = {2, 5},
           .attrs = {{.name = "center_point_box", .otherwise = std::int64_t{0}}},
           .infer = Infer,
           .eval = Eval});
}

}  // namespace msc
