#include "compiler/passes/chain.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "compiler/ops/op.h"
#include "compiler/passes/activation.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

std::int64_t ChannelCount(const Graph& graph, const Node& producer) {
  const auto weights = ReadWeights(graph, producer.inputs[1]);
  return weights->tensor->dims().at(ChannelAxis(producer));
}

bool IsF32(const Graph& graph, ValueId value) {
  return graph.type(value).dtype == DType::kF32;
}

// Returns whether `value` is a constant bias, f32 after widening, that broadcasts along the last
// axis of `rank` or has length M.
bool IsPlainBias(const Graph& graph, ValueId value, std::size_t rank, std::int64_t channels) {
  const auto bias = ReadWeights(graph, value);
  if (!bias || !IsF32(graph, value)) return false;
  const Dims& dims = bias->tensor->dims();
  if (dims.size() > rank) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 1 && !(i + 1 == dims.size() && dims[i] == channels)) return false;
  }
  return true;
}

bool IsLayerProducer(const Graph& graph, const Node& node) {
  const bool conv = node.Is("Conv");
  const bool gemm = node.Is("Gemm");
  if (!conv && !gemm && !node.Is("MatMul")) return false;
  if (!node.HasInput(1) || !IsF32(graph, node.inputs[0]) || !IsF32(graph, node.inputs[1]) ||
      !IsF32(graph, node.outputs.front())) {
    return false;
  }
  const auto weights = ReadWeights(graph, node.inputs[1]);
  const auto rank = Rank(graph.type(node.inputs[0]));
  if (!weights || !rank) return false;
  if (conv) {
    if (*rank < 3 || weights->tensor->dims().size() != *rank) return false;
    return !node.HasInput(2) || IsPlainBias(graph, node.inputs[2], 1, ChannelCount(graph, node));
  }
  if (weights->tensor->dims().size() != 2) return false;
  if (!gemm) return *rank >= 2;
  if (*rank != 2) return false;
  if (AttrOr<std::int64_t>(node, "transA", 0) != 0) return false;
  return !node.HasInput(2) || IsPlainBias(graph, node.inputs[2], 2, ChannelCount(graph, node));
}

ValueId Other(const Node& binary, ValueId value) {
  return binary.inputs[0] == value ? binary.inputs[1] : binary.inputs[0];
}

// Returns the Add that is the only reader of `value`, or kNoNode.
NodeId OnlyAdd(const Graph& graph, ValueId value) {
  const auto reader = OnlyReader(graph, value);
  if (!reader || !graph.node(reader->node).Is("Add")) return kNoNode;
  return reader->node;
}

void TakeBias(const Graph& graph, LayerChain& chain) {
  const Node& producer = graph.node(chain.producer);
  if (producer.HasInput(2)) return;
  const NodeId add = OnlyAdd(graph, chain.output);
  if (add == kNoNode) return;
  const TensorPtr bias = graph.constant(Other(graph.node(add), chain.output));
  const auto rank = Rank(graph.type(chain.output));
  if (!bias || !rank ||
      !PerChannel(*bias, *rank, OutputChannelAxis(producer, *rank),
                  ChannelCount(graph, producer))) {
    return;
  }
  chain.bias_add = add;
  chain.output = graph.node(add).outputs.front();
}

// Results of chains before their residual Add, with the position of their producers.
using Tails = std::map<ValueId, std::size_t>;

void TakeResidual(const Graph& graph, const Tails& tails, LayerChain& chain) {
  const NodeId add = OnlyAdd(graph, chain.output);
  if (add == kNoNode) return;
  const Node& node = graph.node(add);
  const ValueId other = Other(node, chain.output);
  if (ReadWeights(graph, other) || !IsF32(graph, other) ||
      !SurelySameShape(graph.type(other), graph.type(chain.output))) {
    return;
  }
  const auto rival = tails.find(other);
  if (rival != tails.end() && OnlyAdd(graph, other) == add &&
      rival->second > tails.at(chain.output)) {
    return;
  }
  chain.residual_add = add;
  chain.residual_input = node.inputs[0] == other ? 0 : 1;
  chain.output = node.outputs.front();
}

// Returns the slope of PRelu-16 if it broadcasts only along the channels.
std::optional<std::vector<float>> ReadSlope(const Graph& graph, const LayerChain& chain,
                                            ValueId value) {
  const TensorPtr slope = graph.constant(value);
  const auto rank = Rank(graph.type(chain.output));
  if (!slope || !rank) return std::nullopt;
  const Node& producer = graph.node(chain.producer);
  auto values =
      PerChannel(*slope, *rank, OutputChannelAxis(producer, *rank), ChannelCount(graph, producer));
  if (values && slope->size() == 1) values->resize(1);
  return values;
}

void TakeActivation(const Graph& graph, LayerChain& chain) {
  ActivationMatch match = FindActivation(graph, chain.output);
  if (match.nodes.empty()) return;
  if (match.slope != kNoValue) {
    auto slope = ReadSlope(graph, chain, match.slope);
    if (!slope) return;
    chain.slope = std::move(*slope);
  }
  chain.activation = match.activation;
  chain.activation_nodes = std::move(match.nodes);
  chain.output = graph.node(chain.activation_nodes.back()).outputs.front();
}

}  // namespace

std::optional<Weights> ReadWeights(const Graph& graph, ValueId value) {
  if (TensorPtr tensor = graph.constant(value)) {
    return Weights{value, std::move(tensor), std::nullopt, kNoNode};
  }
  const auto source = NarrowSource(graph, value);
  if (!source || graph.constant(source->value) == nullptr) return std::nullopt;
  return Weights{source->value, graph.constant(source->value), source->form, source->widening};
}

TensorPtr WidenedWeights(const Graph& graph, const Weights& weights) {
  if (weights.widening == kNoNode) return weights.tensor;
  const Node& node = graph.node(weights.widening);
  std::vector<const Tensor*> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(graph.constant(input).get());
  return std::make_shared<const Tensor>(Ops().Get(node).eval(node, inputs).front());
}

std::vector<NodeId> LayerChain::Nodes() const {
  std::vector<NodeId> nodes = {producer};
  if (bias_add != kNoNode) nodes.push_back(bias_add);
  if (residual_add != kNoNode) nodes.push_back(residual_add);
  nodes.insert(nodes.end(), activation_nodes.begin(), activation_nodes.end());
  return nodes;
}

std::size_t ChannelAxis(const Node& producer) {
  if (producer.Is("Conv")) return 0;
  return producer.Is("Gemm") && AttrOr<std::int64_t>(producer, "transB", 0) != 0 ? 0 : 1;
}

std::size_t OutputChannelAxis(const Node& producer, std::size_t rank) {
  return producer.Is("Conv") ? 1 : rank - 1;
}

std::vector<LayerChain> FindLayerChains(const Graph& graph) {
  std::vector<LayerChain> chains;
  Tails tails;
  for (std::size_t i = 0; i < graph.order().size(); ++i) {
    const NodeId id = graph.order()[i];
    const Node& node = graph.node(id);
    if (!IsLayerProducer(graph, node)) continue;
    LayerChain chain;
    chain.producer = id;
    chain.output = node.outputs.front();
    TakeBias(graph, chain);
    tails.emplace(chain.output, i);
    chains.push_back(std::move(chain));
  }
  for (LayerChain& chain : chains) {
    TakeResidual(graph, tails, chain);
    TakeActivation(graph, chain);
  }
  return chains;
}

}  // namespace msc
