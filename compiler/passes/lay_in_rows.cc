#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/passes/chain.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

/// Values that a pass lays in rows, [N, C, 1, L].
enum class Laid : std::uint8_t {
  kLists,    ///< [N, C, L]
  kColumns,  ///< [N, C, L, 1]
};

std::size_t RankOf(Laid laid) {
  return laid == Laid::kLists ? 3 : 4;
}

/// Returns the dims of a row that has the same elements in the same order; nullopt for values that
/// are not laid so.
std::optional<Dims> RowDims(Laid laid, const Dims& dims) {
  if (dims.size() != RankOf(laid)) return std::nullopt;
  if (laid == Laid::kColumns && (dims[3] != 1 || dims[2] == 1)) return std::nullopt;
  return Dims{dims[0], dims[1], 1, dims[2]};
}

std::optional<Dims> RowDims(const Graph& graph, Laid laid, ValueId value) {
  const auto& shape = graph.type(value).shape;
  const auto dims = shape ? StaticDims(*shape) : std::nullopt;
  // Reshape would copy a dimension for 0.
  if (!dims || std::ranges::find(*dims, 0) != dims->end()) return std::nullopt;
  return RowDims(laid, *dims);
}

/// Returns the dims of a constant that broadcasts with rows as one of `dims` does with `laid`.
std::optional<Dims> RowDimsOfConstant(Laid laid, Dims dims) {
  if (dims.size() > RankOf(laid)) return std::nullopt;
  dims.insert(dims.begin(), RankOf(laid) - dims.size(), 1);
  if (laid == Laid::kColumns && dims[3] != 1) return std::nullopt;
  return Dims{dims[0], dims[1], 1, dims[2]};
}

/// Returns the dims of a row for the output of a window over rows, which may be one entry long.
std::optional<Dims> OutputRow(const Graph& graph, Laid laid, ValueId value) {
  const auto& shape = graph.type(value).shape;
  const auto dims = shape ? StaticDims(*shape) : std::nullopt;
  if (!dims || dims->size() != RankOf(laid) || std::ranges::find(*dims, 0) != dims->end()) {
    return std::nullopt;
  }
  return RowDimsOfConstant(laid, *dims);
}

ValueType RowType(ValueType type, const Dims& row) {
  type.shape.emplace();
  for (const std::int64_t size : row) type.shape->emplace_back(size);
  return type;
}

/// Inserts a Reshape of `from` in front of a node, or at the end.
ValueId AddReshape(Graph& graph, ValueId from, const ValueType& type, NodeId before) {
  const Dims dims = *StaticDims(*type.shape);
  const std::string stem = graph.value(from).name;
  const ValueId wanted = graph.AddConstant(
      graph.FreeValueName(stem + "_dims"),
      Tensor::From<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(dims.size())}, dims));
  const ValueId made = graph.AddValue(graph.FreeValueName(stem + "_laid"), type);
  graph.AddNode({.name = graph.FreeNodeName(stem + "_laid"),
                 .op = "Reshape",
                 .inputs = {from, wanted},
                 .outputs = {made}},
                before);
  return made;
}

/// Puts a Reshape in front of an input of a node.
void LayInput(Graph& graph, NodeId node, std::size_t index, const Dims& row) {
  const ValueId old = graph.node(node).inputs[index];
  graph.SetInput(node, index, AddReshape(graph, old, RowType(graph.type(old), row), node));
}

/// Makes `output` a row, and puts a Reshape behind it for its readers.
void LayOutput(Graph& graph, ValueId output, const Dims& row) {
  const ValueType before = graph.type(output);
  const std::string name = graph.value(output).name;
  const std::vector<Use> readers = graph.uses(output);
  const bool is_output = graph.IsOutput(output);
  const auto& order = graph.order();
  const auto next = std::ranges::find(order, graph.producer(output)) + 1;
  const NodeId behind = next == order.end() ? kNoNode : *next;
  graph.SetType(output, RowType(before, row));
  const ValueId laid = AddReshape(graph, output, before, behind);
  for (const Use& use : readers) graph.SetInput(use.node, use.index, laid);
  if (is_output) {
    std::vector<ValueId> outputs = graph.outputs();
    std::ranges::replace(outputs, output, laid);
    graph.SetOutputs(outputs);
  }
  // Callers may refer to the value by its name.
  graph.RenameValue(output, graph.FreeValueName(name + "_row"));
  graph.RenameValue(laid, name);
}

