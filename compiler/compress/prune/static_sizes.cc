#include "compiler/compress/prune/static_sizes.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

void BindSymbols(const Graph& graph, const std::vector<ValueId>& values, std::int64_t size,
                 ShapeBindings& bindings) {
  for (const ValueId id : values) {
    for (const Dim& dim : graph.type(id).shape.value_or(Shape{})) {
      if (!dim.symbol().empty()) bindings[dim.symbol()] = size;
    }
  }
}

/// Returns the graph with the symbols of its inputs bound to `size` and shape arithmetic evaluated;
/// nullopt if that size does not fit, as a picture may be smaller than a window.
std::optional<Graph> Bound(const Graph& graph, std::int64_t size) {
  ShapeBindings bindings;
  BindSymbols(graph, graph.inputs(), size, bindings);
  // Symbols of other values stand for sizes that follow from those, or that data decides. Only 1
  // suits most of them.
  if (size == 1) BindSymbols(graph, graph.values(), size, bindings);
  Graph bound = graph;
  try {
    InferTypes(bound, bindings);
    FoldConstants(bound);
    InferTypes(bound);
  } catch (const UserError&) {
    if (bindings.empty()) throw;  // no other size would help
    return std::nullopt;
  }
  return bound;
}

std::map<ValueId, Dims> DimsIn(const Graph& graph, const Graph& bound) {
  std::map<ValueId, Dims> sizes;
  for (const ValueId id : graph.values()) {
    const ValueId same = bound.FindValue(graph.value(id).name);
    const ValueType& type = same == kNoValue ? graph.type(id) : bound.type(same);
    if (type.container != Container::kTensor || type.dtype == DType::kString) continue;
    if (!type.shape) continue;
    if (auto dims = StaticDims(*type.shape)) sizes.emplace(id, std::move(*dims));
  }
  return sizes;
}

/// Returns the sizes with symbols bound to the first of these numbers that fits; none if none does.
std::optional<std::map<ValueId, Dims>> FirstThatFits(const Graph& graph,
                                                     std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) {
    if (const auto bound = Bound(graph, size)) return DimsIn(graph, *bound);
  }
  return std::nullopt;
}

}  // namespace

std::map<ValueId, Dims> SizesAt(const Graph& graph, const ShapeBindings& sizes) {
  Graph bound = graph;
  InferTypes(bound, sizes);
  FoldConstants(bound);
  InferTypes(bound);
  return DimsIn(graph, bound);
}

StaticSizes ReadStaticSizes(const Graph& graph) {
  // Axes with symbols are never cut, so any size serves, and the least takes the least memory.
  const auto fitting = FirstThatFits(graph, {1, 32, 224});
  // A size that is the same for quite other symbols does not depend on them, though the type of
  // its value may not tell: shape arithmetic lies in between. Networks may ask for multiples of 32.
  const auto other = FirstThatFits(graph, {97, 96, 320});
  StaticSizes result{.dims = fitting ? *fitting : DimsIn(graph, graph), .open = {}};
  for (const auto& [id, dims] : result.dims) {
    const auto& shape = graph.type(id).shape;
    std::vector<bool>& open = result.open[id];
    const Dims* others = nullptr;
    if (fitting && other && other->contains(id)) others = &other->at(id);
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      const bool declared = shape && axis < shape->size() && (*shape)[axis].known();
      const bool same = others != nullptr && axis < others->size() && (*others)[axis] == dims[axis];
      open.push_back(!declared && !same);
    }
  }
  return result;
}

}  // namespace msc
