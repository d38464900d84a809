#include "compiler/ops/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Source: ONNX operator pages QuantizeLinear-13, DequantizeLinear-13, Cast-13.

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

bool CanCast(DType dtype) {
  return dtype != DType::kString && dtype != DType::kC64 && dtype != DType::kC128;
}

std::vector<ValueType> InferCast(const InferInput& in) {
  const std::int64_t code = AttrOr(*in.node, "to", std::int64_t{0});
  // Enumerators of DType equal the numbers of TensorProto.DataType.
  if (code < 1 || code > static_cast<std::int64_t>(DType::kBF16)) {
    RejectNode(*in.node, "cannot cast to type code " + std::to_string(code));
  }
  const auto to = static_cast<DType>(code);
  for (const DType dtype : {TypeOf(in, 0), to}) {
    if (!CanCast(dtype)) {
      RejectNode(*in.node, "casts of type " + std::string(Name(dtype)) + " are not supported");
    }
  }
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = to;
  return types;
}

/// Converts a number: floats are truncated toward zero and saturated (NaN gives 0); integers keep
/// their low bits.
template <class To, class From>
To Convert(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // C++ leaves the conversion undefined if the integer type lacks the truncated value.
    if (std::isnan(x)) return 0;
    // As a From, the upper limit of To may round up to a value beyond To, hence >=.
    if (x >= static_cast<From>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
  }
  return static_cast<To>(x);
}

DType Computed(DType dtype) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) return DType::kF32;
  return dtype;
}

Tensor CastTo(const Node& node, const Tensor& x, DType to) {
  Tensor y(to, x.dims());
  const DType from = x.dtype() == DType::kBool ? DType::kU8 : x.dtype();
  WithNumber(node, from, [&]<class From>() {
    const auto values = x.Values<From>();
    if (to == DType::kBool) {
      const auto out = y.MutableValues<std::uint8_t>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[i] != From{0} ? 1 : 0;
      return;
    }
    WithNumber(node, to, [&]<class To>() {
      const auto out = y.template MutableValues<To>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = Convert<To>(values[i]);
    });
  });
  return y;
}

std::vector<Tensor> EvalCast(const Node& node, EvalInputs inputs) {
  const DType to = InferFor(InferCast, node, inputs).front().dtype;
  const Tensor& x = *inputs[0];
  if (x.dtype() == to) return {x};
  // f16 and bf16 have no C++ type here, so casts from and to them go through f32.
  const bool half = Computed(x.dtype()) != x.dtype();
  const Tensor wide = half ? ToF32(x) : CastTo(node, x, Computed(to));
  const Tensor y = half ? CastTo(node, wide, Computed(to)) : wide;
  return {Computed(to) == to ? y : FromF32(y, to)};
}

/// Infers CastLike-15: the output has the type of input 1.
std::vector<ValueType> InferCastLike(const InferInput& in) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!CanCast(TypeOf(in, i))) {
      RejectNode(*in.node,
                 "casts of type " + std::string(Name(TypeOf(in, i))) + " are not supported");
    }
  }
  std::vector<ValueType> types = SameAsFirst(in);
  types[0].dtype = TypeOf(in, 1);
  return types;
}

std::vector<Tensor> EvalCastLike(const Node& node, EvalInputs inputs) {
  (void)InferFor(InferCastLike, node, inputs);
  Node cast = node;
  cast.attrs = {{"to", static_cast<std::int64_t>(inputs[1]->dtype())}};
  return EvalCast(cast, inputs.subspan(0, 1));
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
  ops.Add({.name = "CastLike", .inputs = {2, 2}, .infer = InferCastLike, .eval = EvalCastLike});
  ops.Add({.name = "Cast",
           .inputs = {1, 1},
           .attrs = {{.name = "to", .otherwise = std::int64_t{0}, .required = true}},
           .infer = InferCast,
           .eval = EvalCast});
}

}  // namespace msc
