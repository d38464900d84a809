#pragma once

#include <optional>
#include <span>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"

namespace msc {

/// Puts per-channel i8 weights behind DequantizeLinear in the place of the f32 weights of the
/// chain's producer, and an i32 bias at scale x_scale * w_scale[c] in the place of its bias. The
/// bias stays f32 where that scale is not a normal float or a value does not fit 32 bits.
/// UserError if the weights are not finite.
void QuantizeWeights(Graph& graph, const LayerChain& chain, float x_scale);

/// Puts bf16 weights behind a Cast to f32 in the place of the f32 weights.
void NarrowWeights(Graph& graph, const LayerChain& chain);

/// `stem` + `suffix`, or the next free name after it, as a new constant.
ValueId AddNamedConstant(Graph& graph, const std::string& stem, const std::string& suffix,
                         Tensor tensor);

}  // namespace msc
