#include "compiler/compress/quantize/rescale.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/storage.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

/// Limit of exponents, which keeps products with weights normal numbers.
constexpr int kMaxExponent = 24;
constexpr int kMaxSweeps = 50;

/// Position of the channels in a value between its maker and a reader.
struct Place {
  std::size_t axis = 1;
  std::int64_t block = 1;  ///< consecutive entries along the axis that belong to one channel
};

std::optional<std::int64_t> SizeAt(const Graph& graph, ValueId value, std::size_t axis) {
  const auto& shape = graph.type(value).shape;
  if (!shape || axis >= shape->size() || !(*shape)[axis].known()) return std::nullopt;
  return (*shape)[axis].size();
}

/// Returns the channel of every element of a constant in which axis `axis` consists of blocks of
/// channels.
std::vector<std::int32_t> AlongAxis(const Tensor& tensor, std::size_t axis, std::int64_t block) {
  const std::int64_t inner =
      ElementCount(std::span<const std::int64_t>(tensor.dims()).subspan(axis + 1));
  std::vector<std::int32_t> channel_of(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < channel_of.size(); ++i) {
    const auto entry = static_cast<std::int64_t>(i) / inner % tensor.dims()[axis];
    channel_of[i] = static_cast<std::int32_t>(entry / block);
  }
  return channel_of;
}

/// Returns a constant with one element per channel; it may have further axes of size 1.
std::optional<ChannelConstant> PerChannelConstant(const Graph& graph, NodeId node,
                                                  std::size_t input, std::int64_t channels) {
  const TensorPtr tensor = graph.constant(graph.node(node).inputs[input]);
  if (!tensor || tensor->dtype() != DType::kF32 || tensor->size() != channels) return std::nullopt;
  ChannelConstant constant{.node = node, .input = input};
  for (std::int32_t c = 0; c < channels; ++c) constant.channel_of.push_back(c);
  return constant;
}

/// Returns the constants that scale a layer's output; empty if a factor per channel would not
/// commute with its activation or residual.
std::vector<ChannelConstant> MakersOf(const Graph& graph, const LayerChain& chain) {
  const std::string& activation = chain.activation.op;
  // A factor per channel passes through f if f(s x) = s f(x) for all s > 0. That excludes Clip,
  // whose bounds do not scale, and a residual, whose other operand keeps its scale.
  const bool homogeneous = activation.empty() || activation == "Relu" ||
                           activation == "LeakyRelu" || activation == "PRelu";
  if (!homogeneous || chain.residual_add != kNoNode) return {};
  const Node& node = graph.node(chain.producer);
  const TensorPtr weights = graph.constant(node.inputs[1]);
  const std::size_t axis = ChannelAxis(node);
  const std::int64_t channels = weights->dims()[axis];
  std::vector<ChannelConstant> makers = {
      {.node = chain.producer, .input = 1, .channel_of = AlongAxis(*weights, axis, 1)}};
  std::vector<std::pair<NodeId, std::size_t>> biases;
  if (node.HasInput(2)) biases.emplace_back(chain.producer, 2);
  if (chain.bias_add != kNoNode) {
    const Node& add = graph.node(chain.bias_add);
    biases.emplace_back(chain.bias_add, graph.constant(add.inputs[0]) ? 0 : 1);
  }
  for (const auto& [owner, input] : biases) {
    auto bias = PerChannelConstant(graph, owner, input, channels);
    if (!bias) return {};
    makers.push_back(std::move(*bias));
  }
  return makers;
}

class LinkFinder {
 public:
  explicit LinkFinder(const Graph& graph) : graph_(graph) {
    for (LayerChain& chain : FloatLayerChains(graph)) {
      const NodeId producer = chain.producer;
      chains_.emplace(producer, std::move(chain));
    }
  }

  std::vector<RescaleLink> Run() {
    std::vector<RescaleLink> links;
    for (const NodeId id : graph_.order()) {
      auto link = Start(id);
      if (!link) continue;
      const ValueId value = graph_.FindValue(link->value);
      if (Follow(value, {.axis = link->axis, .block = 1}, *link) && !link->readers.empty()) {
        links.push_back(std::move(*link));
      }
    }
    return links;
  }

