#include "compiler/compress/quantize/weights.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "compiler/compress/quantize/grid.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

constexpr float kLeastScale = std::numeric_limits<float>::min();

/// Returns the number of elements of one channel that lie together in a row-major tensor.
std::int64_t InnerSize(const Tensor& tensor, std::size_t channel_axis) {
  return ElementCount(std::span<const std::int64_t>(tensor.dims()).subspan(channel_axis + 1));
}

/// Calls visit(channel, first, end) for every run of elements of one channel, in order.
template <class Visit>
void ForEachRun(const Tensor& tensor, std::size_t channel_axis, Visit&& visit) {
  const auto channels = static_cast<std::size_t>(tensor.dims().at(channel_axis));
  const auto inner = static_cast<std::size_t>(InnerSize(tensor, channel_axis));
  const auto size = static_cast<std::size_t>(tensor.size());
  for (std::size_t first = 0, channel = 0; first < size; first += inner) {
    visit(channel, first, first + inner);
    if (++channel == channels) channel = 0;
  }
}

/// Scales and their zero points; no zero points if symmetric.
struct Steps {
  int bits = 8;
  std::vector<float> scales = {};
  std::vector<std::int8_t> zeros = {};
};

Tensor QuantizedWeights(const Tensor& weights, std::size_t axis, const Steps& steps) {
  const auto most = static_cast<float>(LargestLevel(steps.bits));
  const float least = steps.zeros.empty() ? -most : -most - 1;
  Tensor quantized(DType::kI8, weights.dims());
  const auto in = weights.Values<float>();
  const auto out = quantized.MutableValues<std::int8_t>();
  ForEachRun(weights, axis, [&](std::size_t channel, std::size_t first, std::size_t end) {
    const float scale = steps.scales[channel];
    const auto zero = static_cast<float>(steps.zeros.empty() ? 0 : steps.zeros[channel]);
    for (std::size_t i = first; i < end; ++i) {
      // nearbyint rounds half to even in the default rounding mode, as QuantizeLinear does.
      const float level = std::nearbyint(in[i] / scale) + zero;
      out[i] = static_cast<std::int8_t>(std::clamp(level, least, most));
    }
  });
  return quantized;
}

// Adds a node with one output in front of the layer's producer. Returns that output.
ValueId AddBefore(Graph& graph, NodeId producer, Node node, ValueType type) {
  const ValueId made = graph.AddValue(graph.FreeValueName(node.name), std::move(type));
  node.name = graph.FreeNodeName(node.name);
  node.outputs = {made};
  graph.AddNode(std::move(node), producer);
  return made;
}

struct Biases {
  std::vector<float> scales;
  std::vector<std::int32_t> values;
};

std::optional<Biases> QuantizedBias(const std::vector<float>& bias, float x_scale,
                                    const std::vector<float>& w_scales) {
  Biases result;
  for (std::size_t c = 0; c < bias.size(); ++c) {
    const float scale = x_scale * w_scales[c];
    if (!(scale >= kLeastScale) || !std::isfinite(scale)) return std::nullopt;
    // The quotient is in double: a float has 24 bits, too few for steps up to 2^30.
    const double steps = std::nearbyint(static_cast<double>(bias[c]) / scale);
    if (!(std::abs(steps) <= std::numeric_limits<std::int32_t>::max())) return std::nullopt;
    result.scales.push_back(scale);
    result.values.push_back(static_cast<std::int32_t>(steps));
  }
  return result;
}

/// Returns the constant bias of the chain's producer, one number per channel.
std::optional<std::vector<float>> BiasOf(const Graph& graph, const LayerChain& chain) {
  const Node& node = graph.node(chain.producer);
  const TensorPtr tensor = node.inputs.size() > 2 ? graph.constant(node.inputs[2]) : nullptr;
  const auto& weights = graph.type(node.inputs[1]).shape;
  if (!tensor || !weights) return std::nullopt;
  const std::size_t rank = node.Is("Gemm") ? 2 : 1;
  return PerChannel(*tensor, rank, rank - 1, weights->at(ChannelAxis(node)).size());
}

bool Alike(const std::vector<float>& scales) {
  return std::all_of(scales.begin(), scales.end(),
                     [&](float scale) { return scale == scales.front(); });
}

