#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"
#include "compiler/passes/narrowing.h"

namespace msc {

/// Constant weights of a node: a constant, or a constant behind a widening node.
struct Weights {
  ValueId constant = kNoValue;
  TensorPtr tensor;               ///< as stored
  std::optional<Narrowing> form;  ///< storage format, if narrow
  NodeId widening = kNoNode;      ///< or kNoNode
};
[[nodiscard]] std::optional<Weights> ReadWeights(const Graph& graph, ValueId value);
/// Returns the weights in f32, computed by the reference kernel of the widening node.
[[nodiscard]] TensorPtr WidenedWeights(const Graph& graph, const Weights& weights);

/// Nodes that FuseOps fuses into one msc.Conv or msc.Gemm and that quantization treats as one
/// layer: Conv, Gemm or MatMul with constant weights (MatMul of any rank by a matrix), then
/// optionally a constant bias, a residual Add and an activation. The values between them have no
/// other readers.
struct LayerChain {
  NodeId producer = kNoNode;  ///< Conv, Gemm or MatMul by a matrix
  NodeId bias_add = kNoNode;
  NodeId residual_add = kNoNode;
  std::size_t residual_input = 0;  ///< index of the residual among the inputs of residual_add
  Activation activation;
  std::vector<NodeId> activation_nodes;  ///< Swish has two, GELU more
  std::vector<float> slope;              ///< of PRelu: 1 or one per channel
  ValueId output = kNoValue;             ///< result of the chain

  /// Returns all nodes in order.
  [[nodiscard]] std::vector<NodeId> Nodes() const;
};

/// Returns all chains, in the order of their producers. No node belongs to two chains. If both
/// operands of an Add end chains, the Add belongs to the later chain, and the result of the earlier
/// one is its residual.
[[nodiscard]] std::vector<LayerChain> FindLayerChains(const Graph& graph);

/// Returns the axis of the output channels in the weights of a Conv, Gemm or MatMul.
[[nodiscard]] std::size_t ChannelAxis(const Node& producer);
/// Returns the axis of the channels in its output of rank `rank`: 1 for Conv, else the last.
[[nodiscard]] std::size_t OutputChannelAxis(const Node& producer, std::size_t rank);

}  // namespace msc
