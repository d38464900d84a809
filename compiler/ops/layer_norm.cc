#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Operators that normalize by statistics of their input. Source: ONNX operator pages
// LayerNormalization-17, InstanceNormalization-6, LpNormalization-1, LRN-13.

namespace msc {
namespace {

constexpr double kFlopsEach = 8.0;  ///< two passes, a division, scale and bias

std::size_t AxisOf(const Node& node, std::size_t rank) {
  return NormalAxis(node, AttrOr(node, "axis", std::int64_t{-1}), rank);
}

std::vector<ValueType> InferLayerNorm(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  for (std::size_t i = 1; i < in.types.size(); ++i) {
    if (HasInput(in, i)) RequireSameType(in, 0, i);
  }
  if (AttrOr(node, "stash_type", std::int64_t{1}) != 1) {
    RejectNode(node, "statistics of another type than f32 are not supported");
  }
  ValueType y = SameAsFirst(in)[0];
  ValueType statistic{.dtype = y.dtype, .shape = y.shape};
  // LayerNormalization-17 gives the statistics in f32 under stash_type 1, also for f16 and bf16.
  if (y.dtype != DType::kUndefined && y.dtype != DType::kF64) statistic.dtype = DType::kF32;
  if (statistic.shape) {
    const std::size_t axis = AxisOf(node, statistic.shape->size());
    for (std::size_t i = axis; i < statistic.shape->size(); ++i) (*statistic.shape)[i] = 1;
    for (std::size_t i = 1; i < in.types.size(); ++i) {
      const Shape* given = ShapeOf(in, i);
      if (given == nullptr) continue;
      // Scale and bias broadcast to X, but X must not grow.
      const Shape joined = BroadcastShapes(node, *y.shape, *given);
      bool stretches = joined.size() == y.shape->size();
      for (std::size_t k = 0; stretches && k < joined.size(); ++k) {
        const Dim& dim = (*y.shape)[k];
        stretches = !dim.known() || !joined[k].known() || dim.size() == joined[k].size();
      }
      if (!stretches) {
        RejectNode(node, "input " + std::to_string(i) + " " + ToString(*given) +
                             " does not stretch to " + ToString(*y.shape));
      }
    }
  }
  return {std::move(y), statistic, statistic};
}

/// Returns the mean and 1 / sqrt(variance + epsilon) of `count` values. Takes two passes, because
/// mean(x^2) - mean(x)^2 cancels if the mean is large.
template <class T>
std::pair<double, double> Statistics(const T* x, std::size_t count, double epsilon) {
  double sum = 0.0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  const double mean = sum / static_cast<double>(count);
  double squares = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    const double d = static_cast<double>(x[i]) - mean;
    squares += d * d;
  }
  return {mean, 1.0 / std::sqrt(squares / static_cast<double>(count) + epsilon)};
}

template <class T>
void LayerNormInto(const Node& node, EvalInputs inputs, std::vector<Tensor>& outputs) {
  const Tensor& x = *inputs[0];
  const auto epsilon = static_cast<double>(AttrOr(node, "epsilon", 1e-5F));
  const std::size_t axis = AxisOf(node, x.dims().size());
  const auto count = static_cast<std::size_t>(
      ElementCount(Dims(x.dims().begin() + static_cast<std::ptrdiff_t>(axis), x.dims().end())));
  // Scale and bias broadcast to X (unidirectional): read them row by row with broadcast strides.
  const Dims scale_strides = BroadcastStrides(inputs[1]->dims(), x.dims());
  const Tensor* bias = InputAt(inputs, 2);
  const Dims bias_strides =
      bias == nullptr ? Dims(x.dims().size(), 0) : BroadcastStrides(bias->dims(), x.dims());
  const T* from = x.Values<T>().data();
  T* to = outputs[0].MutableValues<T>().data();
  const auto means = outputs[1].MutableValues<T>();
  const auto factors = outputs[2].MutableValues<T>();
  const auto row = static_cast<std::size_t>(x.dims().back());
  std::size_t at = 0;
  double mean = 0.0;
  double factor = 1.0;
  ForEachRow(x.dims(), {scale_strides, bias_strides}, [&](std::span<const std::int64_t> offsets) {
    // `count` is a multiple of a row, so the statistics change only at the beginning of a row.
    if (at % count == 0) {
      std::tie(mean, factor) = Statistics(from + at, count, epsilon);
      means[at / count] = static_cast<T>(mean);
      factors[at / count] = static_cast<T>(factor);
    }
    for (std::size_t i = 0; i < row; ++i, ++at) {
      const auto step = static_cast<std::int64_t>(i);
      const auto scale =
          inputs[1]
              ->Values<T>()[static_cast<std::size_t>(offsets[0] + step * scale_strides.back())];
      // Everything is in double, so the result rounds once.
      double value = (static_cast<double>(from[at]) - mean) * factor * static_cast<double>(scale);
      if (bias != nullptr) {
        value += static_cast<double>(
            bias->Values<T>()[static_cast<std::size_t>(offsets[1] + step * bias_strides.back())]);
      }
      to[at] = static_cast<T>(value);
    }
  });
}

std::vector<Tensor> EvalLayerNorm(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLayerNorm, node, inputs);
  if (outputs[0].size() == 0) return outputs;
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() { LayerNormInto<T>(node, inputs, outputs); });
  return outputs;
}

