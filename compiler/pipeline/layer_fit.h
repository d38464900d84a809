#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "compiler/compress/prune/prune.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"

namespace msc {

/// What the weights and bias of one layer are fitted to.
struct LayerFit {
  std::size_t number = 0;  ///< index among all weighted layers
  WeightedLayer layer;
  std::string target = {};        ///< value of the original graph to fit to
  std::string residual = {};      ///< value of the changed graph that is added before it, or empty
  NodeId residual_add = kNoNode;  ///< node that adds the residual
  std::size_t residual_input = 0;
  NodeId bias_node = kNoNode;  ///< node that has the bias; kNoNode if there is none
  std::size_t bias_input = 0;
};

/// Returns what to fit a layer to. `chains` are those of the graph. The target is the value
/// behind its bias and, if a residual of the same shape is added, behind the sum, so that one
/// branch compensates for what the other one lost. Returns nullopt if the layer's form is unknown
/// (ReadLinearForm) or its bias is not one number per channel.
[[nodiscard]] std::optional<LayerFit> MakeLayerFit(const Graph& graph, std::size_t number,
                                                   const WeightedLayer& layer,
                                                   std::span<const LayerChain> chains);

}  // namespace msc