/// Rewrites the attributes of a window along one axis, or along two if the second does nothing.
void LayWindow(Graph& graph, NodeId id) {
  const AttrMap attrs = graph.node(id).attrs;
  const std::map<std::string_view, std::int64_t> neutral = {
      {"kernel_shape", 1}, {"strides", 1}, {"dilations", 1}, {"output_padding", 0}};
  for (const auto& [name, fill] : neutral) {
    const auto it = attrs.find(std::string(name));
    if (it == attrs.end()) continue;
    graph.SetAttr(id, it->first, Ints{fill, std::get<Ints>(it->second).front()});
  }
  if (const auto it = attrs.find("pads"); it != attrs.end()) {
    const Ints& pads = std::get<Ints>(it->second);
    graph.SetAttr(id, "pads", Ints{0, pads.front(), 0, pads[pads.size() / 2]});
  }
}

/// Returns whether the window of `node`, with `axes` axes, does nothing along the second one.
bool IsAlongOneAxis(const Node& node, std::size_t axes) {
  const Ints pads = AttrOr<Ints>(node, "pads", Ints(2 * axes, 0));
  const Ints kernel = AttrOr<Ints>(node, "kernel_shape", Ints(axes, 1));
  if (pads.size() != 2 * axes || kernel.size() != axes) return false;
  return axes == 1 || (kernel[1] == 1 && pads[1] == 0 && pads[3] == 0);
}

/// Puts weights of other dims into the place of those of a layer.
void LayWeights(Graph& graph, NodeId layer, const Weights& weights, const Dims& row) {
  const ValueId made =
      graph.AddConstant(graph.FreeValueName(graph.value(weights.constant).name + "_row"),
                        weights.tensor->Reshaped(row));
  if (weights.widening == kNoNode) {
    graph.SetInput(layer, 1, made);
    return;
  }
  Node widening = graph.node(weights.widening);
  const ValueId old = widening.outputs.front();
  const ValueId wide = graph.AddValue(graph.FreeValueName(graph.value(old).name + "_row"),
                                      RowType(graph.type(old), row));
  widening.name = graph.FreeNodeName(widening.name + "_row");
  widening.inputs.front() = made;
  widening.outputs = {wide};
  graph.AddNode(std::move(widening), layer);
  graph.SetInput(layer, 1, wide);
}

/// Returns the dims in which `node` reads its constant input `index`, if it is one of more than one
/// element.
std::optional<Dims> ShapedConstant(const Graph& graph, const Node& node, std::size_t index) {
  const ValueId input = node.inputs[index];
  const TensorPtr tensor = input == kNoValue ? nullptr : graph.constant(input);
  if (!tensor || tensor->size() == 1) return std::nullopt;
  return tensor->dims();
}

/// What there is to change in a chain of nodes behind a layer.
struct Plan {
  Dims x;
  Dims y;
  Weights weights;
  Dims weight_dims;
  struct Constant {
    NodeId node = kNoNode;
    std::size_t index = 0;
    Dims dims;
  };
  std::vector<Constant> constants;
};

