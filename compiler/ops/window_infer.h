#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/ops/conv_kernel.h"
#include "compiler/ops/op.h"

namespace msc {

// Shape inference of convolutions and pools, shared by the ONNX and the fused operators.

enum class WindowKind : std::uint8_t { kConv, kMaxPool, kAveragePool };
/// Returns the attributes of the ONNX operator.
[[nodiscard]] std::vector<AttrSpec> WindowAttrs(WindowKind kind);

/// Infers the shape of Y of a Conv of X [N,C,1 to 3 spatial axes] (input 0), W (input 1) and
/// optional bias [M] (input 2); nullopt if a rank is unknown.
[[nodiscard]] std::optional<Shape> ConvOutputShape(const InferInput& in);
/// Returns the problem for the kernels. ConvOutputShape must have accepted the shapes.
[[nodiscard]] ConvProblem ConvProblemOf(const Node& node, const Tensor& x, const Tensor& w,
                                        const Tensor& y);
/// Returns 2 * elements of Y * C / group * kernel, plus one per element if there is a bias.
[[nodiscard]] double ConvFlops(const Node& node, std::span<const ValueType> in,
                               std::span<const ValueType> out);

/// Infers the shape of Y of a pool of input 0 [N,C,1 to 3 spatial axes]; applies ceil_mode.
[[nodiscard]] std::optional<Shape> PoolOutputShape(const InferInput& in);
/// Infers the shape [N,C,1...] of a global pool of input 0.
[[nodiscard]] std::optional<Shape> GlobalPoolOutputShape(const InferInput& in);
/// Returns the single window of a global pool over `size` consecutive elements.
[[nodiscard]] Window WholeWindow(std::int64_t size);
/// Returns elements of Y * kernel, or elements of X for global pools.
[[nodiscard]] double PoolFlops(const Node& node, std::span<const ValueType> in,
                               std::span<const ValueType> out);
[[nodiscard]] Rounding RoundingOf(const Node& node);

}  // namespace msc
