#include "compiler/pipeline/splice.h"

#include <utility>

#include "compiler/base/error.h"

namespace msc {

Splicer::Splicer(const Graph& whole) : whole_(whole), joined_(whole.name()) {
  for (const auto& [key, value] : whole.metadata()) joined_.SetMetadata(key, value);
  for (const ValueId input : whole.inputs()) {
    made_[{input}] = joined_.AddInput(whole.value(input).name, whole.type(input));
  }
}

ValueId Splicer::Constant(const Graph& graph, ValueId id) {
  const TensorPtr tensor = graph.constant(id);
  const auto [it, is_new] = constants_.try_emplace(tensor.get(), kNoValue);
  if (is_new) {
    it->second = joined_.AddConstant(joined_.FreeValueName(graph.value(id).name), tensor);
  }
  return it->second;
}

std::vector<std::string> Splicer::Add(std::span<const Exchanged> inputs,
                                      std::span<const Exchanged> outputs, const Graph& part) {
  Check(part.inputs().size() == inputs.size() && part.outputs().size() == outputs.size(),
        "a part keeps its inputs and outputs");
  std::map<ValueId, ValueId> here;  // value of the part -> of the joined graph
  for (std::size_t i = 0; i < inputs.size(); ++i) here[part.inputs()[i]] = made_.at(inputs[i]);
  const auto joined = [&](ValueId value) {
    if (value == kNoValue) return kNoValue;
    return part.constant(value) ? Constant(part, value) : here.at(value);
  };
  std::vector<std::string> names;
  for (const NodeId id : part.order()) {
    Node node = part.node(id);
    node.name = joined_.FreeNodeName(node.name);
    names.push_back(node.name);
    for (ValueId& input : node.inputs) input = joined(input);
    for (ValueId& output : node.outputs) {
      if (output == kNoValue) continue;
      const Value& value = part.value(output);
      const ValueId copy = joined_.AddValue(joined_.FreeValueName(value.name), value.type);
      here[output] = copy;
      output = copy;
    }
    joined_.AddNode(std::move(node));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) made_[outputs[i]] = joined(part.outputs()[i]);
  return names;
}

Graph Splicer::Take() && {
  for (const ValueId output : whole_.outputs()) {
    const ValueId made = whole_.constant(output) ? Constant(whole_, output) : made_.at({output});
    joined_.AddOutput(made);
    if (made_.contains({output}) && joined_.IsInput(made)) continue;
    // If a pass chose this name inside an earlier part, that value is renamed.
    const std::string& name = whole_.value(output).name;
    const ValueId taken = joined_.FindValue(name);
    if (taken == made || (taken != kNoValue && joined_.IsInput(taken))) continue;
    if (taken != kNoValue) joined_.RenameValue(taken, joined_.FreeValueName(name));
    joined_.RenameValue(made, name);
  }
  return std::move(joined_);
}

}  // namespace msc
