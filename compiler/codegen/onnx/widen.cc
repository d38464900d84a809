#include "compiler/codegen/onnx/widen.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/codegen/onnx/file_types.h"

namespace msc::detail {
namespace {

constexpr auto kF32Number = static_cast<std::int64_t>(DType::kF32);

bool IsBf16(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.type(id).dtype == DType::kBF16;
}

/// Returns whether a value is bf16 or a Cast from bf16.
bool ComesFromBf16(const Graph& graph, ValueId id) {
  if (id == kNoValue) return false;
  if (IsBf16(graph, id)) return true;
  const NodeId producer = graph.producer(id);
  return producer != kNoNode && graph.node(producer).Is("Cast") &&
         IsBf16(graph, graph.node(producer).inputs[0]);
}

bool RunsInBf16(const Graph& graph, const Node& node) {
  if (node.Is("Cast")) return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return ComesFromBf16(graph, id); }) ||
         std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return IsBf16(graph, id); });
}

TensorPtr Widened(const Tensor& narrow) {
  Tensor wide(DType::kF32, narrow.dims());
  const auto from = narrow.Values<std::uint16_t>();
  std::transform(from.begin(), from.end(), wide.MutableValues<float>().begin(), FromBF16);
  return std::make_shared<const Tensor>(std::move(wide));
}

void WidenValues(Graph& graph) {
  for (const ValueId id : graph.values()) {
    if (!IsBf16(graph, id) || graph.IsInput(id) || graph.IsOutput(id)) continue;
    if (const TensorPtr narrow = graph.constant(id)) {
      graph.SetConstant(id, Widened(*narrow));
    } else {
      ValueType type = graph.type(id);
      type.dtype = DType::kF32;
      graph.SetType(id, std::move(type));
    }
  }
}

/// Removes a Cast between f32 and a value that was bf16, because it no longer has an effect.
void RemoveCast(Graph& graph, NodeId id) {
  const ValueId from = graph.node(id).inputs[0];
  const ValueId to = graph.node(id).outputs[0];
  if (graph.type(from).dtype != DType::kF32 || graph.type(to).dtype != DType::kF32) {
    if (graph.type(to).dtype == DType::kF32) graph.SetAttr(id, "to", kF32Number);
    return;
  }
  if (graph.IsOutput(to)) {
    // Callers refer to the output by name, so keep a Cast from f32 to f32.
    graph.SetAttr(id, "to", kF32Number);
    return;
  }
  graph.ReplaceUses(to, from);
  graph.RemoveNode(id);
}

}  // namespace

std::vector<std::string> WidenBf16(Graph& graph) {
  std::vector<std::string> names;
  std::vector<NodeId> casts;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (RunsInBf16(graph, node)) names.push_back(node.name);
    const bool touches =
        node.Is("Cast") && (IsBf16(graph, node.inputs[0]) || IsBf16(graph, node.outputs[0]));
    if (touches) casts.push_back(id);
  }
  SeparateBf16Ends(graph);
  WidenValues(graph);
  for (const NodeId id : casts) RemoveCast(graph, id);
  return names;
}

}  // namespace msc::detail
