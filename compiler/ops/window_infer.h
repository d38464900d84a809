#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/ops/conv_kernel.h"
#include "compiler/ops/op.h"

namespace msc {

// Shapes of convolutions and pools, shared by the ONNX and the fused operators.

enum class WindowKind : std::uint8_t { kConv, kMaxPool, kAveragePool };
/// Attributes of the ONNX operator.
[[nodiscard]] std::vector<AttrSpec> WindowAttrs(WindowKind kind);

/// Shape of Y of a Conv of X [N,C,1 to 3 spatial axes] (input 0), W (input 1) and optional bias [M]
/// (input 2); nullopt where a rank is unknown.
[[nodiscard]] std::optional<Shape> ConvOutputShape(const InferInput& in);
/// The problem for kernels; the shapes were checked by ConvOutputShape.
[[nodiscard]] ConvProblem ConvProblemOf(const Node& node, const Tensor& x, const Tensor& w,
                                        const Tensor& y);
/// 2 * elements of Y * C / group * kernel, plus one for each element where there is a bias.
[[nodiscard]] double ConvFlops(const Node& node, std::span<const ValueType> in,
                               std::span<const ValueType> out);

/// Shape of Y of a pool of input 0 [N,C,1 to 3 spatial axes]; honours ceil_mode.
[[nodiscard]] std::optional<Shape> PoolOutputShape(const InferInput& in);
/// [N,C,1...] of a global pool of input 0.
[[nodiscard]] std::optional<Shape> GlobalPoolOutputShape(const InferInput& in);
/// The one window of a global pool over `size` elements in a row.
[[nodiscard]] Window WholeWindow(std::int64_t size);
/// Elements of Y * kernel, or of X where there is no kernel (global pools).
[[nodiscard]] double PoolFlops(const Node& node, std::span<const ValueType> in,
                               std::span<const ValueType> out);
[[nodiscard]] Rounding RoundingOf(const Node& node);

}  // namespace msc
