#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// Puts per-channel i8 weights behind DequantizeLinear in the place of the f32 weights of the
/// chain's producer: on `grid`, its scales by the largest magnitude where it has none, or on 8 bits
/// so where it is nullptr. A grid
/// with groups puts Reshape, and where channels are the last axis Transpose, behind it.
/// No channel's scale is below its entry of `least`, where there are any; of scales that are all
/// alike, as those of a whole layer are, all are raised. Returns the scales of the channels, or of
/// their groups. UserError if the weights are not finite or the grid does not fit.
std::vector<float> QuantizeWeights(Graph& graph, const LayerChain& chain, const WeightGrid* grid,
                                   std::span<const float> least = {});

/// By channel, the least scale of the weights with which the bias of the chain's producer, at scale
/// x_scale * w_scale, takes 30 bits and a sign, so that sums of products are added to it in 32
/// bits. Weights below it are, all of them together, next to nothing beside that bias: coarser ones
/// lose nothing, while whoever turns an f32 bias to integers at that scale, as ONNX Runtime does,
/// cuts the bias. Empty where there is no such bias.
[[nodiscard]] std::vector<float> LeastWeightScales(const Graph& graph, const LayerChain& chain,
                                                   float x_scale);

/// Puts an i32 bias at scale x_scale * w_scales[c] in the place of the bias of the chain's
/// producer. It stays f32 where that scale is not a normal float or a value does not fit 32 bits.
void QuantizeBias(Graph& graph, const LayerChain& chain, float x_scale,
                  const std::vector<float>& w_scales);

/// Puts bf16 weights behind a Cast to f32 in the place of the f32 weights.
void NarrowWeights(Graph& graph, const LayerChain& chain);

/// `stem` + `suffix`, or the next free name after it, as a new constant.
ValueId AddNamedConstant(Graph& graph, const std::string& stem, const std::string& suffix,
                         Tensor tensor);

}  // namespace msc