 private:
  [[nodiscard]] std::optional<RescaleLink> Start(NodeId id) const {
    const Node& node = graph_.node(id);
    RescaleLink link;
    const auto chain = chains_.find(id);
    if (chain != chains_.end()) {
      link.makers = MakersOf(graph_, chain->second);
      if (link.makers.empty()) return std::nullopt;
      link.channels = graph_.constant(node.inputs[1])->dims()[ChannelAxis(node)];
      link.value = graph_.value(chain->second.output).name;
      const auto rank = Rank(graph_.type(node.outputs[0]));
      if (!rank) return std::nullopt;
      link.axis = OutputChannelAxis(node, *rank);
      return link;
    }
    if (!node.Is("LayerNormalization")) return std::nullopt;
    const auto rank = Rank(graph_.type(node.inputs[0]));
    const std::int64_t axis = AttrOr<std::int64_t>(node, "axis", -1);
    // Normalization over several axes has constants that are no channels.
    if (!rank || (axis != -1 && axis + 1 != static_cast<std::int64_t>(*rank))) return std::nullopt;
    const auto channels = SizeAt(graph_, node.inputs[0], *rank - 1);
    if (!channels) return std::nullopt;
    for (const std::size_t input : {1U, 2U}) {
      if (!node.HasInput(input)) continue;
      auto constant = PerChannelConstant(graph_, id, input, *channels);
      if (!constant) return std::nullopt;
      link.makers.push_back(std::move(*constant));
    }
    link.from_norm = true;
    link.channels = *channels;
    link.axis = *rank - 1;
    link.value = graph_.value(node.outputs[0]).name;
    return link;
  }

  /// Returns whether everything that reads `value` can take a factor per channel. Adds the readers
  /// to `link`.
  bool Follow(ValueId value, const Place& place, RescaleLink& link) const {
    // Outputs of the model must not change, and nothing can be multiplied back behind them.
    if (graph_.IsOutput(value) || IsCaptured(graph_, value)) return false;
    const std::vector<Use>& uses = graph_.uses(value);
    // One reader that cannot take the factors is enough to rule out the link.
    return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return use.index == 0 && (AddReader(use.node, place, link) || Pass(use.node, place, link));
    });
  }

  bool AddReader(NodeId id, const Place& place, RescaleLink& link) const {
    if (!chains_.contains(id)) return false;
    const Node& node = graph_.node(id);
    const Tensor& weights = *graph_.constant(node.inputs[1]);
    ChannelConstant reader{.node = id, .input = 1};
    if (node.Is("Conv")) {
      const auto group = AttrOr<std::int64_t>(node, "group", 1);
      const std::int64_t inputs = weights.dims()[1];
      if (place.axis != 1 || inputs * group != link.channels * place.block) return false;
      reader.channel_of = AlongAxis(weights, 1, 1);
      const std::int64_t of_group = weights.size() / group;
      for (std::size_t i = 0; i < reader.channel_of.size(); ++i) {
        const std::int64_t entry =
            static_cast<std::int64_t>(i) / of_group * inputs + reader.channel_of[i];
        reader.channel_of[i] = static_cast<std::int32_t>(entry / place.block);
      }
    } else {
      const std::size_t axis = 1 - ChannelAxis(node);
      const auto rank = Rank(graph_.type(node.inputs[0]));
      const bool last = rank && place.axis + 1 == *rank;
      if (!last || weights.dims()[axis] != link.channels * place.block) return false;
      reader.channel_of = AlongAxis(weights, axis, place.block);
    }
    link.readers.push_back(std::move(reader));
    return true;
  }

  /// Follows operators that pass a factor per channel on.
  bool Pass(NodeId id, const Place& place, RescaleLink& link) const {
    const Node& node = graph_.node(id);
    const ValueId output = node.outputs.at(0);
    const auto rank = Rank(graph_.type(node.inputs[0]));
    if (!rank || node.outputs.size() != 1) return false;
    const bool last = place.axis + 1 == *rank;
    if (node.Is("MaxPool") || node.Is("AveragePool") || node.Is("GlobalAveragePool") ||
        node.Is("GlobalMaxPool")) {
      return place.axis == 1 && Follow(output, place, link);
    }
    if (node.Is("Flatten")) {
      if (place.axis != 1 || AttrOr<std::int64_t>(node, "axis", 1) != 1) return false;
      const auto size = SizeAt(graph_, output, 1);
      if (!size || *size % link.channels != 0) return false;
      return Follow(output, {.axis = 1, .block = *size / link.channels}, link);
    }
    if (node.Is("Transpose")) {
      const auto perm = AttrOr<std::vector<std::int64_t>>(node, "perm", {});
      const bool stays =
          last && perm.size() == *rank && perm.back() + 1 == static_cast<std::int64_t>(*rank);
      return stays && Follow(output, place, link);
    }
    if (node.Is("Reshape")) {
      const auto new_rank = Rank(graph_.type(output));
      if (!last || !new_rank || *new_rank == 0) return false;
      const auto size = SizeAt(graph_, output, *new_rank - 1);
      if (!size || *size != link.channels * place.block) return false;
      return Follow(output, {.axis = *new_rank - 1, .block = place.block}, link);
    }
    return false;
  }

  const Graph& graph_;
  std::map<NodeId, LayerChain> chains_;
};

