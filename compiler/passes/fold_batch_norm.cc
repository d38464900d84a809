#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/chain.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// y = factor[c] * x + offset[c]
struct PerChannelAffine {
  std::vector<double> factor;
  std::vector<double> offset;
};

// A layer whose weights and bias this pass may rewrite.
struct Layer {
  NodeId id = kNoNode;
  TensorPtr weights;
  std::size_t channel_axis = 0;
  std::int64_t channels = 0;
  std::vector<double> bias = {};  ///< multiplied by beta, for Gemm
};

bool IsMatrixProduct(const Graph& graph, const Node& node) {
  return (node.Is("Gemm") || node.Is("MatMul")) && Rank(graph.type(node.inputs[0])) == 2;
}

std::optional<std::vector<double>> ReadBias(const Graph& graph, const Node& node,
                                            std::int64_t channels) {
  if (!node.HasInput(2)) return std::vector<double>(static_cast<std::size_t>(channels), 0.0);
  const TensorPtr tensor = graph.constant(node.inputs[2]);
  const std::size_t rank = node.Is("Gemm") ? 2 : 1;
  const auto bias = tensor ? PerChannel(*tensor, rank, rank - 1, channels) : std::nullopt;
  if (!bias) return std::nullopt;
  const double beta = node.Is("Gemm") ? AttrOr<float>(node, "beta", 1.0F) : 1.0;
  std::vector<double> values(bias->begin(), bias->end());
  for (double& value : values) value *= beta;
  return values;
}

std::optional<Layer> ReadLayer(const Graph& graph, NodeId id) {
  if (id == kNoNode) return std::nullopt;
  const Node& node = graph.node(id);
  if (!node.Is("Conv") && !IsMatrixProduct(graph, node)) return std::nullopt;
  Layer layer{
      .id = id, .weights = graph.constant(node.inputs[1]), .channel_axis = 0, .channels = 0};
  if (!layer.weights || layer.weights->dtype() != DType::kF32) return std::nullopt;
  const std::size_t rank = layer.weights->dims().size();
  if (node.Is("Conv") ? rank < 3 : rank != 2) return std::nullopt;
  layer.channel_axis = ChannelAxis(node);
  layer.channels = layer.weights->dims()[layer.channel_axis];
  auto bias = ReadBias(graph, node, layer.channels);
  if (!bias) return std::nullopt;
  layer.bias = std::move(*bias);
  return layer;
}

std::optional<std::vector<double>> ChannelConstant(const Graph& graph, ValueId value,
                                                   std::int64_t channels) {
  const TensorPtr tensor = graph.constant(value);
  if (!tensor || tensor->dtype() != DType::kF32 || tensor->size() != channels) return std::nullopt;
  const auto values = tensor->Values<float>();
  return std::vector<double>(values.begin(), values.end());
}

// Reads BatchNormalization-15 in inference: (x - mean) / sqrt(var + epsilon) * scale + B.
std::optional<PerChannelAffine> ReadBatchNorm(const Graph& graph, const Node& node,
                                              const Layer& layer) {
  if (AttrOr<std::int64_t>(node, "training_mode", 0) != 0 || node.inputs.size() < 5) {
    return std::nullopt;
  }
  const auto scale = ChannelConstant(graph, node.inputs[1], layer.channels);
  const auto shift = ChannelConstant(graph, node.inputs[2], layer.channels);
  const auto mean = ChannelConstant(graph, node.inputs[3], layer.channels);
  const auto var = ChannelConstant(graph, node.inputs[4], layer.channels);
  if (!scale || !shift || !mean || !var) return std::nullopt;
  const double epsilon = AttrOr<float>(node, "epsilon", 1e-5F);
  PerChannelAffine affine;
  for (std::size_t c = 0; c < scale->size(); ++c) {
    const double factor = (*scale)[c] / std::sqrt((*var)[c] + epsilon);
    if (!std::isfinite(factor)) return std::nullopt;
    affine.factor.push_back(factor);
    affine.offset.push_back((*shift)[c] - (*mean)[c] * factor);
  }
  return affine;
}

// Reads Mul or Add of `y`, the layer's output, and a constant per channel.
std::optional<PerChannelAffine> ReadConstantOp(const Graph& graph, const Node& node, ValueId y,
                                               const Layer& layer) {
  const ValueId other = node.inputs[0] == y ? node.inputs[1] : node.inputs[0];
  const TensorPtr tensor = graph.constant(other);
  const auto rank = Rank(graph.type(y));
  const auto values = tensor && rank ? PerChannel(*tensor, *rank, 1, layer.channels) : std::nullopt;
  if (!values) return std::nullopt;
  PerChannelAffine affine;
  const bool is_mul = node.Is("Mul");
  for (const float value : *values) {
    affine.factor.push_back(is_mul ? value : 1.0);
    affine.offset.push_back(is_mul ? 0.0 : value);
  }
  return affine;
}