/// Raises scales to at least `least`.
void Raise(std::span<const float> least, std::vector<float>& scales) {
  // Grids for a whole layer have equal scales, and hardware for which they are made needs them to
  // stay equal.
  if (least.size() != scales.size()) return;
  const bool alike = Alike(scales);
  const float most = *std::max_element(least.begin(), least.end());
  for (std::size_t c = 0; c < scales.size(); ++c) {
    scales[c] = std::max(scales[c], alike ? most : least[c]);
  }
}

/// Gives channels whose weights are all zero the least scale that is allowed. Zeros are exact at
/// every scale, and their bias, which is rounded at x_scale * w_scale, is then most precise. Scales
/// of a whole layer stay equal if any weight is not zero.
void RefineDead(std::span<const float> least, const std::vector<float>& largest,
                std::vector<float>& scales) {
  if (least.size() != scales.size()) return;
  const bool dead = std::all_of(largest.begin(), largest.end(), [](float w) { return w == 0; });
  if (!dead && scales.size() > 1 && Alike(scales)) return;
  for (std::size_t c = 0; c < scales.size(); ++c) {
    if (largest[c] == 0) scales[c] = std::max(least[c], kLeastScale);
  }
}

/// `inputs` is the number of inputs of a channel.
void CheckGrid(const std::string& layer, const WeightGrid& grid, std::size_t channels,
               std::int64_t inputs) {
  const auto refuse = [&](const std::string& what) {
    throw UserError("quantize plan: the weight grid of layer '" + layer + "' " + what);
  };
  if (grid.bits < 2 || grid.bits > 8) refuse("must have 2 to 8 bits");
  if (grid.group < 0 || (grid.group > 0 && inputs % grid.group != 0)) {
    refuse("has groups of " + std::to_string(grid.group) + " for " + std::to_string(inputs) +
           " inputs a channel");
  }
  const auto groups = static_cast<std::size_t>(grid.group > 0 ? inputs / grid.group : 1);
  const bool by_largest = grid.scales.empty() && grid.group == 0;
  if (!by_largest && grid.scales.size() != channels * groups) {
    refuse("has " + std::to_string(grid.scales.size()) + " scales for " + std::to_string(channels) +
           " output channels" +
           (groups > 1 ? " of " + std::to_string(groups) + " groups" : std::string()));
  }
  if (!grid.zero_points.empty() && grid.zero_points.size() != grid.scales.size()) {
    refuse("has " + std::to_string(grid.zero_points.size()) + " zero points for " +
           std::to_string(grid.scales.size()) + " scales");
  }
  const std::int64_t most = LargestLevel(static_cast<int>(grid.bits));
  for (const std::int64_t zero : grid.zero_points) {
    if (zero < -most - 1 || zero > most) {
      refuse("must have zero points between " + std::to_string(-most - 1) + " and " +
             std::to_string(most));
    }
  }
  for (const double scale : grid.scales) {
    if (!(scale >= kLeastScale) || static_cast<double>(static_cast<float>(scale)) != scale) {
      refuse("must have scales that are positive normal 32-bit floats");
    }
  }
}

}  // namespace

void QuantizeBias(Graph& graph, const LayerChain& chain, float x_scale,
                  const std::vector<float>& w_scales) {
  const Node node = graph.node(chain.producer);
  const auto channels = static_cast<std::int64_t>(w_scales.size());
  const auto bias = BiasOf(graph, chain);
  const auto quantized = bias ? QuantizedBias(*bias, x_scale, w_scales) : std::nullopt;
  if (!quantized) return;
  const std::string stem = graph.value(node.inputs[2]).name;
  const ValueId q =
      AddNamedConstant(graph, stem, "_quantized",
                       Tensor::From<std::int32_t>(DType::kI32, {channels}, quantized->values));
  const ValueId scale = AddNamedConstant(graph, stem, "_scale", Vector(quantized->scales));
  Node widening{.name = stem + "_dequantized",
                .op = "DequantizeLinear",
                .inputs = {q, scale},
                .attrs = {{"axis", std::int64_t{0}}}};
  ValueType type{.dtype = DType::kF32, .shape = Shape{channels}};
  graph.SetInput(chain.producer, 2,
                 AddBefore(graph, chain.producer, std::move(widening), std::move(type)));
}

