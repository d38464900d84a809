#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// Layer chains whose weights are plain f32 constants: those that can still be quantized.
[[nodiscard]] std::vector<LayerChain> FloatLayerChains(const Graph& graph);

/// Whether the output of `node` holds elements of its inputs and nothing else, so that one scale
/// serves both: MaxPool, Concat, Reshape, Flatten, Transpose, Squeeze, Unsqueeze.
[[nodiscard]] bool KeepsRange(const Node& node);

/// In which precision a layer runs; the producers of chains, kF32 left out.
using LayerPrecisions = std::map<NodeId, Precision>;

/// Which values of a graph are stored narrow once the layers run as told.
struct StoragePlan {
  /// Values that are narrowed right behind their producer, for all readers.
  std::map<ValueId, Precision> stored;
  /// Values that operators in between hand on in narrow form without a scale of their own.
  std::map<ValueId, Precision> inherited;
};
/// `scaled` holds the values with a scale in the plan: others cannot be stored as integers.
[[nodiscard]] StoragePlan PlanStorage(const Graph& graph, const std::vector<LayerChain>& chains,
                                      const LayerPrecisions& precisions,
                                      const std::set<ValueId>& scaled);

}  // namespace msc
