#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/compress/prune/axes.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/compress/prune/relations.h"
#include "compiler/compress/prune/static_sizes.h"
#include "compiler/compress/prune/unshare.h"
#include "compiler/ops/lstm.h"

namespace msc {
namespace {

bool HasFloats(const Graph& graph, ValueId value) {
  const TensorPtr tensor = graph.constant(value);
  if (tensor == nullptr) return false;
  switch (tensor->dtype()) {
    case DType::kF32:
    case DType::kF64:
    case DType::kF16:
    case DType::kBF16:
      return true;
    default:
      return false;
  }
}

bool IsWeights(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !HasFloats(graph, node.inputs[1])) return false;
  return node.op != "MatMul" || graph.constant(node.inputs[1])->dims().size() == 2;
}

/// Adds the layers whose weights are constant integers: they follow the cuts of others, and no
/// score is computed of their own channels.
void AddIntegerLayers(const Graph& graph, std::vector<FixedLayer>& fixed) {
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    const bool multiplies =
        node.Is("Conv") || node.Is("ConvTranspose") || node.Is("Gemm") || node.Is("MatMul");
    if (!multiplies || !node.HasInput(1)) continue;
    const NodeId producer = graph.producer(node.inputs[1]);
    if (producer == kNoNode || !graph.node(producer).Is("DequantizeLinear")) continue;
    if (graph.constant(graph.node(producer).inputs.at(0)) == nullptr) continue;
    fixed.push_back({node.name, kIntegerWeights});
  }
}

/// A union-find over layers: layers that share a unit are in one group.
class LayerSets {
 public:
  explicit LayerSets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t Find(std::size_t layer) {
    while (parent_[layer] != layer) layer = parent_[layer] = parent_[parent_[layer]];
    return layer;
  }
  /// Unites the sets of two layers; the lower number represents the set.
  void Unite(std::size_t a, std::size_t b) {
    a = Find(a);
    b = Find(b);
    // As the lower number represents a set, a group has the name of its first layer.
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::size_t> parent_;
};

/// Classes of a layer's output channels that can be removed, in channel order, each once.
struct LayerClasses {
  std::vector<std::uint32_t> classes;
  std::int64_t channels = 0;  ///< number of output channels in these classes
  std::string fixed_because;  ///< why a channel cannot be removed
};

LayerClasses ReadLayer(GraphAxes& axes, Axis channels) {
  LayerClasses result;
  std::set<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < channels.size; ++i) {
    const std::uint32_t root = axes.classes.Find(channels, i);
    if (const std::string* reason = axes.classes.FixedBecause(root)) {
      if (result.fixed_because.empty()) result.fixed_because = *reason;
      continue;
    }
    ++result.channels;
    if (seen.insert(root).second) result.classes.push_back(root);
  }
  if (channels.size == 0) result.fixed_because = "its shape is not known before running";
  return result;
}

}  // namespace

std::vector<WeightedLayer> FindWeightedLayers(const Graph& graph) {
  std::vector<WeightedLayer> layers;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!node.domain.empty() || !IsWeights(graph, node)) continue;
    WeightedLayer layer;
    layer.node = id;
    layer.weight = node.inputs[1];
    if (!node.outputs.empty()) layer.channels = node.outputs[0];
    if (node.op == "ConvTranspose") {
      layer.out_axis = 1;
      layer.in_axis = 0;
    } else if (node.op == "Gemm") {
      layer.out_axis = AttrOr(node, "transB", std::int64_t{0}) != 0 ? 0 : 1;
      layer.in_axis = 1 - layer.out_axis;
    } else if (node.op == "MatMul") {
      const auto& shape = graph.type(node.outputs.at(0)).shape;
      if (!shape || shape->empty()) continue;
      layer.out_axis = 1;
      layer.in_axis = 0;
      layer.channel_axis = shape->size() - 1;
    } else if (node.op == "LSTM") {
      if (!HasFloats(graph, node.inputs.at(kLstmR))) continue;
      layer.out_axis = 1;
      layer.in_axis = 2;
      layer.channels = node.inputs[kLstmR];
      layer.channel_axis = 2;
    } else if (node.op != "Conv") {
      continue;
    }
    layers.push_back(layer);
  }
  return layers;
}

