#include "compiler/ir/verifier.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "compiler/base/error.h"

namespace msc {
namespace {

void VerifyAt(const Graph& graph, int depth);

[[noreturn]] void Reject(const Graph& graph, const std::string& what) {
  throw UserError("graph '" + graph.name() + "': " + what);
}

std::string At(const Node& node) {
  return "node '" + node.name + "' (" + node.op + ")";
}

/// Checks that every value has a unique name and that constants have their tensor's type.
void CheckValues(const Graph& graph) {
  std::set<std::string_view> names;
  for (const ValueId id : graph.values()) {
    const Value& value = graph.value(id);
    if (value.name.empty()) Reject(graph, "a value has no name");
    if (!names.insert(value.name).second) {
      Reject(graph, "value name '" + value.name + "' is used twice");
    }
    const TensorPtr tensor = graph.constant(id);
    if (!tensor) continue;
    const ValueType of_tensor{.dtype = tensor->dtype(), .shape = ToShape(tensor->dims())};
    if (value.type != of_tensor) {
      Reject(graph, "constant '" + value.name + "' has type " + ToString(value.type) +
                        " but its tensor is " + ToString(of_tensor));
    }
  }
}

/// Position at which each value becomes readable: before all nodes, or at its producer's position.
class Places {
 public:
  explicit Places(const Graph& graph) : graph_(graph) {
    for (const auto* list : {&graph.inputs(), &graph.captured()}) {
      for (const ValueId id : *list) Produce(id, kBefore);
    }
    for (const ValueId id : graph.constants()) Produce(id, kBefore);
    for (std::size_t i = 0; i < graph.order().size(); ++i) {
      for (const ValueId id : graph.node(graph.order()[i]).outputs) {
        if (id == kNoValue) continue;
        Produce(id, static_cast<std::int64_t>(i));
        if (graph.producer(id) != graph.order()[i]) {
          Reject(graph, "value '" + graph.value(id).name + "' does not know its producer");
        }
      }
    }
    for (const ValueId id : graph.values()) {
      if (!places_.contains(id)) {
        Reject(graph, "value '" + graph.value(id).name + "' has no producer");
      }
    }
  }

  void CheckRead(const Node& node, std::int64_t at, ValueId id) const {
    if (places_.at(id) >= at) {
      Reject(graph_, At(node) + " reads '" + graph_.value(id).name + "' before it is produced");
    }
  }

 private:
  static constexpr std::int64_t kBefore = -1;

  void Produce(ValueId id, std::int64_t place) {
    if (!places_.emplace(id, place).second) {
      Reject(graph_, "value '" + graph_.value(id).name + "' is produced twice");
    }
  }

  const Graph& graph_;
  std::unordered_map<ValueId, std::int64_t> places_;
};

void CheckUses(const Graph& graph) {
  std::size_t uses = 0;
  for (const ValueId id : graph.values()) {
    for (const Use& use : graph.uses(id)) {
      const Node& node = graph.node(use.node);
      const std::size_t inputs = node.inputs.size();
      const bool agrees = use.index < inputs ? node.inputs[use.index] == id
                                             : use.index - inputs < node.captures.size() &&
                                                   node.captures[use.index - inputs] == id;
      if (!agrees) {
        Reject(graph, At(node) + " is listed as a reader of '" + graph.value(id).name +
                          "' but does not read it");
      }
      ++uses;
    }
  }
  std::size_t reads = 0;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    reads += node.captures.size() + node.inputs.size() -
             static_cast<std::size_t>(std::count(node.inputs.begin(), node.inputs.end(), kNoValue));
  }
  if (uses != reads) Reject(graph, "use lists and node inputs disagree");
}

struct AttrChecker {
  const Graph& graph;
  const Node& node;
  const std::string& name;
  int depth;

  void operator()(const TensorPtr& tensor) const { NotNull(tensor != nullptr); }
  void operator()(const std::vector<TensorPtr>& tensors) const {
    for (const TensorPtr& tensor : tensors) NotNull(tensor != nullptr);
  }
  void operator()(const GraphPtr& nested) const {
    NotNull(nested != nullptr);
    if (depth >= kMaxGraphDepth) {
      Reject(graph, At(node) + ": graphs are nested deeper than " + std::to_string(kMaxGraphDepth) +
                        " levels");
    }
    for (const ValueId id : nested->captured()) {
      const std::string& wanted = nested->value(id).name;
      const bool listed =
          std::any_of(node.captures.begin(), node.captures.end(),
                      [&](ValueId outer) { return graph.value(outer).name == wanted; });
      if (!listed) {
        Reject(graph, At(node) + ": its graph '" + nested->name() + "' captures '" + wanted +
                          "', which the node does not list");
      }
    }
    VerifyAt(*nested, depth + 1);
  }
  void operator()(const std::vector<GraphPtr>& graphs) const {
    for (const GraphPtr& nested : graphs) (*this)(nested);
  }
  template <class T>
  void operator()(const T& /*value*/) const {}

  void NotNull(bool ok) const {
    if (!ok) Reject(graph, At(node) + ": attribute '" + name + "' is empty");
  }
};

void VerifyAt(const Graph& graph, int depth) {
  CheckValues(graph);
  const Places places(graph);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < graph.order().size(); ++i) {
    const Node& node = graph.node(graph.order()[i]);
    if (node.name.empty()) Reject(graph, "a node has no name");
    if (node.op.empty()) Reject(graph, "node '" + node.name + "' has no operator");
    if (!names.insert(node.name).second) {
      Reject(graph, "node name '" + node.name + "' is used twice");
    }
    for (const auto* list : {&node.inputs, &node.captures}) {
      for (const ValueId id : *list) {
        if (id != kNoValue) places.CheckRead(node, static_cast<std::int64_t>(i), id);
      }
    }
    for (const auto& [name, attr] : node.attrs) {
      if (name.empty()) Reject(graph, At(node) + " has an attribute without a name");
      std::visit(AttrChecker{graph, node, name, depth}, attr);
    }
  }
  CheckUses(graph);
}

}  // namespace

void Verify(const Graph& graph) {
  VerifyAt(graph, 0);
}

}  // namespace msc
