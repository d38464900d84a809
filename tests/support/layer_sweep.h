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

/// One layer of a network in a precision, with all other layers in f32.
struct LayerCase {
  std::string layer;
  Precision precision = Precision::kF32;
  Graph graph;                 ///< the layer and its neighbourhood, or the whole network
  std::vector<Tensor> inputs;  ///< values of the network at the inputs of `graph`
};

/// How much of a network is computed to test one of its layers.
enum class Extent : std::uint8_t {
  /// The nodes that a target may fuse with the layer: two before it, three after it, and the
  /// producers of their inputs.
  kNear,
  kWhole,
};

/// Tests the layers of a network one at a time, on the values that they have for one random input.
class LayerSweep {
 public:
  /// `network` must be canonical, with static types.
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

/// Returns the strategy of a case, with scales calibrated on its inputs.
[[nodiscard]] Strategy StrategyOf(const LayerCase& layer_case);

/// Returns how the outputs of a target differ from those of the reference kernels on the graph with
/// the strategy applied; nullopt if they agree. `agreement` must belong to that graph.
[[nodiscard]] std::optional<std::string> WrongOn(const std::string& target,
                                                 const LayerCase& layer_case, Strategy strategy,
                                                 const Agreement& agreement,
                                                 const TargetRegistry& registry);

/// Returns seeded, normally distributed values for f32 inputs and zeros for others. All types must
/// be static.
[[nodiscard]] std::vector<Tensor> NormalInputs(const Graph& graph, std::uint64_t seed);

}  // namespace msc
