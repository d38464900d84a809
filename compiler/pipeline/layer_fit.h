#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compiler/compress/prune/prune.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"

namespace msc {

/// What the weights and bias of one layer are fitted to.
struct LayerFit {
  std::size_t number = 0;  ///< among all weighted layers
  WeightedLayer layer;
  std::string target;    ///< value of the graph as it was
  std::string residual;  ///< value of the changed graph that is added on the way there, or empty
  NodeId residual_add = kNoNode;  ///< and the node that adds it
  std::size_t residual_input = 0;
  NodeId bias_node = kNoNode;  ///< and where the bias is, if there is one
  std::size_t bias_input = 0;
};

/// `chain` is the layer's, nullptr where it has none. The target is behind its bias and, where a
/// residual of the same shape is added, behind that: a branch then makes up for what the other one
/// lost. Nothing where the layer's form is not known (ReadLinearForm) or its bias is not one a
/// channel.
[[nodiscard]] std::optional<LayerFit> MakeLayerFit(const Graph& graph, std::size_t number,
                                                   const WeightedLayer& layer,
                                                   const LayerChain* chain);

}  // namespace msc
