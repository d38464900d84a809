#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

/// An element of a vector of sizes: a number, or a dimension of a value.
struct Element {
  std::int64_t number = 0;
  ValueId of = kNoValue;  ///< kNoValue: it is the number
  std::size_t axis = 0;
};
using Elements = std::vector<Element>;

constexpr int kMaxSteps = 64;  ///< values looked at for one Reshape, in any nesting
constexpr std::size_t kMaxElements = 64;

std::optional<std::vector<std::int64_t>> ReadInts(const Graph& graph, ValueId id) {
  const TensorPtr tensor = graph.constant(id);
  if (!tensor || tensor->dtype() != DType::kI64 || tensor->size() > std::int64_t{kMaxElements}) {
    return std::nullopt;
  }
  const auto values = tensor->Values<std::int64_t>();
  return std::vector<std::int64_t>(values.begin(), values.end());
}

/// Returns an index into `count` elements that may count from the end; nothing if it is outside.
std::optional<std::size_t> IndexOf(std::int64_t index, std::size_t count) {
  const auto size = static_cast<std::int64_t>(count);
  if (index < -size || index >= size) return std::nullopt;
  return static_cast<std::size_t>(index < 0 ? index + size : index);
}

std::optional<Elements> ElementsOf(const Graph& graph, ValueId id, int& steps);

Elements DimsOf(const Node& node, ValueId of, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](const char* name, std::int64_t otherwise) {
    const auto at = AttrOr<std::int64_t>(node, name, otherwise);
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  Elements dims;
  for (std::int64_t i = bound("start", 0); i < bound("end", rank); ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const Dim& dim = shape[axis];
    dims.push_back(dim.known() ? Element{.number = dim.size()} : Element{.of = of, .axis = axis});
  }
  return dims;
}

std::optional<Elements> GatherOf(const Graph& graph, const Node& node, int& steps) {
  const auto from = ElementsOf(graph, node.inputs[0], steps);
  const auto indices = ReadInts(graph, node.inputs[1]);
  if (!from || !indices || AttrOr<std::int64_t>(node, "axis", 0) != 0) return std::nullopt;
  Elements chosen;
  for (const std::int64_t index : *indices) {
    const auto at = IndexOf(index, from->size());
    if (!at) return std::nullopt;
    chosen.push_back((*from)[*at]);
  }
  return chosen;
}

std::optional<Elements> SliceOf(const Graph& graph, const Node& node, int& steps) {
  const auto from = ElementsOf(graph, node.inputs[0], steps);
  const auto starts = ReadInts(graph, node.inputs[1]);
  const auto ends = ReadInts(graph, node.inputs[2]);
  const bool whole_steps =
      !node.HasInput(4) || ReadInts(graph, node.inputs[4]) == std::vector<std::int64_t>{1};
  if (!from || !starts || !ends || starts->size() != 1 || ends->size() != 1 || !whole_steps) {
    return std::nullopt;
  }
  const auto size = static_cast<std::int64_t>(from->size());
  const auto bound = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t first = bound(starts->front());
  const std::int64_t end = std::max(bound(ends->front()), first);
  return Elements(from->begin() + first, from->begin() + end);
}

/// Returns the elements of an integer value of at most one axis, as far as they are numbers or
/// dimensions of values.
std::optional<Elements> ElementsOf(const Graph& graph, ValueId id, int& steps) {
  if (id == kNoValue || ++steps > kMaxSteps) return std::nullopt;
  if (const auto numbers = ReadInts(graph, id)) {
    Elements elements;
    for (const std::int64_t number : *numbers) elements.push_back({.number = number});
    return elements;
  }
  const NodeId producer = graph.producer(id);
  const auto rank = Rank(graph.type(id));
  if (producer == kNoNode || !rank || *rank > 1) return std::nullopt;
  const Node& node = graph.node(producer);
  if (node.Is("Shape")) {
    const auto& shape = graph.type(node.inputs[0]).shape;
    if (!shape) return std::nullopt;
    return DimsOf(node, node.inputs[0], *shape);
  }
  if (node.Is("Gather")) return GatherOf(graph, node, steps);
  if (node.Is("Slice")) return SliceOf(graph, node, steps);
  const bool moves = node.Is("Unsqueeze") || node.Is("Squeeze") || node.Is("Identity");
  if (moves || (node.Is("Cast") && graph.type(id).dtype == DType::kI64)) {
    return ElementsOf(graph, node.inputs[0], steps);
  }
  if (!node.Is("Concat")) return std::nullopt;
  Elements joined;
  for (const ValueId part : node.inputs) {
    const auto own = ElementsOf(graph, part, steps);
    if (!own || joined.size() + own->size() > kMaxElements) return std::nullopt;
    joined.insert(joined.end(), own->begin(), own->end());
  }
  return joined;
}

/// Returns whether the element surely equals dimension `axis` of `value`.
bool IsDim(const Graph& graph, const Element& element, ValueId value, std::size_t axis) {
  if (element.of == value && element.axis == axis) return true;
  const auto& shape = graph.type(value).shape;
  const auto& other = graph.type(element.of).shape;
  if (!shape || axis >= shape->size() || !other || element.axis >= other->size()) return false;
  const std::string& symbol = (*shape)[axis].symbol();
  return !symbol.empty() && symbol == (*other)[element.axis].symbol();
}

/// Returns the elements as numbers: 0 for a dimension that the Reshape copies, and -1 for one other
/// that follows from the number of elements.
std::optional<std::vector<std::int64_t>> ConstantTarget(const Graph& graph, ValueId x,
                                                        const Elements& elements) {
  std::vector<std::int64_t> target;
  int open = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Element& element = elements[i];
    std::int64_t size = element.number;
    if (element.of != kNoValue) size = IsDim(graph, element, x, i) ? 0 : -1;
    open += size == -1 ? 1 : 0;
    target.push_back(size);
  }
  if (open > 1) return std::nullopt;
  return target;
}

bool FixTarget(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Reshape") || AttrOr<std::int64_t>(node, "allowzero", 0) != 0) return false;
  if (graph.constant(node.inputs[1]) != nullptr) return false;
  int steps = 0;
  const auto elements = ElementsOf(graph, node.inputs[1], steps);
  if (!elements) return false;
  const auto target = ConstantTarget(graph, node.inputs[0], *elements);
  if (!target) return false;
  const std::string name = graph.FreeValueName(graph.value(node.outputs[0]).name + "_target");
  const std::vector<std::int64_t> dims = {static_cast<std::int64_t>(target->size())};
  graph.SetInput(id, 1,
                 graph.AddConstant(name, Tensor::From<std::int64_t>(DType::kI64, dims, *target)));
  return true;
}

}  // namespace

bool FixReshapeTargets(Graph& graph) {
  const bool changed = Sweep(graph, [&](NodeId id) { return FixTarget(graph, id); });
  if (!changed) return false;
  RemoveDeadCode(graph);
  InferTypes(graph);  // shapes that follow from the targets
  return true;
}

}  // namespace msc
