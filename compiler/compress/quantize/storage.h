#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// Returns the layer chains whose weights are plain f32 constants, that is, which can still be
/// quantized.
[[nodiscard]] std::vector<LayerChain> FloatLayerChains(const Graph& graph);

/// Returns whether the outputs of `node` contain only elements of its inputs, so that one scale
/// serves all: MaxPool, Concat, Split, Reshape, Flatten, Transpose, Squeeze, Unsqueeze.
[[nodiscard]] bool KeepsRange(const Node& node);

/// Precisions of layers, by the producer of their chain; kF32 is left out.
using LayerPrecisions = std::map<NodeId, Precision>;

/// Which values of a graph are stored narrow if its layers run in given precisions.
struct StoragePlan {
  /// Values that are narrowed right behind their producer, for all readers.
  std::map<ValueId, Precision> stored;
  /// Values that operators pass on in narrow form without a scale of their own.
  std::map<ValueId, Precision> inherited;
};
/// Plans the storage of values. `scaled` are the values with a scale in the plan; others cannot be
/// stored as integers.
[[nodiscard]] StoragePlan PlanStorage(const Graph& graph, const std::vector<LayerChain>& chains,
                                      const LayerPrecisions& precisions,
                                      const std::set<ValueId>& scaled);

}  // namespace msc
