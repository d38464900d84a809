#include "compiler/codegen/onnx/file_types.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace msc::detail {
namespace {

/// Makes all readers of a graph input read a Cast of it.
void CastInput(Graph& graph, ValueId input, DType to) {
  const std::string name = graph.value(input).name;
  ValueType type = graph.type(input);
  type.dtype = to;
  // ReplaceUses takes every reader, so the Cast itself gets the input afterwards.
  const ValueId nothing =
      graph.AddConstant(graph.FreeValueName(name + ".none"), Tensor(graph.type(input).dtype, {}));
  const ValueId held = graph.AddValue(graph.FreeValueName(name + ".held"), std::move(type));
  const NodeId first = graph.order().empty() ? kNoNode : graph.order().front();
  const NodeId cast = graph.AddNode({.name = graph.FreeNodeName(name + ".held"),
                                     .op = "Cast",
                                     .inputs = {nothing},
                                     .outputs = {held},
                                     .attrs = {{"to", static_cast<std::int64_t>(to)}}},
                                    first);
  const std::vector<ValueId> outputs = graph.outputs();
  graph.ReplaceUses(input, held);
  graph.SetOutputs(outputs);
  graph.SetInput(cast, 0, input);
  graph.RemoveConstant(nothing);
}

/// Makes the result of `cast`, which reads the value that was the output, the output of this name.
void CastOutput(Graph& graph, ValueId output, Node cast) {
  const std::string name = graph.value(output).name;
  const ValueType type = graph.type(output);
  graph.RenameValue(output, graph.FreeValueName(name + ".held"));
  const ValueId made = graph.AddValue(name, type);
  cast.name = graph.FreeNodeName(name + ".cast");
  cast.inputs = {output};
  cast.outputs = {made};
  graph.AddNode(std::move(cast));
  std::vector<ValueId> outputs = graph.outputs();
  std::replace(outputs.begin(), outputs.end(), output, made);
  graph.SetOutputs(std::move(outputs));
}

bool IsMadeNarrow(const Graph& graph, ValueId id, const NarrowType& type) {
  const NodeId producer = graph.producer(id);
  return producer != kNoNode && graph.uses(id).empty() &&
         graph.node(producer).Is("CastNarrow", "msc") &&
         AttrOr(graph.node(producer), "to", std::string()) == type.name;
}

}  // namespace

NarrowEnds SeparateNarrowEnds(Graph& graph) {
  NarrowEnds ends;
  const auto outputs = graph.outputs();
  for (const ValueId output : outputs) {
    const NarrowType* type = TypeInFile(graph, output);
    if (type == nullptr || graph.IsInput(output) || !graph.IsOutput(output)) continue;
    ends[graph.value(output).name] = type;
    if (IsMadeNarrow(graph, output, *type)) continue;
    CastOutput(graph, output,
               {.op = "CastNarrow", .domain = "msc", .attrs = {{"to", std::string(type->name)}}});
  }
  const auto inputs = graph.inputs();
  for (const ValueId input : inputs) {
    const NarrowType* type = TypeInFile(graph, input);
    if (type == nullptr) continue;
    ends[graph.value(input).name] = type;
    if (!graph.uses(input).empty()) CastInput(graph, input, type->held);
  }
  return ends;
}

void SeparateBf16Ends(Graph& graph) {
  const auto is_bf16 = [&](ValueId id) {
    return graph.type(id).dtype == DType::kBF16 && graph.type(id).container == Container::kTensor;
  };
  const auto outputs = graph.outputs();
  for (const ValueId output : outputs) {
    if (!is_bf16(output) || graph.IsInput(output) || !graph.IsOutput(output)) continue;
    CastOutput(graph, output,
               {.op = "Cast", .attrs = {{"to", static_cast<std::int64_t>(DType::kBF16)}}});
  }
  const auto inputs = graph.inputs();
  for (const ValueId input : inputs) {
    if (is_bf16(input) && !graph.uses(input).empty()) CastInput(graph, input, DType::kF32);
  }
}

}  // namespace msc::detail
