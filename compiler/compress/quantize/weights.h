#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// Replaces the f32 weights of the chain's producer by per-channel i8 weights behind
/// DequantizeLinear. If `grid` is nullptr, weights have 8 bits. Scales come from the largest
/// magnitudes unless the grid lists them. A grid with groups also adds Reshape and, if channels are
/// the last axis, Transpose.
///
/// If `least` is not empty, no channel's scale gets below its entry; if all scales are equal, as
/// those of a whole layer are, all are raised together. Returns the scales of the channels, or of
/// their groups. UserError if the weights are not finite or the grid does not fit.
std::vector<float> QuantizeWeights(Graph& graph, const LayerChain& chain, const WeightGrid* grid,
                                   std::span<const float> least = {});

/// Returns for each channel the least scale of weights at which the bias of the chain's producer,
/// at scale x_scale * w_scale, fits 30 bits and a sign, so that 32-bit sums of products can be
/// added to it. Weights below such a scale are negligible beside that bias, even all together, so a
/// coarser scale loses nothing. With a finer one, runtimes that turn an f32 bias into integers at
/// that scale, such as ONNX Runtime, would clip it. Empty if there is no such bias.
[[nodiscard]] std::vector<float> LeastWeightScales(const Graph& graph, const LayerChain& chain,
                                                   float x_scale);

/// Replaces the bias of the chain's producer by an i32 bias at scale x_scale * w_scales[c]. The
/// bias stays f32 if such a scale is not a normal float or a value does not fit 32 bits.
void QuantizeBias(Graph& graph, const LayerChain& chain, float x_scale,
                  const std::vector<float>& w_scales);

/// Replaces the f32 weights by bf16 weights behind a Cast to f32.
void NarrowWeights(Graph& graph, const LayerChain& chain);

/// Adds a constant named `stem` + `suffix`, or the next free name after it.
ValueId AddNamedConstant(Graph& graph, const std::string& stem, const std::string& suffix,
                         Tensor tensor);

}  // namespace msc