PruneSpace::PruneSpace(const Graph& canonical) {
  Graph unshared = canonical;
  UnshareLists(unshared);
  GraphAxes axes = RelateAxes(unshared);
  sizes_ = axes.dims;
  const std::vector<WeightedLayer> layers = FindWeightedLayers(canonical);
  std::vector<LayerClasses> read;
  LayerSets sets(layers.size());
  // Layers that share a class of channels belong to one group.
  std::map<std::uint32_t, std::size_t> layer_of;  // first layer of each class
  for (std::size_t i = 0; i < layers.size(); ++i) {
    read.push_back(ReadLayer(axes, axes.Of(layers[i].channels, layers[i].channel_axis)));
    for (const std::uint32_t root : read.back().classes) {
      sets.Unite(i, layer_of.emplace(root, i).first->second);
    }
  }
  // Groups go by their first layers, and units are numbered group by group.
  std::map<std::uint32_t, std::int32_t> unit_of;
  for (std::size_t first = 0; first < layers.size(); ++first) {
    if (sets.Find(first) != first || read[first].classes.empty()) continue;
    PruneGroup group;
    group.name = canonical.node(layers[first].node).name;
    group.first_unit = unit_count_;
    std::vector<std::uint32_t> roots;
    for (std::size_t i = first; i < layers.size(); ++i) {
      if (sets.Find(i) != first) continue;
      group.layers.push_back(canonical.node(layers[i].node).name);
      for (const std::uint32_t root : read[i].classes) {
        if (layer_of.at(root) == i) roots.push_back(root);
      }
    }
    group.units = roots.size();
    group.unit_channels = read[first].channels / std::ssize(read[first].classes);
    // A single unit cannot be removed: its layer would be left without channels.
    if (group.units < 2) {
      for (std::size_t i = first; i < layers.size(); ++i) {
        if (sets.Find(i) == first) read[i].fixed_because = "all its channels go together";
        if (sets.Find(i) == first) read[i].classes.clear();
      }
      continue;
    }
    for (const std::uint32_t root : roots) {
      unit_of.emplace(root, static_cast<std::int32_t>(unit_count_++));
    }
    groups_.push_back(std::move(group));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!read[i].classes.empty()) continue;
    fixed_.push_back({canonical.node(layers[i].node).name, read[i].fixed_because});
  }
  AddIntegerLayers(canonical, fixed_);
  // Each index of an axis gets the unit with which it goes, or -1 if it always stays.
  for (const auto& [value, list] : axes.axes) {
    for (std::size_t axis = 0; axis < list.size(); ++axis) {
      std::vector<std::int32_t> units(list[axis].size, -1);
      bool any = false;
      for (std::uint32_t i = 0; i < list[axis].size; ++i) {
        const auto unit = unit_of.find(axes.classes.Find(list[axis], i));
        if (unit == unit_of.end()) continue;
        units[i] = unit->second;
        any = true;
      }
      if (any) axes_.emplace(std::pair(value, axis), std::move(units));
    }
  }
}

const PruneGroup* PruneSpace::Find(std::string_view group) const {
  const auto it = std::find_if(groups_.begin(), groups_.end(),
                               [&](const PruneGroup& each) { return each.name == group; });
  return it == groups_.end() ? nullptr : &*it;
}

std::string PruneSpace::WhyNone(const std::string& layer) const {
  for (const FixedLayer& each : fixed_) {
    if (each.layer == layer) return "layer '" + layer + "' cannot be pruned: " + each.reason;
  }
  for (const PruneGroup& group : groups_) {
    if (std::find(group.layers.begin(), group.layers.end(), layer) == group.layers.end()) continue;
    return "layer '" + layer + "' is pruned with '" + group.name + "': give that one a density";
  }
  return "the model has no layer '" + layer + "' that can be pruned";
}

const std::vector<std::int32_t>& PruneSpace::Units(ValueId value, std::size_t axis) const {
  static const std::vector<std::int32_t> kNone;
  const auto it = axes_.find({value, axis});
  return it == axes_.end() ? kNone : it->second;
}

const Dims* PruneSpace::Sizes(ValueId value) const {
  const auto it = sizes_.find(value);
  return it == sizes_.end() ? nullptr : &it->second;
}

void PruneSpace::CountAt(const Graph& canonical, const ShapeBindings& sizes) {
  counted_ = SizesAt(canonical, sizes);
}

const Dims* PruneSpace::CountedSizes(ValueId value) const {
  const auto it = counted_.find(value);
  return it == counted_.end() ? Sizes(value) : &it->second;
}

}  // namespace msc