std::optional<Plan> PlanChain(const Graph& graph, const LayerChain& chain, Laid laid) {
  const Node& layer = graph.node(chain.producer);
  if (!layer.Is("Conv") || IsCaptured(graph, chain.output)) return std::nullopt;
  const auto x = RowDims(graph, laid, layer.inputs[0]);
  const auto weights = ReadWeights(graph, layer.inputs[1]);
  const auto y = OutputRow(graph, laid, chain.output);
  if (!x || !y || !weights || !IsAlongOneAxis(layer, RankOf(laid) - 2)) return std::nullopt;
  const auto w = RowDimsOfConstant(laid, weights->tensor->dims());
  if (!w || weights->tensor->size() == 0) return std::nullopt;
  Plan plan{.x = *x, .y = *y, .weights = *weights, .weight_dims = *w, .constants = {}};
  for (const NodeId id : chain.Nodes()) {
    const Node& node = graph.node(id);
    if (IsCaptured(graph, node.outputs.front())) return std::nullopt;
    if (id == chain.producer) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto dims = ShapedConstant(graph, node, i);
      if (!dims) continue;
      const auto row = RowDimsOfConstant(laid, *dims);
      if (!row) return std::nullopt;
      plan.constants.push_back({id, i, *row});
    }
  }
  return plan;
}

bool LayChain(Graph& graph, const LayerChain& chain, Laid laid) {
  const auto plan = PlanChain(graph, chain, laid);
  if (!plan) return false;
  LayInput(graph, chain.producer, 0, plan->x);
  LayWeights(graph, chain.producer, plan->weights, plan->weight_dims);
  LayWindow(graph, chain.producer);
  if (chain.residual_add != kNoNode) {
    LayInput(graph, chain.residual_add, chain.residual_input, plan->y);
  }
  for (const Plan::Constant& constant : plan->constants) {
    const TensorPtr tensor = graph.constant(graph.node(constant.node).inputs[constant.index]);
    ReplaceConstant(graph, constant.node, constant.index, tensor->Reshaped(constant.dims));
  }
  for (const NodeId id : chain.Nodes()) {
    const ValueId made = graph.node(id).outputs.front();
    if (made != chain.output) graph.SetType(made, RowType(graph.type(made), plan->y));
  }
  LayOutput(graph, chain.output, plan->y);
  return true;
}

/// Lays a pool or a ConvTranspose, with constant weights, on its own.
bool LayNode(Graph& graph, NodeId id, Laid laid) {
  constexpr std::array<std::string_view, 5> kOps = {"AveragePool", "MaxPool", "GlobalAveragePool",
                                                    "GlobalMaxPool", "ConvTranspose"};
  const Node node = graph.node(id);
  if (!node.domain.empty() || std::ranges::find(kOps, node.op) == kOps.end()) return false;
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue) return false;
  if (IsCaptured(graph, node.outputs.front()) || node.attrs.contains("output_shape")) return false;
  const auto x = RowDims(graph, laid, node.inputs[0]);
  const auto y = OutputRow(graph, laid, node.outputs.front());
  if (!x || !y || !IsAlongOneAxis(node, RankOf(laid) - 2)) return false;
  if (node.Is("ConvTranspose")) {
    const auto weights = ReadWeights(graph, node.inputs[1]);
    const auto row = weights ? RowDimsOfConstant(laid, weights->tensor->dims()) : std::nullopt;
    if (!row || weights->tensor->size() == 0) return false;
    LayWeights(graph, id, *weights, *row);
  }
  LayInput(graph, id, 0, *x);
  LayWindow(graph, id);
  LayOutput(graph, node.outputs.front(), *y);
  return true;
}

bool LayInRows(Graph& graph, Laid laid) {
  bool changed = false;
  for (const LayerChain& chain : FindLayerChains(graph)) changed |= LayChain(graph, chain, laid);
  changed |= Sweep(graph, [&](NodeId id) { return LayNode(graph, id, laid); });
  if (!changed) return false;
  // Neighbours exchange rows directly.
  RemoveIdentities(graph);
  RemoveDeadCode(graph);
  return true;
}

}  // namespace

bool LayListsInRows(Graph& graph) {
  return LayInRows(graph, Laid::kLists);
}

bool LayColumnsInRows(Graph& graph) {
  return LayInRows(graph, Laid::kColumns);
}

}  // namespace msc