void Multiply(const ChannelConstant& constant, const std::vector<float>& factors, Graph& graph) {
  Tensor tensor = *graph.constant(graph.node(constant.node).inputs[constant.input]);
  const auto values = tensor.MutableValues<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= factors[static_cast<std::size_t>(constant.channel_of[i])];
  }
  ReplaceConstant(graph, constant.node, constant.input, std::move(tensor));
}

}  // namespace

std::vector<RescaleLink> FindRescaleLinks(const Graph& canonical) {
  return LinkFinder(canonical).Run();
}

std::vector<float> ChannelMaxima(const Graph& graph, std::span<const ChannelConstant> constants,
                                 std::int64_t channels) {
  std::vector<float> maxima(static_cast<std::size_t>(channels), 0.0F);
  for (const ChannelConstant& constant : constants) {
    const auto values =
        graph.constant(graph.node(constant.node).inputs[constant.input])->Values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      float& most = maxima[static_cast<std::size_t>(constant.channel_of[i])];
      most = std::max(most, std::abs(values[i]));
    }
  }
  return maxima;
}

void RescaleChannels(const RescaleLink& link, std::span<const int> exponents, Graph& graph) {
  Check(std::ssize(exponents) == link.channels, "an exponent a channel");
  std::vector<float> up;
  std::vector<float> down;
  for (const int exponent : exponents) {
    up.push_back(std::ldexp(1.0F, exponent));
    down.push_back(std::ldexp(1.0F, -exponent));
  }
  for (const ChannelConstant& maker : link.makers) Multiply(maker, down, graph);
  for (const ChannelConstant& reader : link.readers) Multiply(reader, up, graph);
}

std::vector<int> SmoothingExponents(std::span<const float> activation,
                                    std::span<const float> weight, double alpha) {
  // In logarithms, products of maxima neither overflow nor underflow.
  Check(activation.size() == weight.size(), "one of each a channel");
  std::vector<double> logs(activation.size(), 0.0);
  double sum = 0;
  double used = 0;
  for (std::size_t c = 0; c < logs.size(); ++c) {
    if (!(activation[c] > 0) || !(weight[c] > 0)) continue;
    logs[c] = alpha * std::log2(activation[c]) - (1 - alpha) * std::log2(weight[c]);
    sum += logs[c];
    used += 1;
  }
  // Scales follow a factor that all channels share, so it changes no rounding; without it,
  // exponents are small.
  const double mean = used > 0 ? sum / used : 0;
  std::vector<int> exponents(logs.size(), 0);
  for (std::size_t c = 0; c < logs.size(); ++c) {
    if (!(activation[c] > 0) || !(weight[c] > 0)) continue;
    exponents[c] =
        std::clamp(static_cast<int>(std::lround(logs[c] - mean)), -kMaxExponent, kMaxExponent);
  }
  return exponents;
}

bool EqualizeLayers(Graph& graph) {
  std::vector<RescaleLink> links = FindRescaleLinks(graph);
  std::erase_if(links, [](const RescaleLink& link) { return link.from_norm; });
  bool changed = false;
  // Layers in a row share weights with both neighbours, so equalizing one pair disturbs the next;
  // sweeps repeat until none moves (Nagel et al., 2019, section 4.1).
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    bool moved = false;
    for (const RescaleLink& link : links) {
      // Use the weights only: a bias has more bits, and is only added to their products.
      const auto made = ChannelMaxima(graph, std::span(link.makers).first(1), link.channels);
      const auto read = ChannelMaxima(graph, link.readers, link.channels);
      std::vector<int> exponents(made.size(), 0);
      for (std::size_t c = 0; c < made.size(); ++c) {
        if (!(made[c] > 0) || !(read[c] > 0)) continue;
        // Half of the ratio; ties are rounded towards 0, so that a second run finds 0.
        const double half = 0.5 * (std::log2(made[c]) - std::log2(read[c]));
        const double rounded = std::copysign(std::ceil(std::abs(half) - 0.5), half);
        exponents[c] = std::clamp(static_cast<int>(rounded), -kMaxExponent, kMaxExponent);
      }
      if (std::all_of(exponents.begin(), exponents.end(), [](int e) { return e == 0; })) continue;
      RescaleChannels(link, exponents, graph);
      moved = true;
    }
    if (!moved) break;
    changed = true;
  }
  return changed;
}

}  // namespace msc
