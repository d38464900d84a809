#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

constexpr std::int64_t kOnnxF32 = 1;  // TensorProto.FLOAT
constexpr std::int64_t kOnnxF16 = 10;

bool IsF16(const Graph& graph, ValueId id) {
  return id != kNoValue && graph.type(id).dtype == DType::kF16;
}

bool IsCast(const Node& node) {
  return node.domain.empty() && (node.op == "Cast" || node.op == "CastLike");
}

/// Returns whether a node computes with f16, other than casts, which may stay at the borders.
bool Computes(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (IsCast(node)) return false;
  const auto is_f16 = [&](ValueId value) { return IsF16(graph, value); };
  return std::ranges::any_of(node.inputs, is_f16) || std::ranges::any_of(node.outputs, is_f16);
}

std::shared_ptr<const Tensor> Widened(const Tensor& tensor) {
  Tensor wide(DType::kF32, tensor.dims());
  const auto from = tensor.Values<std::uint16_t>();
  const auto to = wide.MutableValues<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = FromF16(from[i]);
  return std::make_shared<const Tensor>(std::move(wide));
}

ValueType InF32(ValueType type) {
  type.dtype = DType::kF32;
  return type;
}

/// Adds a Cast of `from` in front of `before`, and returns its output.
ValueId AddCast(Graph& graph, ValueId from, std::int64_t to, const std::string& name,
                NodeId before) {
  ValueType type = graph.type(from);
  type.dtype = to == kOnnxF32 ? DType::kF32 : DType::kF16;
  const ValueId value = graph.AddValue(graph.FreeValueName(name), std::move(type));
  Node cast{.name = graph.FreeNodeName(name), .op = "Cast"};
  cast.inputs = {from};
  cast.outputs = {value};
  cast.attrs["to"] = to;
  graph.AddNode(std::move(cast), before);
  return value;
}

/// Returns the node behind `id`, or kNoNode if it is the last.
NodeId Next(const Graph& graph, NodeId id) {
  const auto& order = graph.order();
  const auto it = std::ranges::find(order, id);
  return it == order.end() || std::next(it) == order.end() ? kNoNode : *std::next(it);
}

class Widening {
 public:
  explicit Widening(Graph& graph) : graph_(graph) {}

  void Run() {
    const std::vector<NodeId> nodes = graph_.order();
    outputs_ = graph_.outputs();
    for (const ValueId id : graph_.constants()) WidenConstant(id);
    for (const ValueId id : graph_.inputs()) {
      if (IsF16(graph_, id)) ReadAsF32(id, nodes.empty() ? kNoNode : nodes.front());
    }
    for (const NodeId id : nodes) WidenNode(id);
    graph_.SetOutputs(outputs_);
  }

 private:
  void WidenConstant(ValueId id) {
    if (!IsF16(graph_, id)) return;
    const TensorPtr wide = Widened(*graph_.constant(id));
    if (graph_.IsOutput(id)) {
      // It stays f16 as an output.
      const ValueId copy = graph_.AddConstant(graph_.FreeValueName(graph_.value(id).name), wide);
      ReplaceReaders(id, copy, kNoNode);
      return;
    }
    graph_.SetConstant(id, wide);
    graph_.SetType(id, InF32(graph_.type(id)));
  }

  /// Makes nodes, but not `except`, read `to` instead of `from`.
  void ReplaceReaders(ValueId from, ValueId to, NodeId except) {
    const std::vector<Use> uses = graph_.uses(from);
    for (const Use& use : uses) {
      if (use.node != except) graph_.SetInput(use.node, use.index, to);
    }
  }

  /// Makes the readers of an f16 value read it in f32.
  void ReadAsF32(ValueId id, NodeId before) {
    if (graph_.uses(id).empty()) return;
    const ValueId wide = AddCast(graph_, id, kOnnxF32, graph_.value(id).name + ".f32", before);
    ReplaceReaders(id, wide, graph_.producer(wide));
  }

  void WidenNode(NodeId id) {
    const bool cast = IsCast(graph_.node(id));
    const std::vector<ValueId> made = graph_.node(id).outputs;
    const bool f16 = std::ranges::any_of(made, [&](ValueId out) { return IsF16(graph_, out); });
    if (!f16) return;
    if (cast) {
      // A cast to f16 rounds, which stays; its readers go on in f32.
      const ValueId out = graph_.node(id).op == "CastLike" ? MakeCast(id) : made[0];
      ReadAsF32(out, Next(graph_, graph_.producer(out)));
      return;
    }
    WidenAttributes(id);
    for (const ValueId out : made) {
      if (!IsF16(graph_, out)) continue;
      graph_.SetType(out, InF32(graph_.type(out)));
      if (graph_.IsOutput(out)) KeepOutput(out, Next(graph_, id));
    }
  }

  /// Makes a CastLike a Cast to f16: what it is like is in f32 now. Returns the output.
  ValueId MakeCast(NodeId id) {
    const ValueId out = graph_.node(id).outputs[0];
    const std::string name = graph_.value(out).name;
    const ValueId narrow = AddCast(graph_, graph_.node(id).inputs[0], kOnnxF16, name + ".f16", id);
    graph_.ReplaceUses(out, narrow);
    std::ranges::replace(outputs_, out, narrow);
    graph_.RemoveNode(id);
    graph_.RenameValue(narrow, name);
    return narrow;
  }

  /// Types and tensors in attributes decide the type of an output.
  void WidenAttributes(NodeId id) {
    const AttrMap attrs = graph_.node(id).attrs;
    for (const auto& [name, attr] : attrs) {
      if (const auto* type = std::get_if<std::int64_t>(&attr)) {
        if (*type == kOnnxF16 && (name == "dtype" || name == "to")) {
          graph_.SetAttr(id, name, kOnnxF32);
        }
      } else if (const auto* tensor = std::get_if<TensorPtr>(&attr)) {
        if ((*tensor)->dtype() == DType::kF16) graph_.SetAttr(id, name, Widened(**tensor));
      }
    }
  }

  /// Gives a graph output that is computed in f32 its type and its name back.
  void KeepOutput(ValueId out, NodeId before) {
    const std::string name = graph_.value(out).name;
    graph_.RenameValue(out, graph_.FreeValueName(name + ".f32"));
    const ValueId narrow = AddCast(graph_, out, kOnnxF16, name, before);
    std::ranges::replace(outputs_, out, narrow);
  }

  Graph& graph_;
  std::vector<ValueId> outputs_;  ///< that the graph gets at the end
};

/// Returns whether the graph has nested graphs, sequences or optionals, which would keep f16
/// inside.
bool HasOtherValues(const Graph& graph) {
  return std::ranges::any_of(graph.order(), [&](NodeId id) {
    const OpDef* op = Ops().Find(graph.node(id).domain, graph.node(id).op);
    return op != nullptr && !op->computes_tensors;
  });
}

}  // namespace

bool WidenF16(Graph& graph) {
  const bool any =
      std::ranges::any_of(graph.order(), [&](NodeId id) { return Computes(graph, id); });
  if (!any || !graph.captured().empty() || HasOtherValues(graph)) return false;
  Widening(graph).Run();
  InferTypes(graph);
  return true;
}

}  // namespace msc
