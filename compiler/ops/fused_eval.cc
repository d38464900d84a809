#include "compiler/ops/fused_eval.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "compiler/ops/conv_kernel.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/fused.h"
#include "compiler/ops/pool_kernel.h"
#include "compiler/ops/quantize.h"
#include "compiler/ops/window_infer.h"

namespace msc {
namespace {

/// Dequantized tensor, factor * values. `values` of an integer tensor stay integers, so that sums
/// of them are exact.
struct Real {
  std::vector<double> values;
  double factor = 1.0;
};

Real Dequantized(const Tensor& tensor, const QuantParams& params) {
  const bool quantized = tensor.dtype() == DType::kI8 || tensor.dtype() == DType::kU8;
  const double zero = quantized ? static_cast<double>(params.zero_point) : 0.0;
  Real real;
  real.values.resize(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < real.values.size(); ++i) {
    real.values[i] = NumberAt(tensor, static_cast<std::int64_t>(i)) - zero;
  }
  if (quantized) real.factor = static_cast<double>(params.scale);
  return real;
}

/// Rounds to bf16 once. Rounding to f32 first could move a value onto a tie between two bf16
/// numbers, which would then round in the wrong direction; such a value is moved off the tie again.
std::uint16_t RoundToBF16(double value) {
  auto near = static_cast<float>(value);
  constexpr std::uint32_t kHalf = 0x8000U;
  const bool tie = (std::bit_cast<std::uint32_t>(near) & 0xffffU) == kHalf;
  if (tie && static_cast<double>(near) != value) {
    near = std::nextafter(near, static_cast<double>(near) < value
                                    ? std::numeric_limits<float>::infinity()
                                    : -std::numeric_limits<float>::infinity());
  }
  return ToBF16(near);
}

/// Rounds real numbers to the elements of `y`.
void Store(const std::vector<double>& values, const FusedAttrs& attrs, Tensor& y) {
  const auto at = [&](std::size_t i) { return values[i]; };
  const auto scale = static_cast<double>(attrs.y.scale);
  switch (y.dtype()) {
    case DType::kF32: {
      const auto to = y.MutableValues<float>();
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(at(i));
      return;
    }
    case DType::kBF16: {
      const auto to = y.MutableValues<std::uint16_t>();
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = RoundToBF16(at(i));
      return;
    }
    case DType::kI8: {
      const auto to = y.MutableValues<std::int8_t>();
      for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = static_cast<std::int8_t>(
            QuantizeScaled(at(i) / scale, attrs.y.zero_point, RangeOf(DType::kI8)));
      }
      return;
    }
    default: {
      const auto to = y.MutableValues<std::uint8_t>();
      for (std::size_t i = 0; i < to.size(); ++i) {
        to[i] = static_cast<std::uint8_t>(
            QuantizeScaled(at(i) / scale, attrs.y.zero_point, RangeOf(DType::kU8)));
      }
    }
  }
}

/// Returns entry `channel` of an optional list, which has one shared entry or one per channel.
double EntryOf(const Tensor* list, std::size_t channel, double otherwise) {
  if (list == nullptr) return otherwise;
  const auto values = list->Values<float>();
  return static_cast<double>(values[values.size() == 1 ? 0 : channel]);
}

/// Applies the epilogue of Conv and Gemm to the sums of products. `plane` is the distance between
/// two channels in Y.
void Finish(const Node& node, FusedInputs inputs, std::vector<double> sums, std::size_t plane,
            Tensor& y) {
  const FusedAttrs attrs = ReadFusedAttrs(node);
  const Tensor& x = *inputs[kFusedX];
  const Tensor& w = *inputs[kFusedW];
  const Tensor* residual = InputAt(inputs, kFusedResidual);
  const Real r = residual == nullptr ? Real{} : Dequantized(*residual, attrs.r);
  const double x_scale = IsFloat(x.dtype()) ? 1.0 : static_cast<double>(attrs.x.scale);
  const auto channels = static_cast<std::size_t>(w.dims()[0]);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t channel = i / plane % channels;
    const double scale = x_scale * EntryOf(InputAt(inputs, kFusedWeightScale), channel, 1.0);
    double value = sums[i] * scale + EntryOf(InputAt(inputs, kFusedBias), channel, 0.0);
    if (residual != nullptr) value += r.values[i] * r.factor;
    const double slope = EntryOf(InputAt(inputs, kFusedSlope), channel, 0.0);
    sums[i] = Activate(attrs.activation, value, slope);
  }
  Store(sums, attrs, y);
}

