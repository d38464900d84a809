#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/passes/match.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), over the axes from `axis` on.
struct Normalized {
  ValueId x = kNoValue;
  std::size_t axis = 0;
  float epsilon = 0.0F;
};

// Returns the first axis if the node averages over this axis and all behind it and keeps them.
std::optional<std::size_t> TrailingAxis(const Node& mean, std::size_t rank) {
  auto axes = AttrOr<std::vector<std::int64_t>>(mean, "axes", {});
  if (axes.empty() || axes.size() > rank || AttrOr<std::int64_t>(mean, "keepdims", 1) == 0) {
    return std::nullopt;
  }
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  std::sort(axes.begin(), axes.end());
  const std::size_t first = rank - axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(first + i)) return std::nullopt;
  }
  return first;
}

// Returns x if `value` is the mean of x over the axes from `axis` on; sets `axis` if it is empty.
ValueId MeanOf(const Graph& graph, ValueId value, std::optional<std::size_t>& axis) {
  const Node* mean = MadeBy(graph, value, "ReduceMean");
  if (mean == nullptr || graph.type(value).dtype != DType::kF32) return kNoValue;
  const auto rank = Rank(graph.type(mean->inputs[0]));
  const auto first = rank ? TrailingAxis(*mean, *rank) : std::nullopt;
  if (!first || (axis && *axis != *first)) return kNoValue;
  axis = first;
  return mean->inputs[0];
}

// Returns x if `value` is x - mean(x).
ValueId CenteredOf(const Graph& graph, ValueId value, std::optional<std::size_t>& axis) {
  const Node* centered = MadeBy(graph, value, "Sub");
  if (centered == nullptr || MeanOf(graph, centered->inputs[1], axis) != centered->inputs[0]) {
    return kNoValue;
  }
  return centered->inputs[0];
}

ValueId SquareOf(const Graph& graph, ValueId value) {
  if (const Node* pow = MadeBy(graph, value, "Pow"); pow != nullptr) {
    const auto step = ReadScalarStep(graph, *pow);
    return step && step->scalar == 2.0F ? step->value : kNoValue;
  }
  const Node* mul = MadeBy(graph, value, "Mul");
  return mul != nullptr && mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : kNoValue;
}

std::optional<Normalized> ReadNormalized(const Graph& graph, const Node& div) {
  std::optional<std::size_t> axis;
  const ValueId x = CenteredOf(graph, div.inputs[0], axis);
  const Node* root = MadeBy(graph, div.inputs[1], "Sqrt");
  const Node* add = root == nullptr ? nullptr : MadeBy(graph, root->inputs[0], "Add");
  const auto step = add == nullptr ? std::nullopt : ReadScalarStep(graph, *add);
  if (x == kNoValue || !step || !(step->scalar > 0.0F)) return std::nullopt;
  const ValueId squared = SquareOf(graph, MeanOf(graph, step->value, axis));
  if (squared == kNoValue || CenteredOf(graph, squared, axis) != x) return std::nullopt;
  return Normalized{.x = x, .axis = *axis, .epsilon = step->scalar};
}

// The f32 constant that the only reader of `value`, an `op`, combines with it, if the constant
// broadcasts along the normalized axes.
struct Affine {
  NodeId node = kNoNode;
  ValueId constant = kNoValue;
};
Affine ReadAffine(const Graph& graph, ValueId value, const char* op, const Normalized& norm) {
  const auto reader = OnlyReader(graph, value);
  if (!reader || !graph.node(reader->node).Is(op)) return {};
  const Node& node = graph.node(reader->node);
  const ValueId other = node.inputs[1 - reader->index];
  const TensorPtr constant = graph.constant(other);
  const Shape& shape = *graph.type(norm.x).shape;
  if (!constant || constant->dtype() != DType::kF32 ||
      constant->dims().size() > shape.size() - norm.axis) {
    return {};
  }
  const std::size_t shift = shape.size() - constant->dims().size();
  for (std::size_t i = 0; i < constant->dims().size(); ++i) {
    const std::int64_t size = constant->dims()[i];
    if (size != 1 && size != shape[shift + i].size()) return {};
  }
  return {.node = reader->node, .constant = other};
}

ValueId Ones(Graph& graph, const Normalized& norm) {
  const Shape& shape = *graph.type(norm.x).shape;
  Tensor ones(DType::kF32, {shape.back().size()});
  for (float& value : ones.MutableValues<float>()) value = 1.0F;
  return graph.AddConstant(graph.FreeValueName(graph.value(norm.x).name + "_ones"),
                           std::move(ones));
}

bool RecognizeAt(Graph& graph, NodeId id) {
  if (!graph.node(id).Is("Div")) return false;
  const auto norm = ReadNormalized(graph, graph.node(id));
  if (!norm || !graph.type(norm->x).shape->back().known()) return false;
  std::vector<NodeId> nodes = {id};
  ValueId output = graph.node(id).outputs.front();
  std::vector<ValueId> inputs = {norm->x};
  const Affine scale = ReadAffine(graph, output, "Mul", *norm);
  if (scale.node != kNoNode) {
    nodes.push_back(scale.node);
    output = graph.node(scale.node).outputs.front();
  }
  const Affine bias = ReadAffine(graph, output, "Add", *norm);
  if (bias.node != kNoNode) {
    nodes.push_back(bias.node);
    output = graph.node(bias.node).outputs.front();
  }
  if (IsCaptured(graph, output)) return false;
  inputs.push_back(scale.node != kNoNode ? scale.constant : Ones(graph, *norm));
  if (bias.node != kNoNode) inputs.push_back(bias.constant);
  ReplaceChain(
      graph, nodes,
      Node{.op = "LayerNormalization",
           .inputs = std::move(inputs),
           .attrs = {{"axis", static_cast<std::int64_t>(norm->axis)}, {"epsilon", norm->epsilon}}});
  return true;
}

}  // namespace

bool RecognizeLayerNorm(Graph& graph) {
  const bool changed = Sweep(graph, [&](NodeId id) { return RecognizeAt(graph, id); });
  if (changed) RemoveDeadCode(graph);
  return changed;
}

}  // namespace msc