std::optional<PerChannelAffine> ReadAffine(const Graph& graph, const Node& node, ValueId y,
                                           const Layer& layer) {
  if (node.Is("BatchNormalization")) return ReadBatchNorm(graph, node, layer);
  if (node.Is("Mul") || node.Is("Add")) return ReadConstantOp(graph, node, y, layer);
  return std::nullopt;
}

bool AllFinite(const Tensor& weights) {
  const auto values = weights.Values<float>();
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

// Multiplies in double and rounds once. Returns nullopt if a product overflows f32.
std::optional<Tensor> ScaledWeights(const Layer& layer, const std::vector<double>& factor) {
  Tensor scaled = *layer.weights;
  const Dims& dims = scaled.dims();
  const auto inner = static_cast<std::size_t>(
      ElementCount(std::span<const std::int64_t>(dims).subspan(layer.channel_axis + 1)));
  const auto values = scaled.MutableValues<float>();
  if (values.empty()) return scaled;
  bool finite = true;
  for (std::size_t first = 0, channel = 0; first < values.size(); first += inner, ++channel) {
    const double f = factor[channel % factor.size()];
    for (float& value : values.subspan(first, inner)) {
      value = static_cast<float>(value * f);
      finite = finite && std::isfinite(value);
    }
  }
  if (!finite) return std::nullopt;
  return scaled;
}

// Sets the third input to `bias`; MatMul, which has none, becomes Gemm.
void SetBias(Graph& graph, NodeId id, std::span<const float> bias) {
  if (graph.node(id).HasInput(2)) {
    graph.RemoveAttr(id, "beta");
    ReplaceConstant(graph, id, 2, Vector(bias));
    return;
  }
  Node node = graph.node(id);
  if (node.Is("MatMul")) node.op = "Gemm";
  node.attrs.erase("beta");
  const std::string name = graph.FreeValueName(node.name + "_bias");
  node.inputs.resize(3, kNoValue);
  node.inputs[2] = graph.AddConstant(name, Vector(bias));
  const std::vector<NodeId> chain = {id};
  ReplaceChain(graph, chain, std::move(node));
}

// Returns the node that computes `y`: its producer, or the Conv in front of a Squeeze that keeps
// the channels where they are.
NodeId LayerOf(const Graph& graph, ValueId y) {
  const NodeId producer = graph.producer(y);
  if (producer == kNoNode || !graph.node(producer).Is("Squeeze")) return producer;
  const Node& squeeze = graph.node(producer);
  const auto rank = Rank(graph.type(squeeze.inputs[0]));
  const TensorPtr axes = squeeze.HasInput(1) ? graph.constant(squeeze.inputs[1]) : nullptr;
  const NodeId conv = graph.producer(squeeze.inputs[0]);
  if (!rank || !axes || axes->dtype() != DType::kI64 || conv == kNoNode ||
      !graph.node(conv).Is("Conv") || !OnlyReader(graph, squeeze.inputs[0])) {
    return producer;
  }
  for (const std::int64_t axis : axes->Values<std::int64_t>()) {
    if ((axis < 0 ? axis + static_cast<std::int64_t>(*rank) : axis) < 2) return producer;
  }
  return conv;
}

bool FoldInto(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("BatchNormalization") && !node.Is("Mul") && !node.Is("Add")) return false;
  for (std::size_t i = 0; i < std::min<std::size_t>(node.inputs.size(), 2); ++i) {
    const ValueId y = node.inputs[i];
    if (!OnlyReader(graph, y) || (i > 0 && node.Is("BatchNormalization"))) continue;
    const auto layer = ReadLayer(graph, LayerOf(graph, y));
    const auto affine = layer ? ReadAffine(graph, node, y, *layer) : std::nullopt;
    if (!affine) continue;
    // Weights are copied only where a factor changes them: an Add in front of large ones has none.
    const bool scales = std::any_of(affine->factor.begin(), affine->factor.end(),
                                    [](double factor) { return factor != 1.0; });
    auto weights = scales ? ScaledWeights(*layer, affine->factor) : std::nullopt;
    if (scales ? !weights : !AllFinite(*layer->weights)) return false;
    std::vector<float> bias;
    for (std::size_t c = 0; c < layer->bias.size(); ++c) {
      bias.push_back(static_cast<float>(layer->bias[c] * affine->factor[c] + affine->offset[c]));
    }
    if (!Bypass(graph, id, y)) return false;
    if (weights && !(*weights == *layer->weights)) {
      ReplaceConstant(graph, layer->id, 1, std::move(*weights));
    }
    SetBias(graph, layer->id, bias);
    return true;
  }
  return false;
}

}  // namespace

bool FoldBatchNorm(Graph& graph) {
  // Sweep visits nodes in order, so Conv, Mul, Add fold in one sweep.
  return Sweep(graph, [&](NodeId id) { return FoldInto(graph, id); });
}

}  // namespace msc
