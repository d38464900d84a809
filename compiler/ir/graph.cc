#include "compiler/ir/graph.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

/// Returns `stem`, or `stem`_i if it is in use. Doubles i until a name is free, then bisects:
/// passes create thousands of names, and trying each i in turn would take quadratic time.
std::string FreeName(std::string_view stem, const auto& taken) {
  std::string name(stem.empty() ? "v" : stem);
  if (taken.find(name) == taken.end()) return name;
  const auto numbered = [prefix = name + "_"](std::uint64_t i) {
    return prefix + std::to_string(i);
  };
  const auto is_taken = [&](std::uint64_t i) { return taken.find(numbered(i)) != taken.end(); };
  std::uint64_t free = 1;
  while (is_taken(free)) free *= 2;
  std::uint64_t used = free / 2;  // 0 stands for `stem` itself
  while (used + 1 < free) {
    const std::uint64_t middle = used + (free - used) / 2;
    (is_taken(middle) ? used : free) = middle;
  }
  return numbered(free);
}

}  // namespace

Graph::ValueSlot& Graph::slot(ValueId id) {
  Check(static_cast<std::size_t>(id) < values_.size(), "a ValueId belongs to its graph");
  ValueSlot& found = values_[static_cast<std::size_t>(id)];
  Check(found.origin != Origin::kDead, "a value in use was not removed");
  return found;
}

const Graph::ValueSlot& Graph::slot(ValueId id) const {
  return const_cast<Graph*>(this)->slot(id);
}

bool Graph::IsLive(NodeId id) const noexcept {
  return static_cast<std::size_t>(id) < nodes_.size() && nodes_[static_cast<std::size_t>(id)].live;
}

Graph::NodeSlot& Graph::slot(NodeId id) {
  Check(IsLive(id), "a NodeId belongs to its graph and was not removed");
  return nodes_[static_cast<std::size_t>(id)];
}

ValueId Graph::NewValue(std::string name, ValueType type, Origin origin) {
  if (name.empty()) throw UserError("a value needs a name");
  const auto id = static_cast<ValueId>(values_.size());
  if (!value_names_.emplace(name, id).second) {
    throw UserError("value name '" + name + "' is used twice");
  }
  values_.push_back({.value = {std::move(name), std::move(type)},
                     .origin = origin,
                     .producer = kNoNode,
                     .tensor = nullptr});
  return id;
}

ValueId Graph::AddInput(std::string name, ValueType type) {
  const ValueId id = NewValue(std::move(name), std::move(type), Origin::kInput);
  inputs_.push_back(id);
  return id;
}

ValueId Graph::AddConstant(std::string name, TensorPtr tensor) {
  Check(tensor != nullptr, "a constant has a tensor");
  ValueType type{.dtype = tensor->dtype(), .shape = ToShape(tensor->dims())};
  const ValueId id = NewValue(std::move(name), std::move(type), Origin::kConstant);
  slot(id).tensor = std::move(tensor);
  return id;
}

ValueId Graph::AddConstant(std::string name, Tensor tensor) {
  return AddConstant(std::move(name), std::make_shared<const Tensor>(std::move(tensor)));
}

ValueId Graph::AddCaptured(std::string name, ValueType type) {
  const ValueId id = NewValue(std::move(name), std::move(type), Origin::kCaptured);
  captured_.push_back(id);
  return id;
}

ValueId Graph::AddValue(std::string name, ValueType type) {
  return NewValue(std::move(name), std::move(type), Origin::kPending);
}

std::size_t Graph::PositionOf(NodeId id) const {
  const auto rank = [&](NodeId node) { return nodes_[static_cast<std::size_t>(node)].rank; };
  const auto at =
      std::lower_bound(order_.begin(), order_.end(), rank(id),
                       [&](NodeId node, std::uint64_t wanted) { return rank(node) < wanted; });
  Check(at != order_.end() && *at == id, "a live node is in the order");
  return static_cast<std::size_t>(at - order_.begin());
}

std::uint64_t Graph::MakeRank(std::size_t position) {
  const auto rank = [&](std::size_t at) -> std::uint64_t& {
    return nodes_[static_cast<std::size_t>(order_[at])].rank;
  };
  constexpr std::uint64_t kGap = std::uint64_t{1} << 31U;
  const auto before = [&] { return position == 0 ? 0 : rank(position - 1); };
  if (position == order_.size()) return before() + kGap;
  if (rank(position) - before() < 2) {
    for (std::size_t i = 0; i < order_.size(); ++i) rank(i) = (i + 1) * kGap;
  }
  return before() + (rank(position) - before()) / 2;
}

