#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"
#include "compiler/passes/narrowing.h"

namespace msc {

/// Constant weights as a node sees them: a constant, or a constant behind a widening node.
struct Weights {
  ValueId constant = kNoValue;
  TensorPtr tensor;               ///< as stored
  std::optional<Narrowing> form;  ///< how it is stored, if narrow
  NodeId widening = kNoNode;      ///< or kNoNode
};
[[nodiscard]] std::optional<Weights> ReadWeights(const Graph& graph, ValueId value);
/// The weights in f32, computed by the reference kernel of the widening node.
[[nodiscard]] TensorPtr WidenedWeights(const Graph& graph, const Weights& weights);

/// The nodes that FuseOps makes one msc.Conv or msc.Gemm of, and that quantization treats as one
/// layer: Conv, Gemm or MatMul with constant weights (MatMul of any rank by a matrix), then a
/// constant bias, then a residual Add, then an activation, each but the first optional. Nothing
/// else reads the values between them.
struct LayerChain {
  NodeId producer = kNoNode;  ///< Conv; Gemm; MatMul by a matrix
  NodeId bias_add = kNoNode;
  NodeId residual_add = kNoNode;
  std::size_t residual_input = 0;  ///< which input of residual_add is the residual
  Activation activation;
  std::vector<NodeId> activation_nodes;  ///< Swish has two, GELU more
  std::vector<float> slope;              ///< of PRelu: 1 or one per channel
  ValueId output = kNoValue;             ///< what leaves the chain

  /// All of them in order.
  [[nodiscard]] std::vector<NodeId> Nodes() const;
};

/// All chains, in the order of their producers. No node is in two: where both operands of an Add
/// could take it as their residual Add, the later one does, and the earlier one's result is its
/// residual.
[[nodiscard]] std::vector<LayerChain> FindLayerChains(const Graph& graph);

/// Axis of the output channels in the weights of a Conv, Gemm or MatMul.
[[nodiscard]] std::size_t ChannelAxis(const Node& producer);
/// And in its output of that rank: 1 for Conv, else the last.
[[nodiscard]] std::size_t OutputChannelAxis(const Node& producer, std::size_t rank);

}  // namespace msc
