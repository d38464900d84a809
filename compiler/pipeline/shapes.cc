#include "compiler/pipeline/shapes.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

constexpr std::int64_t kMaxDim = std::int64_t{1} << 31;
constexpr std::size_t kMaxRank = 16;

/// Parses "1x3x640x640"; "" is a scalar.
std::optional<Dims> ReadDims(std::string_view text) {
  Dims dims;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::int64_t size = 0;
    const auto [next, error] = std::from_chars(at, end, size);
    if (error != std::errc() || size < 1 || size > kMaxDim || dims.size() == kMaxRank) {
      return std::nullopt;
    }
    dims.push_back(size);
    if (next == end) return dims;
    if (*next != 'x' || next + 1 == end) return std::nullopt;
    at = next + 1;
  }
  return dims;
}

ValueId InputCalled(const Graph& graph, std::string_view name) {
  for (const ValueId id : graph.inputs()) {
    if (graph.value(id).name == name) return id;
  }
  return kNoValue;
}

void SetShape(const std::string& text, Graph& graph, ShapeBindings& bindings) {
  const std::string place = "shape '" + text + "': ";
  // Names may contain '='; sizes do not.
  const std::size_t cut = text.rfind('=');
  const auto dims = ReadDims(std::string_view(text).substr(cut == std::string::npos ? 0 : cut + 1));
  if (!dims) throw UserError(place + "write NAME=1x3x224x224, sizes from 1 on");
  if (cut == std::string::npos && graph.inputs().size() != 1) {
    throw UserError(place + "the model has " + std::to_string(graph.inputs().size()) +
                    " inputs: write NAME=SIZES");
  }
  const ValueId id = cut == std::string::npos
                         ? graph.inputs().front()
                         : InputCalled(graph, std::string_view(text).substr(0, cut));
  if (id == kNoValue) {
    std::string known;
    for (const ValueId input : graph.inputs()) {
      known += (known.empty() ? "" : ", ") + graph.value(input).name;
    }
    throw UserError(place + "the model has no such input; it has: " + known);
  }
  ValueType type = graph.type(id);
  const auto refuse = [&] {
    throw UserError(place + "does not fit the model's " + ToString(graph.type(id)));
  };
  if (type.shape && type.shape->size() != dims->size()) refuse();
  for (std::size_t i = 0; type.shape && i < dims->size(); ++i) {
    const Dim& dim = (*type.shape)[i];
    if (dim.known() && dim.size() != (*dims)[i]) refuse();
    if (dim.symbol().empty()) continue;
    if (bindings.try_emplace(dim.symbol(), (*dims)[i]).first->second != (*dims)[i]) {
      throw UserError(place + "dimension '" + dim.symbol() + "' has another size in another input");
    }
  }
  type.shape = ToShape(*dims);
  graph.SetType(id, std::move(type));
}

}  // namespace

void SetInputShapes(Graph& graph, std::span<const std::string> shapes) {
  if (shapes.empty()) return;
  ShapeBindings bindings;
  for (const std::string& text : shapes) SetShape(text, graph, bindings);
  InferTypes(graph, bindings);
}

void NameOpenDims(Graph& graph) {
  std::string batch = "batch";
  for (const ValueId id : graph.inputs()) {
    const auto& shape = graph.type(id).shape;
    if (!shape || shape->empty() || shape->front().symbol().empty()) continue;
    batch = shape->front().symbol();
    break;
  }
  bool named = false;
  for (const ValueId id : graph.inputs()) {
    ValueType type = graph.type(id);
    for (std::size_t axis = 0; type.shape && axis < type.shape->size(); ++axis) {
      Dim& dim = (*type.shape)[axis];
      if (dim.known() || !dim.symbol().empty()) continue;
      dim = Dim::Symbol(axis == 0 ? batch : graph.value(id).name + "." + std::to_string(axis));
      named = true;
    }
    graph.SetType(id, std::move(type));
  }
  if (named) InferTypes(graph);
}

}  // namespace msc