/// Does the same as ViaF32, but for the first output only: mean and factor stay f32.
std::vector<Tensor> EvalLayerNormOfHalves(const Node& node, EvalInputs inputs) {
  const DType dtype = inputs[0]->dtype();
  if (dtype != DType::kF16 && dtype != DType::kBF16) return EvalLayerNorm(node, inputs);
  (void)InferFor(InferLayerNorm, node, inputs);
  std::vector<Tensor> wide;
  wide.reserve(inputs.size());
  std::vector<const Tensor*> seen;
  for (const Tensor* tensor : inputs) {
    seen.push_back(tensor == nullptr ? nullptr : &wide.emplace_back(ToF32(*tensor)));
  }
  std::vector<Tensor> outputs = EvalLayerNorm(node, seen);
  outputs[0] = FromF32(outputs[0], dtype);
  return outputs;
}

std::vector<ValueType> InferInstanceNorm(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  RequireRank(in, 0, 2);
  std::vector<ValueType> types = SameAsFirst(in);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    RequireSameType(in, 0, i);
    const Shape* list = ShapeOf(in, i);
    if (list == nullptr) continue;
    if (list->size() != 1) {
      RejectNode(*in.node,
                 "input " + std::to_string(i) + " must be a list, not " + ToString(*list));
    }
    if (types[0].shape) {
      (*types[0].shape)[1] = MergeDims(*in.node, (*types[0].shape)[1], list->front());
    }
  }
  return types;
}

std::vector<Tensor> EvalInstanceNorm(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferInstanceNorm, node, inputs);
  if (outputs[0].size() == 0) return outputs;
  const auto epsilon = static_cast<double>(AttrOr(node, "epsilon", 1e-5F));
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    const auto x = inputs[0]->Values<T>();
    const auto scale = inputs[1]->Values<T>();
    const auto bias = inputs[2]->Values<T>();
    const auto y = outputs[0].template MutableValues<T>();
    const auto planes = static_cast<std::size_t>(inputs[0]->dims()[0] * inputs[0]->dims()[1]);
    const std::size_t count = x.size() / planes;
    for (std::size_t p = 0; p < planes; ++p) {
      const auto [mean, factor] = Statistics(x.data() + p * count, count, epsilon);
      const std::size_t c = p % scale.size();
      for (std::size_t i = p * count; i < (p + 1) * count; ++i) {
        y[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * factor *
                                  static_cast<double>(scale[c]) +
                              static_cast<double>(bias[c]));
      }
    }
  });
  return outputs;
}

std::vector<ValueType> InferLpNorm(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  const std::int64_t p = AttrOr(*in.node, "p", std::int64_t{2});
  if (p != 1 && p != 2) RejectNode(*in.node, "attribute 'p' must be 1 or 2");
  if (const Shape* x = ShapeOf(in, 0); x != nullptr) (void)AxisOf(*in.node, x->size());
  return SameAsFirst(in);
}

