#include <algorithm>
#include <utility>
#include <variant>

#include "compiler/base/error.h"
#include "compiler/ir/graph.h"

namespace msc {

void Graph::SetType(ValueId id, ValueType type) {
  slot(id).value.type = std::move(type);
}

void Graph::SetAttr(NodeId id, std::string name, Attr attr) {
  slot(id).node.attrs.insert_or_assign(std::move(name), std::move(attr));
}

void Graph::RemoveAttr(NodeId id, std::string_view name) {
  AttrMap& attrs = slot(id).node.attrs;
  const auto it = attrs.find(name);
  if (it != attrs.end()) attrs.erase(it);
}

void Graph::DropUse(ValueId value, Use use) {
  if (value == kNoValue) return;
  // Passes often remove the use that they added last; check it first.
  std::vector<Use>& uses = slot(value).uses;
  if (!uses.empty() && uses.back() == use) {
    uses.pop_back();
  } else {
    uses.erase(std::find(uses.begin(), uses.end(), use));
  }
}

void Graph::SetInput(NodeId id, std::size_t index, ValueId value) {
  NodeSlot& changed = slot(id);
  Check(index < changed.node.inputs.size(), "SetInput names an input the node has");
  ValueId& input = changed.node.inputs[index];
  if (input == value) return;
  if (value != kNoValue) CheckReadable(changed.node.name, value, changed.rank);
  DropUse(input, {id, index});
  input = value;
  if (value != kNoValue) slot(value).uses.push_back({id, index});
}

void Graph::SetConstant(ValueId id, TensorPtr tensor) {
  ValueSlot& changed = slot(id);
  Check(changed.origin == Origin::kConstant && tensor != nullptr, "SetConstant names a constant");
  changed.value.type.dtype = tensor->dtype();
  changed.value.type.shape = ToShape(tensor->dims());
  changed.tensor = std::move(tensor);
}

void Graph::RenameValue(ValueId id, std::string name) {
  ValueSlot& changed = slot(id);
  if (changed.value.name == name) return;
  if (name.empty()) throw UserError("a value needs a name");
  if (!value_names_.emplace(name, id).second) {
    throw UserError("value name '" + name + "' is used twice");
  }
  // Nested graphs refer to captured values by name.
  for (const Use& use : changed.uses) {
    Node& reader = slot(use.node).node;
    if (use.index >= reader.inputs.size()) RenameCaptured(reader, changed.value.name, name);
  }
  value_names_.erase(changed.value.name);
  changed.value.name = std::move(name);
}

void Graph::RenameNode(NodeId id, std::string name) {
  Node& changed = slot(id).node;
  if (changed.name == name) return;
  if (name.empty()) throw UserError("a node needs a name");
  if (!node_names_.emplace(name, id).second) {
    throw UserError("node name '" + name + "' is used twice");
  }
  node_names_.erase(changed.name);
  changed.name = std::move(name);
}

void Graph::RenameCaptured(Node& node, const std::string& from, const std::string& to) {
  const auto renamed = [&](const GraphPtr& nested) -> GraphPtr {
    if (!nested) return nested;
    const ValueId inner = nested->FindValue(from);
    if (inner == kNoValue || nested->slot(inner).origin != Origin::kCaptured) return nested;
    auto copy = std::make_shared<Graph>(*nested);
    const ValueId clash = copy->FindValue(to);
    if (clash == kNoValue) {
      copy->RenameValue(inner, to);
    } else if (copy->slot(clash).origin == Origin::kCaptured) {
      copy->ReplaceUses(inner, clash);
      std::erase(copy->captured_, inner);
      copy->value_names_.erase(from);
      copy->slot(inner).origin = Origin::kDead;
    } else {
      copy->RenameValue(clash, copy->FreeValueName(to));
      copy->RenameValue(inner, to);
    }
    return copy;
  };
  for (auto& [name, attr] : node.attrs) {
    if (auto* one = std::get_if<GraphPtr>(&attr)) *one = renamed(*one);
    if (auto* many = std::get_if<std::vector<GraphPtr>>(&attr)) {
      for (GraphPtr& nested : *many) nested = renamed(nested);
    }
  }
}

void Graph::ReplaceUses(ValueId from, ValueId to) {
  if (from == to) return;
  ValueSlot& old_value = slot(from);
  ValueSlot& new_value = slot(to);
  Check(new_value.origin != Origin::kPending, "ReplaceUses gives a produced value");
  // Check all readers before the first change.
  for (const Use& use : old_value.uses) {
    const NodeSlot& reader = slot(use.node);
    CheckReadable(reader.node.name, to, reader.rank);
  }
  for (const Use& use : old_value.uses) {
    Node& reader = slot(use.node).node;
    const std::size_t inputs = reader.inputs.size();
    if (use.index < inputs) {
      reader.inputs[use.index] = to;
    } else {
      reader.captures[use.index - inputs] = to;
      RenameCaptured(reader, old_value.value.name, new_value.value.name);
    }
    new_value.uses.push_back(use);
  }
  old_value.uses.clear();
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::RemoveNode(NodeId id) {
  Node& gone = slot(id).node;
  for (const ValueId made : gone.outputs) {
    if (made != kNoValue && (!slot(made).uses.empty() || IsOutput(made))) {
      throw UserError("node '" + gone.name + "' cannot be removed: '" + slot(made).value.name +
                      "' is still read");
    }
  }
  std::size_t index = 0;
  for (const auto* list : {&gone.inputs, &gone.captures}) {
    for (const ValueId read : *list) DropUse(read, {id, index++});
  }
  for (const ValueId made : gone.outputs) {
    if (made == kNoValue) continue;
    value_names_.erase(slot(made).value.name);
    slot(made).origin = Origin::kDead;
  }
  node_names_.erase(gone.name);
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(PositionOf(id)));
  nodes_[static_cast<std::size_t>(id)] = {};
}

void Graph::RemoveConstant(ValueId id) {
  ValueSlot& gone = slot(id);
  Check(gone.origin == Origin::kConstant && gone.uses.empty() && !IsOutput(id),
        "RemoveConstant names an unread constant");
  value_names_.erase(gone.value.name);
  gone.origin = Origin::kDead;
  gone.tensor = nullptr;
}

void Graph::SetMetadata(std::string key, std::string value) {
  metadata_.insert_or_assign(std::move(key), std::move(value));
}

}  // namespace msc
