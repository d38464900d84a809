#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/compress/prune/prune.h"
#include "compiler/ir/graph.h"

namespace msc {

/// A layer as `groups` linear maps of the same size, y = W x + b at every output position. x are
/// the inputs under the kernel, channel by channel; y are the output channels of the group.
struct LinearForm {
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   ///< inputs of one group: channels * taps
  std::int64_t outputs = 0;  ///< outputs of one group
  std::int64_t taps = 1;  ///< consecutive inputs that belong to one index of the weights' in_axis
};

/// Returns the form of Conv, MatMul and Gemm (alpha = beta = 1, transA = 0) in f32; nullopt for
/// others.
[[nodiscard]] std::optional<LinearForm> ReadLinearForm(const Graph& graph,
                                                       const WeightedLayer& layer);

/// ReadRows returns the weights as [groups * outputs, inputs]; WriteRows returns rows as weights.
[[nodiscard]] std::vector<float> ReadRows(const Graph& graph, const WeightedLayer& layer,
                                          const LinearForm& form);

[[nodiscard]] Tensor WriteRows(const Graph& graph, const WeightedLayer& layer,
                               const LinearForm& form, std::span<const float> rows);

/// Picks up to `most` output positions per sample from the shape `y`: [N, M, spatial...] of a Conv,
/// else [..., M]. Equal arguments give equal positions.
[[nodiscard]] std::vector<std::int64_t> PickPositions(const Node& node, const Dims& y,
                                                      std::int64_t most, std::uint64_t seed);

/// Returns x at these positions, one row each: [positions, groups * inputs].
[[nodiscard]] std::vector<float> InputRows(const Graph& graph, const WeightedLayer& layer,
                                           const Tensor& x, const Dims& y,
                                           std::span<const std::int64_t> positions);

/// Returns y at these positions: [positions, M].
[[nodiscard]] std::vector<float> OutputRows(const Node& node, const Tensor& y,
                                            std::span<const std::int64_t> positions);

}  // namespace msc
