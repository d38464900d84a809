#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/move_axes.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

/// Returns the elements of a value; sizes that are not known count as 1.
double SizeOf(const ValueType& type) {
  double size = 1;
  for (const Dim& dim : *type.shape) {
    if (dim.known()) size *= static_cast<double>(dim.size());
  }
  return size;
}

/// Returns what transposing a value costs: nothing if a Reshape does it.
double CostOf(const ValueType& type, const Perm& perm) {
  return IsIdentity(perm) || IsReshape(type, perm) ? 0 : SizeOf(type);
}

/// Nodes that would work on values as they are in front of some Transposes of one order. A value is
/// *plain* if it is known without this order.
class Region {
 public:
  Region(const Graph& graph, Perm perm)
      : graph_(graph), perm_(std::move(perm)), inverse_(Inverse(perm_)) {}

  /// Adds all nodes behind the Transpose that can work on plain values, and those behind other
  /// Transposes of the same order that these read.
  void GrowFrom(NodeId transpose) {
    std::vector<ValueId> open = {graph_.node(transpose).outputs.front()};
    plain_.insert(open.front());
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      for (const Use& use : graph_.uses(value)) {
        if (moved_.contains(use.node)) continue;
        auto moved = TryMove(use.node);
        if (!moved || !Has(moved->moved, use.index)) continue;
        for (const std::size_t index : moved->moved) {
          const ValueId read = graph_.node(use.node).inputs[index];
          if (IsTransposed(read) && plain_.insert(read).second) open.push_back(read);
        }
        const ValueId made = graph_.node(use.node).outputs.front();
        const bool goes_on = moved->output == perm_;
        moved_.emplace(use.node, *std::move(moved));
        if (goes_on && plain_.insert(made).second) open.push_back(made);
      }
    }
  }

  /// Returns by how many elements less are transposed if the nodes move.
  [[nodiscard]] double Gain() const {
    double gain = 0;
    std::set<ValueId> read;
    for (const auto& [id, moved] : moved_) {
      for (const std::size_t index : moved.moved) {
        const ValueId value = graph_.node(id).inputs[index];
        if (!read.insert(value).second || !HasAxes(value) || plain_.contains(value)) continue;
        gain -= CostOf(graph_.type(value), inverse_);
      }
      gain -= CostBehind(id, moved);
    }
    for (const ValueId value : plain_) {
      if (IsTransposed(value) && IsReadHereAlone(value)) gain += CostOf(graph_.type(value), perm_);
    }
    return gain;
  }

  [[nodiscard]] const Perm& perm() const { return perm_; }
  [[nodiscard]] const Perm& inverse() const { return inverse_; }
  [[nodiscard]] const std::map<NodeId, MovedNode>& moved() const { return moved_; }
  /// Returns whether a node that moves reads the plain value there.
  [[nodiscard]] bool ReadsPlain(const Use& use) const {
    const auto found = moved_.find(use.node);
    return found != moved_.end() && Has(found->second.moved, use.index);
  }

 private:
  static bool Has(const std::vector<std::size_t>& moved, std::size_t index) {
    return std::find(moved.begin(), moved.end(), index) != moved.end();
  }
  /// Returns whether a value is the output of a Transpose of this order.
  [[nodiscard]] bool IsTransposed(ValueId value) const {
    const NodeId producer = graph_.producer(value);
    return producer != kNoNode && PermOf(graph_, graph_.node(producer)) == perm_;
  }
  /// Returns whether a value has axes to move, and is computed.
  [[nodiscard]] bool HasAxes(ValueId value) const {
    return graph_.constant(value) == nullptr && Rank(graph_.type(value)) != 0U;
  }

  [[nodiscard]] std::optional<MovedNode> TryMove(NodeId id) const {
    const Node& node = graph_.node(id);
    auto moved = MoveAxes(graph_, node, perm_);
    if (!moved || IsCaptured(graph_, node.outputs.front())) return std::nullopt;
    const auto made = Rank(graph_.type(node.outputs.front()));
    if (!made || *made != moved->output.size()) return std::nullopt;
    for (const std::size_t index : moved->moved) {
      const auto rank = Rank(graph_.type(node.inputs[index]));
      if (!rank || *rank > perm_.size()) return std::nullopt;
      if (HasAxes(node.inputs[index]) && *rank != perm_.size()) return std::nullopt;
    }
    return moved;
  }

  [[nodiscard]] bool IsReadHereAlone(ValueId value) const {
    const auto& uses = graph_.uses(value);
    return !graph_.IsOutput(value) &&
           std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return ReadsPlain(use); });
  }

  /// Returns the cost of giving readers outside the region what they read, less that of Transposes
  /// which are not needed any more.
  [[nodiscard]] double CostBehind(NodeId id, const MovedNode& moved) const {
    const ValueId made = graph_.node(id).outputs.front();
    bool needed = graph_.IsOutput(made);
    double cost = 0;
    for (const Use& use : graph_.uses(made)) {
      if (moved.output == perm_ && ReadsPlain(use)) continue;
      const auto next = PermOf(graph_, graph_.node(use.node));
      if (!next) {
        needed = true;
        continue;
      }
      const ValueType now = Transposed(graph_.type(made), Inverse(moved.output));
      cost += CostOf(now, Composed(moved.output, *next)) - CostOf(graph_.type(made), *next);
    }
    return cost + (needed
                       ? CostOf(Transposed(graph_.type(made), Inverse(moved.output)), moved.output)
                       : 0);
  }

  const Graph& graph_;
  Perm perm_;
  Perm inverse_;
  std::map<NodeId, MovedNode> moved_;
  std::set<ValueId> plain_;  ///< outputs of Transposes and of nodes that move
};

