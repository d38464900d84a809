#include "compiler/passes/narrowing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

std::vector<std::int64_t> Integers(const Tensor& tensor) {
  std::vector<std::int64_t> values;
  const auto copy = [&](auto span) { values.assign(span.begin(), span.end()); };
  if (tensor.dtype() == DType::kI8) copy(tensor.Values<std::int8_t>());
  if (tensor.dtype() == DType::kU8) copy(tensor.Values<std::uint8_t>());
  if (tensor.dtype() == DType::kI32) copy(tensor.Values<std::int32_t>());
  return values;
}

bool IsStored(DType dtype) {
  return dtype == DType::kI8 || dtype == DType::kU8 || dtype == DType::kI32;
}

// Reads inputs 1 and 2 of QuantizeLinear and DequantizeLinear (ONNX operator pages, opset 13).
std::optional<Narrowing> ReadParams(const Graph& graph, const Node& node, DType dtype) {
  const TensorPtr scale = graph.constant(node.inputs.at(1));
  if (!scale || scale->dtype() != DType::kF32 || scale->size() == 0 || !IsStored(dtype)) {
    return std::nullopt;
  }
  Narrowing form{.dtype = dtype, .axis = 0};
  const auto scales = scale->Values<float>();
  form.scales.assign(scales.begin(), scales.end());
  const bool usable = std::all_of(scales.begin(), scales.end(),
                                  [](float value) { return value > 0 && std::isfinite(value); });
  if (!usable) return std::nullopt;
  form.zero_points.assign(form.scales.size(), 0);
  if (node.HasInput(2)) {
    const TensorPtr zero_point = graph.constant(node.inputs[2]);
    if (!zero_point || zero_point->size() != scale->size()) return std::nullopt;
    form.zero_points = Integers(*zero_point);
    if (form.zero_points.size() != form.scales.size()) return std::nullopt;
  }
  if (form.scales.size() > 1) form.axis = AttrOr<std::int64_t>(node, "axis", 1);
  return form;
}

std::optional<Narrowing> ReadCast(const Graph& graph, const Node& node, DType from, DType to) {
  const bool is_it = node.Is("Cast") && graph.type(node.inputs.front()).dtype == from &&
                     graph.type(node.outputs.front()).dtype == to;
  if (!is_it) return std::nullopt;
  return Narrowing{.dtype = DType::kBF16, .axis = 0};
}

}  // namespace

bool Narrowing::IsPerTensorInt8() const {
  return (dtype == DType::kI8 || dtype == DType::kU8) && scales.size() == 1;
}

QuantParams Narrowing::Params() const {
  if (scales.empty()) return {};
  return {.scale = scales.front(), .zero_point = zero_points.front()};
}

std::optional<Narrowing> ReadNarrowing(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.Is("QuantizeLinear")) {
    if (graph.type(node.inputs.front()).dtype != DType::kF32) return std::nullopt;
    return ReadParams(graph, node, graph.type(node.outputs.front()).dtype);
  }
  return ReadCast(graph, node, DType::kF32, DType::kBF16);
}

std::optional<Narrowing> ReadWidening(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.Is("DequantizeLinear")) {
    return ReadParams(graph, node, graph.type(node.inputs.front()).dtype);
  }
  return ReadCast(graph, node, DType::kBF16, DType::kF32);
}

std::optional<NarrowValue> NarrowSource(const Graph& graph, ValueId value) {
  const NodeId widening = graph.producer(value);
  if (widening == kNoNode) return std::nullopt;
  auto form = ReadWidening(graph, widening);
  if (!form) return std::nullopt;
  return NarrowValue{graph.node(widening).inputs.front(), widening, std::move(*form)};
}

bool MergeEqualNarrowings(Graph& graph) {
  bool changed = false;
  std::map<ValueId, std::vector<std::pair<Narrowing, ValueId>>> seen;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    auto form = ReadNarrowing(graph, id);
    if (!form) continue;
    auto& made = seen[graph.node(id).inputs.front()];
    const auto same = std::find_if(made.begin(), made.end(),
                                   [&](const auto& entry) { return entry.first == *form; });
    if (same == made.end()) {
      made.emplace_back(std::move(*form), graph.node(id).outputs.front());
    } else {
      changed |= Bypass(graph, id, same->second);
    }
  }
  return changed;
}

}  // namespace msc
