#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/lstm.h"
#include "compiler/passes/match.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

const ValueType& InputType(const Graph& graph, const Node& node) {
  return graph.type(node.inputs.front());
}

const ValueType& OutputType(const Graph& graph, const Node& node) {
  return graph.type(node.outputs.front());
}

bool IsOnlyOutputRead(const Graph& graph, const Node& node) {
  return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId id) {
    return id == kNoValue || (graph.uses(id).empty() && !graph.IsOutput(id));
  });
}

bool IsInferenceDropout(const Graph& graph, const Node& node) {
  if (!node.Is("Dropout") || !IsOnlyOutputRead(graph, node)) return false;
  if (node.inputs.size() < 3 || node.inputs[2] == kNoValue) return true;
  const TensorPtr training = graph.constant(node.inputs[2]);
  return training && training->size() == 1 && training->Values<std::uint8_t>().front() == 0;
}

Ints Permutation(const Graph& graph, const Node& node) {
  Ints perm = AttrOr<Ints>(node, "perm", {});
  const auto rank = Rank(InputType(graph, node));
  if (perm.empty() && rank) {  // absent: axes reversed
    perm.resize(*rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  return perm;
}

bool IsCounting(const Ints& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

bool IsZeroPad(const Graph& graph, const Node& node) {
  if (!node.Is("Pad") || node.inputs.size() < 2) return false;
  const TensorPtr pads = graph.constant(node.inputs[1]);
  if (!pads || pads->dtype() != DType::kI64) return false;
  const auto values = pads->Values<std::int64_t>();
  return std::all_of(values.begin(), values.end(), [](std::int64_t pad) { return pad == 0; });
}

// Returns whether this is x * 1, x / 1, x + 0 or x - 0, which keep all bits, except that -0 + 0 is
// 0.
bool IsNeutralStep(const Graph& graph, const Node& node) {
  const auto step = node.Is("Pow") ? std::nullopt : ReadScalarStep(graph, node);
  if (!step || !SurelySameShape(graph.type(step->value), OutputType(graph, node))) return false;
  return step->scalar == (node.Is("Mul") || node.Is("Div") ? 1.0F : 0.0F);
}

bool OnlyChangesShape(const Node& node) {
  return node.Is("Reshape") || node.Is("Flatten") || node.Is("Squeeze") || node.Is("Unsqueeze");
}

// Returns whether a Slice goes forwards, one by one; if it also keeps the shape, it keeps all.
bool StepsByOne(const Graph& graph, const Node& node) {
  if (!node.HasInput(4)) return true;
  const TensorPtr steps = graph.constant(node.inputs[4]);
  if (!steps) return false;
  for (std::int64_t i = 0; i < steps->size(); ++i) {
    if (NumberAt(*steps, i) != 1) return false;
  }
  return true;
}

bool DoesNothing(const Graph& graph, const Node& node) {
  if (node.Is("Identity")) return true;
  if (IsInferenceDropout(graph, node) || IsZeroPad(graph, node)) return true;
  if (node.Is("Concat")) return node.inputs.size() == 1;
  if (node.Is("Cast")) {
    return InputType(graph, node).dtype == OutputType(graph, node).dtype &&
           InputType(graph, node).dtype != DType::kUndefined;
  }
  if (node.Is("Transpose")) {
    return Rank(InputType(graph, node)) && IsCounting(Permutation(graph, node));
  }
  const bool keeps_all =
      OnlyChangesShape(node) || node.Is("Expand") || (node.Is("Slice") && StepsByOne(graph, node));
  return keeps_all && SurelySameShape(InputType(graph, node), OutputType(graph, node));
}

/// Returns the input that a Where takes everywhere, if its condition is constant, and its result
/// has the shape of that input; otherwise kNoValue.
ValueId OnlyBranch(const Graph& graph, const Node& node) {
  const TensorPtr condition = node.Is("Where") ? graph.constant(node.inputs[0]) : nullptr;
  if (!condition || condition->size() == 0) return kNoValue;
  const auto values = condition->Values<std::uint8_t>();
  const bool first = values.front() != 0;
  const bool same =
      std::ranges::all_of(values, [first](std::uint8_t value) { return (value != 0) == first; });
  const ValueId branch = node.inputs[first ? 1 : 2];
  return same && SurelySameShape(graph.type(branch), OutputType(graph, node)) ? branch : kNoValue;
}

bool RemoveNothing(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.inputs.empty() || node.outputs.front() == kNoValue) return false;
  if (const ValueId branch = OnlyBranch(graph, node); branch != kNoValue) {
    return Bypass(graph, id, branch);
  }
  if (IsNeutralStep(graph, node)) {
    return Bypass(graph, id, ReadScalarStep(graph, node)->value);
  }
  return DoesNothing(graph, node) && Bypass(graph, id, node.inputs.front());
}

// Replaces a Transpose that moves only axes of size 1 by a Reshape.
bool MakeReshape(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Transpose")) return false;
  const auto& shape = InputType(graph, node).shape;
  const auto dims = shape ? StaticDims(*shape) : std::nullopt;
  if (!dims || IsCaptured(graph, node.outputs.front())) return false;
  const Ints perm = Permutation(graph, node);
  Ints moved;  // axes larger than 1, in their new order
  Ints target;
  for (const std::int64_t axis : perm) {
    const std::int64_t size = (*dims)[static_cast<std::size_t>(axis)];
    if (size == 0) return false;  // Reshape would copy a dimension for 0
    target.push_back(size);
    if (size != 1) moved.push_back(axis);
  }
  if (IsCounting(perm) || !std::is_sorted(moved.begin(), moved.end())) return false;
  const std::string stem = graph.value(node.outputs.front()).name + "_shape";
  const ValueId wanted = graph.AddConstant(
      graph.FreeValueName(stem),
      Tensor::From<std::int64_t>(DType::kI64, {static_cast<std::int64_t>(target.size())}, target));
  Node reshape{.op = "Reshape", .inputs = {node.inputs.front(), wanted}};
  const NodeId nodes[] = {id};  // NOLINT(modernize-avoid-c-arrays)
  ReplaceChain(graph, nodes, std::move(reshape));
  return true;
}

// Returns the producer of the first input if it has the same operator.
NodeId SameBefore(const Graph& graph, const Node& node) {
  const NodeId before = graph.producer(node.inputs.front());
  if (before == kNoNode || !graph.node(before).Is(node.op)) return kNoNode;
  return before;
}

// Merges Transpose(Transpose(x)); the next round removes the result if it is the identity.
bool MergeTransposes(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Transpose")) return false;
  const NodeId before = SameBefore(graph, node);
  if (before == kNoNode) return false;
  const Ints first = Permutation(graph, graph.node(before));
  const Ints second = Permutation(graph, node);
  if (first.empty() || first.size() != second.size()) return false;
  Ints both;
  for (const std::int64_t axis : second) both.push_back(first.at(static_cast<std::size_t>(axis)));
  graph.SetAttr(id, "perm", both);
  graph.SetInput(id, 0, graph.node(before).inputs.front());
  return true;
}

// Merges Reshape(Reshape(x)): only the last shape matters, unless it copies dimensions (0).
bool MergeReshapes(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("Reshape")) return false;
  const NodeId before = SameBefore(graph, node);
  if (before == kNoNode) return false;
  const TensorPtr target = graph.constant(node.inputs.at(1));
  if (!target) return false;
  const auto dims = target->Values<std::int64_t>();
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return false;
  graph.SetInput(id, 0, graph.node(before).inputs.front());
  return true;
}

/// Removes Reshapes in front of and behind a Softmax along the last axis that undo each other, if
/// they keep this axis: they only arrange its rows.
bool UnwrapSoftmax(Graph& graph, NodeId id) {
  const Node& behind = graph.node(id);
  if (!OnlyChangesShape(behind)) return false;
  const ValueId made = behind.inputs[0];
  const Node* softmax = MadeBy(graph, made, "Softmax");
  if (softmax == nullptr || !OnlyReader(graph, made)) return false;
  const NodeId before = graph.producer(softmax->inputs[0]);
  if (before == kNoNode || !OnlyChangesShape(graph.node(before))) return false;
  const ValueId x = graph.node(before).inputs[0];
  const ValueType& type = graph.type(x);
  if (!SurelySameShape(type, OutputType(graph, behind)) || type.shape->empty()) return false;
  const auto& rows = graph.type(made).shape;
  const auto axis = AttrOr<std::int64_t>(*softmax, "axis", -1);
  const bool keeps = rows && !rows->empty() && rows->back() == type.shape->back() &&
                     (axis == -1 || axis + 1 == std::ssize(*rows));
  if (!keeps || IsCaptured(graph, behind.outputs.front())) return false;
  const NodeId node = graph.producer(made);
  graph.SetInput(node, 0, x);
  graph.SetAttr(node, "axis", std::int64_t{-1});
  graph.SetType(made, graph.type(x));
  return Bypass(graph, id, made);
}

/// Returns whether every element is 0, also if the number of elements is unknown; exporters write
/// initial states of recurrent layers in this form.
bool IsZero(const Graph& graph, ValueId value) {
  for (int steps = 0; steps < 8 && value != kNoValue; ++steps) {
    if (const TensorPtr tensor = graph.constant(value)) {
      const auto bytes = tensor->Raw();
      return tensor->dtype() != DType::kString &&
             std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
    }
    const NodeId id = graph.producer(value);
    if (id == kNoNode) return false;
    const Node& node = graph.node(id);
    if (node.Is("ConstantOfShape")) {
      const auto filled = AttrOr(node, "value", TensorPtr());
      return !filled || filled->size() != 1 || NumberAt(*filled, 0) == 0;
    }
    if (!OnlyChangesShape(node) && !node.Is("Expand") && !node.Is("Slice") && !node.Is("Split") &&
        !node.Is("Transpose") && !node.Is("Identity")) {
      return false;
    }
    value = node.inputs.front();
  }
  return false;
}

// Removes initial states of zeros; an absent state means zeros.
bool RemoveZeroStates(Graph& graph, NodeId id) {
  if (!graph.node(id).Is("LSTM")) return false;
  bool changed = false;
  for (const std::size_t i : {kLstmH, kLstmC}) {
    const std::vector<ValueId>& inputs = graph.node(id).inputs;
    if (i >= inputs.size() || inputs[i] == kNoValue || !IsZero(graph, inputs[i])) continue;
    graph.SetInput(id, i, kNoValue);
    changed = true;
  }
  return changed;
}

}  // namespace

bool RemoveIdentities(Graph& graph) {
  bool changed = false;
  const std::vector<NodeId> order = graph.order();
  for (const NodeId id : order) {
    if (MakeReshape(graph, id)) {
      changed = true;
      continue;
    }
    if (UnwrapSoftmax(graph, id)) {
      changed = true;
      continue;
    }
    const bool merged = MergeTransposes(graph, id) || MergeReshapes(graph, id);
    const bool emptied = RemoveZeroStates(graph, id);
    const bool removed = RemoveNothing(graph, id);
    changed = changed || merged || emptied || removed;
  }
  return changed;
}

}  // namespace msc