/// Moves the nodes of a region.
class Mover {
 public:
  Mover(Graph& graph, const Region& region) : graph_(graph), region_(region) {}

  void Run() {
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) {
      const auto found = region_.moved().find(id);
      if (found != region_.moved().end()) Move(id, found->second);
    }
    // Nodes that nobody reads any more leave their names to those in their place.
    std::reverse(replaced_.begin(), replaced_.end());
    for (const auto& [old, anew] : replaced_) {
      const std::string name = graph_.node(old).name;
      graph_.RemoveNode(old);
      graph_.RenameNode(anew, name);
    }
    RemoveDeadCode(graph_);
  }

 private:
  void Move(NodeId id, const MovedNode& moved) {
    Node node = graph_.node(id);
    const std::string name = node.name;
    const ValueId made = node.outputs.front();
    const std::string value_name = graph_.value(made).name;
    node.attrs = moved.attrs;
    for (const std::size_t index : moved.moved) {
      node.inputs[index] = Plain(node.inputs[index], id);
    }
    for (const auto& [index, tensor] : moved.constants) {
      if (node.inputs.size() <= index) node.inputs.resize(index + 1, kNoValue);
      node.inputs[index] = graph_.AddConstant(graph_.FreeValueName(value_name + "_axes"), tensor);
    }
    if (IsIdentity(moved.output)) {
      node.outputs = {};
      const NodeId nodes[] = {id};  // NOLINT(modernize-avoid-c-arrays)
      ReplaceChain(graph_, nodes, std::move(node));
      return;
    }
    const ValueId plain = graph_.AddValue(graph_.FreeValueName(value_name + "_moved"),
                                          Transposed(graph_.type(made), Inverse(moved.output)));
    node.name = graph_.FreeNodeName(name + "_moved");
    node.outputs = {plain};
    const NodeId anew = graph_.AddNode(std::move(node), id);
    const bool needed = ServeReaders(id, moved, plain);
    if (moved.output == region_.perm()) plain_[made] = plain;
    if (!needed) {
      replaced_.emplace_back(id, anew);
      return;
    }
    const NodeId nodes[] = {id};  // NOLINT(modernize-avoid-c-arrays)
    const NodeId back =
        ReplaceChain(graph_, nodes,
                     Node{.op = "Transpose", .inputs = {plain}, .attrs = {{"perm", moved.output}}});
    graph_.RenameNode(back, graph_.FreeNodeName(name + "_transpose"));
    graph_.RenameNode(anew, name);
    if (moved.output == region_.perm()) plain_[graph_.node(back).outputs.front()] = plain;
  }

  /// Lets Transposes behind a node read the plain value. Returns whether others need what the node
  /// made.
  bool ServeReaders(NodeId id, const MovedNode& moved, ValueId plain) {
    const ValueId made = graph_.node(id).outputs.front();
    bool needed = graph_.IsOutput(made);
    const std::vector<Use> uses = graph_.uses(made);
    for (const Use& use : uses) {
      if (moved.output == region_.perm() && region_.ReadsPlain(use)) continue;
      const auto next = PermOf(graph_, graph_.node(use.node));
      if (!next) {
        needed = true;
        continue;
      }
      graph_.SetAttr(use.node, "perm", Composed(moved.output, *next));
      graph_.SetInput(use.node, 0, plain);
    }
    return needed;
  }

  /// Returns the plain value of an input of `reader`.
  ValueId Plain(ValueId value, NodeId reader) {
    const auto known = plain_.find(value);
    if (known != plain_.end()) return known->second;
    const auto rank = Rank(graph_.type(value));
    if (rank == 0U) return value;
    const std::string name = graph_.value(value).name;
    ValueId plain = kNoValue;
    if (const TensorPtr tensor = graph_.constant(value)) {
      plain = graph_.AddConstant(graph_.FreeValueName(name + "_moved"), MovedConstant(*tensor));
    } else if (const NodeId producer = graph_.producer(value);
               producer != kNoNode && PermOf(graph_, graph_.node(producer)) == region_.perm()) {
      plain = graph_.node(producer).inputs.front();
    } else {
      plain = graph_.AddValue(graph_.FreeValueName(name + "_moved"),
                              Transposed(graph_.type(value), region_.inverse()));
      Node transpose{.name = graph_.FreeNodeName(name + "_transpose"),
                     .op = "Transpose",
                     .inputs = {value},
                     .outputs = {plain},
                     .attrs = {{"perm", region_.inverse()}}};
      graph_.AddNode(std::move(transpose), reader);
    }
    plain_.emplace(value, plain);
    return plain;
  }

  /// Returns a constant that is broadcast with its axes moved.
  [[nodiscard]] Tensor MovedConstant(const Tensor& tensor) const {
    Dims dims(region_.perm().size() - tensor.dims().size(), 1);
    dims.insert(dims.end(), tensor.dims().begin(), tensor.dims().end());
    const Tensor whole = tensor.Reshaped(dims);
    const Node transpose{.op = "Transpose", .attrs = {{"perm", region_.inverse()}}};
    const Tensor* const inputs[] = {&whole};  // NOLINT(modernize-avoid-c-arrays)
    return std::move(Ops().Get(transpose).eval(transpose, inputs).front());
  }

  Graph& graph_;
  const Region& region_;
  std::map<ValueId, ValueId> plain_;
  std::vector<std::pair<NodeId, NodeId>> replaced_;  ///< nodes, and those in their place
};

/// Moves what lies behind a Transpose if that pays.
bool MoveBehind(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto perm = PermOf(graph, node);
  if (!perm || IsIdentity(*perm) || graph.constant(node.inputs.front()) != nullptr ||
      IsReshape(graph.type(node.inputs.front()), *perm)) {
    return false;
  }
  Region region(graph, *perm);
  region.GrowFrom(id);
  if (region.moved().empty() || !(region.Gain() > 0)) return false;
  Mover(graph, region).Run();
  return true;
}

}  // namespace

bool MoveTransposes(Graph& graph) {
  return Sweep(graph, [&](NodeId id) { return MoveBehind(graph, id); });
}

}  // namespace msc