PoolKind PoolKindOf(const Node& node) {
  if (AttrOr(node, "op", std::string()) == "MaxPool") return PoolKind::kMax;
  return AttrOr(node, "count_include_pad", std::int64_t{0}) != 0 ? PoolKind::kAverageWithPadding
                                                                 : PoolKind::kAverage;
}

}  // namespace

void EvalFusedConv(const Node& node, FusedInputs inputs, Tensor& y) {
  const FusedAttrs attrs = ReadFusedAttrs(node);
  const Real x = Dequantized(*inputs[kFusedX], attrs.x);
  const Real w = Dequantized(*inputs[kFusedW], {});
  const ConvProblem problem = ConvProblemOf(node, *inputs[kFusedX], *inputs[kFusedW], y);
  std::vector<double> sums(static_cast<std::size_t>(y.size()));
  if (sums.empty()) return;
  Convolve(problem, x.values.data(), w.values.data(), sums.data());
  const auto planes = static_cast<std::size_t>(problem.batch * problem.out_channels);
  const std::size_t plane = sums.size() / planes;
  Finish(node, inputs, std::move(sums), plane, y);
}

void EvalFusedGemm(const Node& node, FusedInputs inputs, Tensor& y) {
  const FusedAttrs attrs = ReadFusedAttrs(node);
  const Real x = Dequantized(*inputs[kFusedX], attrs.x);
  const Real w = Dequantized(*inputs[kFusedW], {});
  const std::int64_t depth = inputs[kFusedX]->dims().back();
  const std::int64_t columns = y.dims().back();
  const MatMulProblem problem{.m = columns == 0 ? 0 : y.size() / columns, .k = depth, .n = columns};
  std::vector<double> transposed(w.values.size());
  for (std::int64_t m = 0; m < problem.n; ++m) {
    for (std::int64_t k = 0; k < problem.k; ++k) {
      transposed[static_cast<std::size_t>(k * problem.n + m)] =
          w.values[static_cast<std::size_t>(m * problem.k + k)];
    }
  }
  std::vector<double> sums(static_cast<std::size_t>(y.size()));
  if (sums.empty()) return;
  MultiplyMatrices(problem, x.values.data(), transposed.data(), sums.data());
  Finish(node, inputs, std::move(sums), 1, y);
}

void EvalFusedBinary(const Node& node, FusedInputs inputs, Tensor& y) {
  const FusedAttrs attrs = ReadFusedAttrs(node);
  const Real a = Dequantized(*inputs[0], attrs.x);
  const Real b = Dequantized(*inputs[1], attrs.r);
  const bool add = AttrOr(node, "op", std::string()) == "Add";
  const Dims& dims = y.dims();
  const Dims stride_a = BroadcastStrides(inputs[0]->dims(), dims);
  const Dims stride_b = BroadcastStrides(inputs[1]->dims(), dims);
  const std::int64_t row = dims.empty() ? 1 : dims.back();
  const std::int64_t step_a = dims.empty() ? 0 : stride_a.back();
  const std::int64_t step_b = dims.empty() ? 0 : stride_b.back();
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(y.size()));
  ForEachRow(dims, {stride_a, stride_b}, [&](std::span<const std::int64_t> at) {
    for (std::int64_t i = 0; i < row; ++i) {
      const double left = a.values[static_cast<std::size_t>(at[0] + i * step_a)] * a.factor;
      const double right = b.values[static_cast<std::size_t>(at[1] + i * step_b)] * b.factor;
      values.push_back(Activate(attrs.activation, add ? left + right : left * right, 0.0));
    }
  });
  Store(values, attrs, y);
}

void EvalFusedPool(const Node& node, FusedInputs inputs, Tensor& y) {
  const FusedAttrs attrs = ReadFusedAttrs(node);
  const Real x = Dequantized(*inputs[0], attrs.x);
  const Dims& x_dims = inputs[0]->dims();
  const auto tail = [](const Dims& dims) { return Dims(dims.begin() + 2, dims.end()); };
  PoolProblem problem{.kind = PoolKindOf(node),
                      .planes = x_dims[0] * x_dims[1],
                      .in = tail(x_dims),
                      .out = tail(y.dims())};
  if (AttrOr(node, "op", std::string()) == "GlobalAveragePool") {
    const std::int64_t plane = ElementCount(problem.in);
    problem.in = {plane};
    problem.out = {1};
    problem.window = WholeWindow(plane);
  } else {
    problem.window = ReadWindow(node, problem.in, {});
  }
  std::vector<double> values(static_cast<std::size_t>(y.size()));
  Pool<double>(problem, x.values.data(), values.data(), nullptr);
  for (double& value : values) value = Activate(attrs.activation, value * x.factor, 0.0);
  Store(values, attrs, y);
}

}  // namespace msc