std::vector<Tensor> EvalLpNorm(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLpNorm, node, inputs);
  const Tensor& x = *inputs[0];
  if (x.size() == 0) return outputs;
  const std::size_t axis = AxisOf(node, x.dims().size());
  const std::int64_t count = x.dims()[axis];
  const std::int64_t stride = StridesOf(x.dims())[axis];
  const bool squares = AttrOr(node, "p", std::int64_t{2}) == 2;
  WithFloat(node, x.dtype(), [&]<class T>() {
    const T* from = x.Values<T>().data();
    T* to = outputs[0].template MutableValues<T>().data();
    for (std::int64_t line = 0; line < x.size() / count; ++line) {
      // A line starts at one of `stride` positions in a block of stride * count elements.
      const std::int64_t begin = line / stride * stride * count + line % stride;
      double sum = 0.0;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto value = static_cast<double>(from[begin + i * stride]);
        sum += squares ? value * value : std::abs(value);
      }
      const double norm = squares ? std::sqrt(sum) : sum;
      for (std::int64_t i = begin; i < begin + count * stride; i += stride) {
        // A line of zeros stays 0 instead of 0 / 0.
        to[i] = norm == 0.0 ? T{0} : static_cast<T>(static_cast<double>(from[i]) / norm);
      }
    }
  });
  return outputs;
}

std::vector<ValueType> InferLrn(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  RequireRank(in, 0, 2);
  if (AttrOr(*in.node, "size", std::int64_t{1}) < 1) {
    RejectNode(*in.node, "attribute 'size' must be at least 1");
  }
  return SameAsFirst(in);
}

std::vector<Tensor> EvalLrn(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferLrn, node, inputs);
  const Dims& dims = inputs[0]->dims();
  const std::int64_t size = AttrOr(node, "size", std::int64_t{1});
  const auto alpha = static_cast<double>(AttrOr(node, "alpha", 1e-4F));
  const auto beta = static_cast<double>(AttrOr(node, "beta", 0.75F));
  const auto bias = static_cast<double>(AttrOr(node, "bias", 1.0F));
  const std::int64_t plane = StridesOf(dims)[1];
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    const T* x = inputs[0]->Values<T>().data();
    T* y = outputs[0].template MutableValues<T>().data();
    for (std::int64_t i = 0; i < outputs[0].size(); ++i) {
      const std::int64_t c = i / plane % dims[1];
      // LRN-13: from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2), and ceil((size - 1) /
      // 2) = size / 2.
      const std::int64_t first = std::max<std::int64_t>(c - (size - 1) / 2, 0);
      const std::int64_t last = std::min<std::int64_t>(c + size / 2, dims[1] - 1);
      double sum = 0.0;
      for (std::int64_t k = first; k <= last; ++k) {
        const auto value = static_cast<double>(x[i + (k - c) * plane]);
        sum += value * value;
      }
      y[i] = static_cast<T>(static_cast<double>(x[i]) /
                            // LRN-13 divides by `size` even at the borders, where fewer channels
                            // are summed.
                            std::pow(bias + alpha / static_cast<double>(size) * sum, beta));
    }
  });
  return outputs;
}

double NormFlops(const Node& /*node*/, std::span<const ValueType> /*in*/,
                 std::span<const ValueType> out) {
  return kFlopsEach * ElementsOf(out[0]);
}

}  // namespace

void RegisterLayerNormOps(OpRegistry& ops) {
  ops.Add({.name = "LayerNormalization",
           .inputs = {2, 3},
           .max_outputs = 3,
           .attrs = {{.name = "axis", .otherwise = std::int64_t{-1}},
                     {.name = "epsilon", .otherwise = 1e-5F},
                     {.name = "stash_type", .otherwise = std::int64_t{1}}},
           .infer = InferLayerNorm,
           .eval = EvalLayerNormOfHalves,
           .flops = NormFlops});
  ops.Add({.name = "InstanceNormalization",
           .inputs = {3, 3},
           .attrs = {{.name = "epsilon", .otherwise = 1e-5F}},
           .infer = InferInstanceNorm,
           .eval = ViaF32(EvalInstanceNorm),
           .flops = NormFlops});
  ops.Add({.name = "LpNormalization",
           .inputs = {1, 1},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{-1}},
                     {.name = "p", .otherwise = std::int64_t{2}}},
           .infer = InferLpNorm,
           .eval = ViaF32(EvalLpNorm),
           .flops = NormFlops});
  ops.Add({.name = "LRN",
           .inputs = {1, 1},
           .attrs = {{.name = "alpha", .otherwise = 1e-4F},
                     {.name = "beta", .otherwise = 0.75F},
                     {.name = "bias", .otherwise = 1.0F},
                     {.name = "size", .otherwise = std::int64_t{0}, .required = true}},
           .infer = InferLrn,
           .eval = ViaF32(EvalLrn),
           .flops = NormFlops});
}

}  // namespace msc