std::vector<float> LeastWeightScales(const Graph& graph, const LayerChain& chain, float x_scale) {
  const auto bias = BiasOf(graph, chain);
  if (!bias) return {};
  // One bit below 2^31 leaves room for the sum of products to be added to the bias.
  constexpr double kMaxSteps = 1U << 30U;
  std::vector<float> least;
  for (const float value : *bias) {
    // A bias that is not finite stays f32, so it asks for no scale.
    const double most = std::isfinite(value) ? std::abs(static_cast<double>(value)) : 0;
    const double scale = std::max(most / kMaxSteps, static_cast<double>(kLeastScale));
    // The product of two floats may be rounded down, so add a margin.
    constexpr double kRoom = 1.000001;
    constexpr double kMost = std::numeric_limits<float>::max();
    least.push_back(static_cast<float>(std::min(scale / x_scale * kRoom, kMost)));
  }
  return least;
}

namespace {

/// Returns the largest magnitude in each channel.
std::vector<float> LargestWeights(const Tensor& weights, std::size_t channel_axis) {
  std::vector<float> largest(static_cast<std::size_t>(weights.dims().at(channel_axis)), 0.0F);
  const auto values = weights.Values<float>();
  bool finite = true;
  ForEachRun(weights, channel_axis, [&](std::size_t channel, std::size_t first, std::size_t end) {
    float most = largest[channel];
    for (std::size_t i = first; i < end; ++i) {
      const float magnitude = std::abs(values[i]);
      finite = finite && magnitude <= std::numeric_limits<float>::max();  // not if it is NaN
      most = std::max(most, magnitude);
    }
    largest[channel] = most;
  });
  if (!finite) throw UserError("weights that are not finite cannot be quantized");
  return largest;
}

}  // namespace

std::vector<float> WeightScales(const Tensor& weights, std::size_t channel_axis, int bits) {
  std::vector<float> scales = LargestWeights(weights, channel_axis);
  for (float& scale : scales) scale = ScaleFor(scale, bits);
  return scales;
}

ValueId AddNamedConstant(Graph& graph, const std::string& stem, const std::string& suffix,
                         Tensor tensor) {
  return graph.AddConstant(graph.FreeValueName(stem + suffix), std::move(tensor));
}

namespace {

/// Adds integers behind DequantizeLinear along `axis` in front of the producer. Returns the f32
/// value.
ValueId AddWidened(Graph& graph, NodeId producer, const std::string& stem, Tensor quantized,
                   const Steps& steps, std::size_t axis) {
  ValueType type{.dtype = DType::kF32, .shape = Shape()};
  for (const std::int64_t size : quantized.dims()) type.shape->emplace_back(size);
  const ValueId q = AddNamedConstant(graph, stem, "_quantized", std::move(quantized));
  const ValueId scale = AddNamedConstant(graph, stem, "_scale", Vector(steps.scales));
  Tensor zeros(DType::kI8, {std::ssize(steps.scales)});
  std::copy(steps.zeros.begin(), steps.zeros.end(), zeros.MutableValues<std::int8_t>().begin());
  const ValueId zero_point = AddNamedConstant(graph, stem, "_zero_point", std::move(zeros));
  Node widening{.name = stem + "_dequantized",
                .op = "DequantizeLinear",
                .inputs = {q, scale, zero_point},
                .attrs = {{"axis", static_cast<std::int64_t>(axis)}}};
  return AddBefore(graph, producer, std::move(widening), std::move(type));
}

/// Replaces the weights by weights with several scales per channel: a matrix with one row for each
/// scale, which Reshape and, if channels are the last axis, Transpose turn into what the layer
/// reads. Runtimes only need DequantizeLinear along an axis (opset 13); blocks require opset 21.
void AddGrouped(Graph& graph, const LayerChain& chain, std::int64_t group, const Steps& steps) {
  const Node node = graph.node(chain.producer);
  const TensorPtr weights = graph.constant(node.inputs[1]);
  const bool turned = ChannelAxis(node) != 0;  // [inputs, channels]
  Dims dims = weights->dims();
  if (turned) std::swap(dims[0], dims[1]);
  Tensor rows(DType::kF32, {std::ssize(steps.scales), group});
  const auto from = weights->Values<float>();
  const auto to = rows.MutableValues<float>();
  // Rows of groups are consecutive inputs of one channel.
  for (std::size_t i = 0; i < to.size(); ++i) {
    const auto inputs = static_cast<std::size_t>(dims[1]);
    to[i] = from[turned ? i % inputs * static_cast<std::size_t>(dims[0]) + i / inputs : i];
  }
  const std::string stem = graph.value(node.inputs[1]).name;
  ValueId value =
      AddWidened(graph, chain.producer, stem, QuantizedWeights(rows, 0, steps), steps, 0);
  ValueType type = graph.type(node.inputs[1]);
  if (turned) type.shape = Shape{dims[0], dims[1]};
  Node reshape{.name = stem + "_rows",
               .op = "Reshape",
               .inputs = {value, AddNamedConstant(graph, stem, "_dims",
                                                  Tensor::From<std::int64_t>(
                                                      DType::kI64, {std::ssize(dims)}, dims))}};
  value = AddBefore(graph, chain.producer, std::move(reshape), type);
  if (turned) {
    Node transpose{.name = stem + "_turned",
                   .op = "Transpose",
                   .inputs = {value},
                   .attrs = {{"perm", std::vector<std::int64_t>{1, 0}}}};
    value = AddBefore(graph, chain.producer, std::move(transpose), graph.type(node.inputs[1]));
  }
  graph.SetInput(chain.producer, 1, value);
}

}  // namespace