void Graph::CheckReadable(const std::string& reader, ValueId id, std::uint64_t rank) const {
  const ValueSlot& read = slot(id);
  const bool too_late = read.origin == Origin::kPending ||
                        (read.origin == Origin::kNode &&
                         nodes_[static_cast<std::size_t>(read.producer)].rank >= rank);
  if (too_late) {
    throw UserError("node '" + reader + "' reads '" + read.value.name + "' before it is produced");
  }
}

void Graph::CheckProducts(const Node& node) const {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId id = node.outputs[i];
    if (id == kNoValue) continue;
    const auto earlier = node.outputs.begin() + static_cast<std::ptrdiff_t>(i);
    if (slot(id).origin != Origin::kPending ||
        std::find(node.outputs.begin(), earlier, id) != earlier) {
      throw UserError("value '" + slot(id).value.name + "' is produced twice");
    }
  }
}

NodeId Graph::AddNode(Node node, NodeId before) {
  if (node.name.empty()) node.name = FreeNodeName(node.op);
  if (node_names_.contains(node.name)) {
    throw UserError("node name '" + node.name + "' is used twice");
  }
  if (before != kNoNode) (void)slot(before);
  const std::size_t position = before == kNoNode ? order_.size() : PositionOf(before);
  const std::uint64_t rank = MakeRank(position);
  for (const auto* list : {&node.inputs, &node.captures}) {
    for (const ValueId id : *list) {
      if (id != kNoValue) CheckReadable(node.name, id, rank);
    }
  }
  Check(std::count(node.captures.begin(), node.captures.end(), kNoValue) == 0,
        "a captured value is not absent");
  CheckProducts(node);

  const auto id = static_cast<NodeId>(nodes_.size());
  std::size_t index = 0;
  for (const auto* list : {&node.inputs, &node.captures}) {
    for (const ValueId read : *list) {
      if (read != kNoValue) slot(read).uses.push_back({id, index});
      ++index;
    }
  }
  for (const ValueId made : node.outputs) {
    if (made == kNoValue) continue;
    slot(made).origin = Origin::kNode;
    slot(made).producer = id;
  }
  node_names_.emplace(node.name, id);
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(position), id);
  nodes_.push_back({.node = std::move(node), .rank = rank, .live = true});
  return id;
}

void Graph::AddOutput(ValueId value) {
  Check(slot(value).origin != Origin::kPending, "a graph output is produced");
  outputs_.push_back(value);
}

void Graph::SetOutputs(std::vector<ValueId> outputs) {
  for (const ValueId id : outputs) {
    Check(slot(id).origin != Origin::kPending, "a graph output is produced");
  }
  outputs_ = std::move(outputs);
}

const Node& Graph::node(NodeId id) const {
  return const_cast<Graph*>(this)->slot(id).node;
}

const Value& Graph::value(ValueId id) const {
  return slot(id).value;
}

std::vector<ValueId> Graph::values() const {
  std::vector<ValueId> live;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].origin != Origin::kDead) live.push_back(static_cast<ValueId>(i));
  }
  return live;
}

std::vector<ValueId> Graph::constants() const {
  std::vector<ValueId> found;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (values_[i].origin == Origin::kConstant) found.push_back(static_cast<ValueId>(i));
  }
  return found;
}

NodeId Graph::producer(ValueId id) const {
  return slot(id).producer;
}

const std::vector<Use>& Graph::uses(ValueId id) const {
  return slot(id).uses;
}

bool Graph::IsOutput(ValueId id) const {
  return std::find(outputs_.begin(), outputs_.end(), id) != outputs_.end();
}

bool Graph::IsInput(ValueId id) const {
  return slot(id).origin == Origin::kInput;
}

TensorPtr Graph::constant(ValueId id) const {
  return id == kNoValue ? nullptr : slot(id).tensor;
}

ValueId Graph::FindValue(std::string_view name) const {
  const auto it = value_names_.find(name);
  return it == value_names_.end() ? kNoValue : it->second;
}

NodeId Graph::FindNode(std::string_view name) const {
  const auto it = node_names_.find(name);
  return it == node_names_.end() ? kNoNode : it->second;
}

std::string Graph::FreeValueName(std::string_view stem) const {
  return FreeName(stem, value_names_);
}

std::string Graph::FreeNodeName(std::string_view stem) const {
  return FreeName(stem, node_names_);
}

}  // namespace msc
