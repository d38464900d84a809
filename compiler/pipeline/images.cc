#include "compiler/pipeline/images.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/passes/narrowing.h"

namespace msc {
namespace {

constexpr std::size_t kMaxReaders = 4;

using Perm = std::vector<std::int64_t>;

/// Axis i of Transpose's output is axis perm[i] of its input.
Perm ToChannelsLast() {
  return {0, 2, 3, 1};
}
Perm ToChannelsFirst() {
  return {0, 3, 1, 2};
}

ValueType Permuted(const ValueType& type, const Perm& perm) {
  ValueType permuted = type;
  for (std::size_t i = 0; i < perm.size(); ++i) {
    permuted.shape->at(i) = type.shape->at(static_cast<std::size_t>(perm[i]));
  }
  return permuted;
}

/// Appends a Transpose of `value`. Returns its output.
ValueId AddTurn(Graph& graph, ValueId value, const Perm& perm) {
  const std::string name = graph.value(value).name;  // a copy: adding values moves this one
  const ValueId turned =
      graph.AddValue(graph.FreeValueName(name), Permuted(graph.type(value), perm));
  Node node;
  node.name = graph.FreeNodeName("turn " + name);
  node.op = "Transpose";
  node.inputs = {value};
  node.outputs = {turned};
  node.attrs["perm"] = perm;
  graph.AddNode(std::move(node));
  return turned;
}

/// Returns the number of nodes that read `value`, also in its narrow form or widened again. Nodes
/// that convert between these forms are copied when a graph is cut into regions, so their readers
/// are counted instead of them.
std::size_t CountReaders(const Graph& graph, ValueId value) {
  std::size_t readers = 0;
  for (const Use& use : graph.uses(value)) {
    const bool same = ReadNarrowing(graph, use.node) || ReadWidening(graph, use.node);
    readers += same ? CountReaders(graph, graph.node(use.node).outputs.front()) : 1;
  }
  return readers;
}

}  // namespace

bool MayBeChannelsLast(const Graph& whole, ValueId value) {
  const ValueType& type = whole.type(value);
  if (type.container != Container::kTensor || !type.shape || type.shape->size() != 4) return false;
  const std::optional<Dims> dims = StaticDims(*type.shape);
  if (!dims || whole.IsInput(value) || whole.IsOutput(value) || whole.constant(value)) return false;
  if (CountReaders(whole, value) > kMaxReaders) return false;
  // With one channel or one pixel, both layouts are the same bytes.
  return (*dims)[0] > 0 && (*dims)[1] > 1 && (*dims)[2] * (*dims)[3] > 1;
}

Graph WithImagesChannelsLast(const Graph& part, const std::vector<bool>& inputs,
                             const std::vector<bool>& outputs) {
  Check(inputs.size() == part.inputs().size() && outputs.size() == part.outputs().size(),
        "each input and output of a part is dense or channels last");
  Graph graph(part.name());
  std::map<ValueId, ValueId> copies;  // value of the part -> value here
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId input = part.inputs()[i];
    const std::string& name = part.value(input).name;
    const ValueType& type = part.type(input);
    copies[input] = graph.AddInput(name, inputs[i] ? Permuted(type, ToChannelsLast()) : type);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    ValueId& copy = copies.at(part.inputs()[i]);
    copy = AddTurn(graph, copy, ToChannelsFirst());
  }
  for (const ValueId constant : part.constants()) {
    copies[constant] = graph.AddConstant(part.value(constant).name, part.constant(constant));
  }
  for (const NodeId id : part.order()) {
    Node node = part.node(id);
    for (ValueId& input : node.inputs) input = input == kNoValue ? kNoValue : copies.at(input);
    for (ValueId& output : node.outputs) {
      if (output == kNoValue) continue;
      const Value& value = part.value(output);
      const ValueId copy = graph.AddValue(graph.FreeValueName(value.name), value.type);
      copies[output] = copy;
      output = copy;
    }
    node.name = graph.FreeNodeName(node.name);
    graph.AddNode(std::move(node));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ValueId made = copies.at(part.outputs()[i]);
    graph.AddOutput(outputs[i] ? AddTurn(graph, made, ToChannelsLast()) : made);
  }
  return graph;
}

Graph WithImagesChannelsLast(const Extracted& part, const Graph& whole) {
  std::vector<bool> inputs;
  std::vector<bool> outputs;
  for (const ValueId input : part.inputs) inputs.push_back(MayBeChannelsLast(whole, input));
  for (const ValueId output : part.outputs) outputs.push_back(MayBeChannelsLast(whole, output));
  return WithImagesChannelsLast(part.graph, inputs, outputs);
}

std::string AddLayoutConversion(const ValueType& type, bool to_channels_last, Graph& graph) {
  const Perm perm = to_channels_last ? ToChannelsLast() : ToChannelsFirst();
  const ValueId input = graph.AddInput(graph.FreeValueName("image"),
                                       to_channels_last ? type : Permuted(type, ToChannelsLast()));
  const ValueId turned = AddTurn(graph, input, perm);
  graph.AddOutput(turned);
  return graph.node(graph.producer(turned)).name;
}

}  // namespace msc