std::vector<float> QuantizeWeights(Graph& graph, const LayerChain& chain, const WeightGrid* grid,
                                   std::span<const float> least) {
  const Node node = graph.node(chain.producer);
  const TensorPtr weights = graph.constant(node.inputs[1]);
  const std::size_t axis = ChannelAxis(node);
  if (grid != nullptr) {
    const std::int64_t channels = weights->dims().at(axis);
    CheckGrid(node.name, *grid, static_cast<std::size_t>(channels),
              weights->size() / std::max<std::int64_t>(channels, 1));
  }
  Steps steps{.bits = grid == nullptr ? 8 : static_cast<int>(grid->bits)};
  steps.scales = WeightScales(*weights, axis, steps.bits);
  if (grid != nullptr && !grid->scales.empty()) {
    steps.scales.assign(grid->scales.begin(), grid->scales.end());
    for (const std::int64_t zero : grid->zero_points) {
      steps.zeros.push_back(static_cast<std::int8_t>(zero));
    }
  }
  if (grid != nullptr && grid->group > 0) {
    AddGrouped(graph, chain, grid->group, steps);
    return steps.scales;
  }
  if (!least.empty()) {
    Raise(least, steps.scales);
    RefineDead(least, LargestWeights(*weights, axis), steps.scales);
  }
  // Copy the name: the graph's own string moves when constants are added.
  const std::string stem = graph.value(node.inputs[1]).name;
  const ValueId widened =
      AddWidened(graph, chain.producer, stem, QuantizedWeights(*weights, axis, steps), steps, axis);
  graph.SetInput(chain.producer, 1, widened);
  return steps.scales;
}

void NarrowWeights(Graph& graph, const LayerChain& chain) {
  const Node node = graph.node(chain.producer);
  const TensorPtr weights = graph.constant(node.inputs[1]);
  Tensor narrow(DType::kBF16, weights->dims());
  std::transform(weights->Values<float>().begin(), weights->Values<float>().end(),
                 narrow.MutableValues<std::uint16_t>().begin(), ToBF16);
  const std::string stem = graph.value(node.inputs[1]).name;
  const ValueId stored = AddNamedConstant(graph, stem, "_bf16", std::move(narrow));
  Node widening{.name = stem + "_f32",
                .op = "Cast",
                .inputs = {stored},
                .attrs = {{"to", static_cast<std::int64_t>(DType::kF32)}}};
  graph.SetInput(chain.producer, 1,
                 AddBefore(graph, chain.producer, std::move(widening), graph.type(node.inputs[1])));
}

}  // namespace msc
