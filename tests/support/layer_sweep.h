#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "tests/support/agreement.h"

namespace msc {

/// One layer of a network in a precision, all others in f32.
struct LayerCase {
  std::string layer;
  Precision precision = Precision::kF32;
  Graph graph;                 ///< the layer and what is near to it, or the whole network
  std::vector<Tensor> inputs;  ///< what the network has there
};

/// How much of a network is computed to try one of its layers.
enum class Extent : std::uint8_t {
  kNear,  ///< what a target may join with it: two nodes before it, three behind, and who feeds them
  kWhole,
};

/// Tries the layers of a network one at a time, on values that it has on one random input.
class LayerSweep {
 public:
  /// `network` is canonical, of static types.
  LayerSweep(Graph network, std::uint64_t seed);
  [[nodiscard]] const std::vector<QuantizableLayer>& layers() const { return layers_; }
  [[nodiscard]] LayerCase CaseOf(const QuantizableLayer& layer, Precision precision,
                                 Extent extent) const;

 private:
  [[nodiscard]] std::vector<NodeId> Near(NodeId layer) const;

  Graph network_;
  std::vector<QuantizableLayer> layers_;
  std::map<ValueId, Tensor> values_;
};

/// The decisions that a case stands for, with the scales that its inputs give.
[[nodiscard]] Strategy StrategyOf(const LayerCase& layer_case);

/// What a target gives otherwise than the reference kernels give on the graph with the strategy
/// applied; nothing where all is right. `agreement` is that of the applied graph.
[[nodiscard]] std::optional<std::string> WrongOn(const std::string& target,
                                                 const LayerCase& layer_case, Strategy strategy,
                                                 const Agreement& agreement,
                                                 const TargetRegistry& registry);

/// Seeded normal values for f32 inputs, zeros for others. All types are static.
[[nodiscard]] std::vector<Tensor> NormalInputs(const Graph& graph, std::uint64_t seed);

}  // namespace msc
