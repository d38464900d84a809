#include "compiler/ops/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Source: ONNX operator pages QuantizeLinear-13, DequantizeLinear-13.

namespace msc {

QuantRange RangeOf(DType dtype) {
  Check(dtype == DType::kI8 || dtype == DType::kU8, "quantized values are i8 or u8");
  return dtype == DType::kI8 ? QuantRange{-128, 127} : QuantRange{0, 255};
}

std::int64_t QuantizeScaled(double scaled, std::int64_t zero_point, QuantRange range) {
  // A NaN would pass through the clamp below, and its conversion to an integer is undefined.
  if (std::isnan(scaled)) return std::clamp(zero_point, range.least, range.most);
  // Clamp before the conversion: an infinite double has no integer value.
  const auto offset = static_cast<double>(zero_point);
  const double clamped =
      // QuantizeLinear-13 adds the zero point after the rounding. nearbyint rounds ties to even: no
      // code in this process changes the rounding mode.
      std::clamp(std::nearbyint(scaled) + offset, static_cast<double>(range.least),
                 static_cast<double>(range.most));
  return static_cast<std::int64_t>(clamped);
}

namespace {

/// Checks scale (input 1) and zero point (input 2) against X: both are scalars (or lists of one),
/// or lists along `axis`. Returns the element type of the zero point, or kUndefined if it is
/// absent.
DType CheckScales(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 1, {DType::kF32});
  const Shape* x = ShapeOf(in, 0);
  const Shape* scale = ShapeOf(in, 1);
  const Shape* zero = ShapeOf(in, 2);
  if (scale != nullptr && scale->size() > 1) {
    RejectNode(node, "the scale must be a number or a list, not " + ToString(*scale));
  }
  if (x != nullptr && scale != nullptr && scale->size() == 1 && *scale != Shape{1}) {
    const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{1}), x->size());
    (void)MergeDims(node, (*x)[axis], scale->front());
  }
  if (zero != nullptr && scale != nullptr) {
    const auto scale_dims = StaticDims(*scale);
    const auto zero_dims = StaticDims(*zero);
    if (scale_dims && zero_dims && ElementCount(*scale_dims) != ElementCount(*zero_dims)) {
      RejectNode(node, "scale " + ToString(*scale) + " and zero point " + ToString(*zero) +
                           " must be of one shape");
    }
  }
  return TypeOf(in, 2);
}

std::vector<ValueType> InferQuantize(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kI32});
  RequireType(in, 2, {DType::kI8, DType::kU8});
  const DType zero = CheckScales(in);
  std::vector<ValueType> types = SameAsFirst(in);
  if (!HasInput(in, 2)) {
    types[0].dtype = DType::kU8;
  } else {
    types[0].dtype = zero;
  }
  return types;
}

std::vector<ValueType> InferDequantize(const InferInput& in) {
  RequireType(in, 0, {DType::kI8, DType::kU8, DType::kI32});
  CheckScales(in);
  if (HasInput(in, 2)) RequireSameType(in, 0, 2);
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = DType::kF32;
  return types;
}

/// Scale and zero point of every element.
class Scales {
 public:
  Scales(const Node& node, EvalInputs inputs) : scales_(inputs[1]->Values<float>()) {
    for (const float scale : scales_) {
      // The negated comparison also rejects NaN.
      if (!(scale > 0.0F) || std::isinf(scale)) {
        RejectNode(node, "scales must be positive and finite");
      }
    }
    const Tensor* zero = InputAt(inputs, 2);
    zeros_.assign(scales_.size(), 0);
    for (std::size_t i = 0; zero != nullptr && i < zeros_.size(); ++i) {
      zeros_[i] = static_cast<std::int64_t>(NumberAt(*zero, static_cast<std::int64_t>(i)));
    }
    if (scales_.size() <= 1) return;
    const Dims& dims = inputs[0]->dims();
    const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{1}), dims.size());
    inner_ = static_cast<std::size_t>(StridesOf(dims)[axis]);
  }

  /// Returns the index into the lists for element `i`.
  [[nodiscard]] std::size_t At(std::size_t i) const {
    return scales_.size() == 1 ? 0 : i / inner_ % scales_.size();
  }
  [[nodiscard]] float scale(std::size_t at) const { return scales_[at]; }
  [[nodiscard]] std::int64_t zero(std::size_t at) const { return zeros_[at]; }

 private:
  std::span<const float> scales_;
  std::vector<std::int64_t> zeros_;
  std::size_t inner_ = 1;
};

std::vector<Tensor> EvalQuantize(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferQuantize, node, inputs);
  const Scales scales(node, inputs);
  const QuantRange range = RangeOf(outputs[0].dtype());
  WithNumber(node, inputs[0]->dtype(), [&]<class From>() {
    WithNumber(node, outputs[0].dtype(), [&]<class To>() {
      const auto x = inputs[0]->Values<From>();
      const auto y = outputs[0].template MutableValues<To>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t at = scales.At(i);
        // Divides in f32 as ONNX specifies: a wider quotient would round some ties differently.
        const float scaled = static_cast<float>(x[i]) / scales.scale(at);
        y[i] = static_cast<To>(QuantizeScaled(scaled, scales.zero(at), range));
      }
    });
  });
  return outputs;
}

std::vector<Tensor> EvalDequantize(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferDequantize, node, inputs);
  const Scales scales(node, inputs);
  WithNumber(node, inputs[0]->dtype(), [&]<class T>() {
    const auto x = inputs[0]->Values<T>();
    const auto y = outputs[0].template MutableValues<float>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t at = scales.At(i);
      // The difference of two i32 can exceed i32, hence i64.
      const std::int64_t offset = static_cast<std::int64_t>(x[i]) - scales.zero(at);
      y[i] = static_cast<float>(offset) * scales.scale(at);
    }
  });
  return outputs;
}

}  // namespace

void RegisterQuantizeOps(OpRegistry& ops) {
  const auto two_flops = [](const Node& /*node*/, std::span<const ValueType> /*in*/,
                            std::span<const ValueType> out) { return 2.0 * ElementsOf(out[0]); };
  const std::vector<AttrSpec> axis{{.name = "axis", .otherwise = std::int64_t{1}}};
  ops.Add({.name = "QuantizeLinear",
           .inputs = {2, 3},
           .attrs = axis,
           .infer = InferQuantize,
           .eval = EvalQuantize,
           .flops = two_flops});
  ops.Add({.name = "DequantizeLinear",
           .inputs = {2, 3},
           .attrs = axis,
           .infer = InferDequantize,
           .eval = EvalDequantize,
           .flops = two_flops});
}

}  // namespace msc
