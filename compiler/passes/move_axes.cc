#include "compiler/passes/move_axes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

/// Operators of one value; further inputs of Clip are scalars.
constexpr std::array<std::string_view, 32> kUnary = {
    "Abs",      "Cast",        "Ceil",      "Celu",
    "Clip",     "Cos",         "Elu",       "Erf",
    "Exp",      "Floor",       "HardSwish", "Identity",
    "IsNaN",    "HardSigmoid", "Log",       "LeakyRelu",
    "Mish",     "Neg",         "Not",       "Reciprocal",
    "Relu",     "Round",       "Selu",      "Shrink",
    "Sigmoid",  "Sign",        "Sin",       "Softplus",
    "Softsign", "Sqrt",        "Tanh",      "ThresholdedRelu"};

/// Operators that broadcast all of their inputs.
constexpr std::array<std::string_view, 19> kBroadcast = {
    "Add",  "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max",
    "Mean", "Min", "Mod", "Mul",   "Or",      "PRelu",          "Pow",  "Sub",         "Sum",
    "Where"};

constexpr std::array<std::string_view, 10> kReductions = {
    "ReduceL1",   "ReduceL2",  "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
    "ReduceMean", "ReduceMin", "ReduceProd",   "ReduceSum",       "ReduceSumSquare"};

constexpr std::array<std::string_view, 4> kAlongAnAxis = {"Concat", "Hardmax", "LogSoftmax",
                                                          "Softmax"};

template <std::size_t size>
bool Has(const std::array<std::string_view, size>& names, const Node& node) {
  return node.domain.empty() && std::find(names.begin(), names.end(), node.op) != names.end();
}

std::optional<std::int64_t> AxisBefore(const Perm& perm, std::int64_t axis) {
  const auto rank = std::ssize(perm);
  if (axis < -rank || axis >= rank) return std::nullopt;
  return perm[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
}

std::optional<Perm> AxesBefore(const Perm& perm, const std::vector<std::int64_t>& axes) {
  Perm before;
  for (const std::int64_t axis : axes) {
    const auto at = AxisBefore(perm, axis);
    if (!at) return std::nullopt;
    before.push_back(*at);
  }
  return before;
}

std::optional<std::vector<std::int64_t>> ConstantList(const Graph& graph, const Node& node,
                                                      std::size_t index) {
  if (!node.HasInput(index)) return std::nullopt;
  const TensorPtr tensor = graph.constant(node.inputs[index]);
  if (tensor == nullptr || (tensor->dtype() != DType::kI64 && tensor->dtype() != DType::kI32)) {
    return std::nullopt;
  }
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < tensor->size(); ++i) {
    list.push_back(static_cast<std::int64_t>(NumberAt(*tensor, i)));
  }
  return list;
}

Tensor ListOf(const std::vector<std::int64_t>& list) {
  return Tensor::From<std::int64_t>(DType::kI64, {std::ssize(list)}, list);
}

std::vector<std::size_t> AllInputs(const Node& node) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.HasInput(i)) all.push_back(i);
  }
  return all;
}

std::optional<MovedNode> MoveAxis(const Node& node, const Perm& perm, std::int64_t otherwise) {
  const auto axis = AxisBefore(perm, AttrOr<std::int64_t>(node, "axis", otherwise));
  if (!axis) return std::nullopt;
  MovedNode moved{.attrs = node.attrs, .moved = {0}, .constants = {}, .output = perm};
  if (node.Is("Concat")) moved.moved = AllInputs(node);
  moved.attrs["axis"] = *axis;
  return moved;
}

std::optional<MovedNode> MoveQuantize(const Graph& graph, const Node& node, const Perm& perm) {
  const auto dims = graph.type(node.inputs.at(1)).shape;
  if (!dims) return std::nullopt;
  if (!dims->empty()) return MoveAxis(node, perm, 1);
  return MovedNode{.attrs = node.attrs, .moved = {0}, .constants = {}, .output = perm};
}

std::optional<MovedNode> MovePad(const Graph& graph, const Node& node, const Perm& perm) {
  const auto pads = ConstantList(graph, node, 1);
  const std::size_t rank = perm.size();
  if (!pads || pads->size() != 2 * rank || node.HasInput(3)) return std::nullopt;
  std::vector<std::int64_t> before(2 * rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto axis = static_cast<std::size_t>(perm[i]);
    before[axis] = (*pads)[i];
    before[rank + axis] = (*pads)[rank + i];
  }
  MovedNode moved{.attrs = node.attrs, .moved = {0}, .constants = {}, .output = perm};
  moved.constants.emplace(1, ListOf(before));
  return moved;
}

/// Returns the order that the axes other than `reduced`, of the value before, have afterwards.
Perm OrderOfOthers(const Perm& perm, const Perm& reduced) {
  Perm left;
  for (const std::int64_t axis : perm) {
    if (std::find(reduced.begin(), reduced.end(), axis) == reduced.end()) left.push_back(axis);
  }
  Perm sorted = left;
  std::sort(sorted.begin(), sorted.end());
  for (std::int64_t& axis : left) {
    axis = std::lower_bound(sorted.begin(), sorted.end(), axis) - sorted.begin();
  }
  return left;
}

std::optional<MovedNode> MoveReduction(const Graph& graph, const Node& node, const Perm& perm) {
  const bool by_input = node.HasInput(1);
  const auto axes =
      by_input ? ConstantList(graph, node, 1) : AttrOr<std::vector<std::int64_t>>(node, "axes", {});
  if (!axes || axes->empty()) return std::nullopt;
  const auto before = AxesBefore(perm, *axes);
  if (!before) return std::nullopt;
  MovedNode moved{.attrs = node.attrs, .moved = {0}, .constants = {}, .output = perm};
  // In order, so that passes that look for axes find them.
  Perm sorted = *before;
  std::sort(sorted.begin(), sorted.end());
  if (by_input) {
    moved.constants.emplace(1, ListOf(sorted));
  } else {
    moved.attrs["axes"] = sorted;
  }
  if (AttrOr<std::int64_t>(node, "keepdims", 1) == 0) moved.output = OrderOfOthers(perm, sorted);
  return moved;
}

std::optional<MovedNode> MoveSlice(const Graph& graph, const Node& node, const Perm& perm) {
  auto axes = ConstantList(graph, node, 3);
  if (!axes) {
    const auto starts = ConstantList(graph, node, 1);
    if (!starts || node.HasInput(3) || node.inputs.size() > 3) return std::nullopt;
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  const auto before = AxesBefore(perm, *axes);
  if (!before) return std::nullopt;
  MovedNode moved{.attrs = node.attrs, .moved = {0}, .constants = {}, .output = perm};
  moved.constants.emplace(3, ListOf(*before));
  return moved;
}

}  // namespace

std::optional<Perm> PermOf(const Graph& graph, const Node& node) {
  if (!node.Is("Transpose")) return std::nullopt;
  const auto rank = Rank(graph.type(node.inputs.front()));
  if (!rank) return std::nullopt;
  Perm perm = AttrOr<Perm>(node, "perm", {});
  if (perm.empty()) {  // absent: axes reversed
    perm.resize(*rank);
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  if (perm.size() != *rank) return std::nullopt;
  return perm;
}

Perm Inverse(const Perm& perm) {
  Perm inverse(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    inverse.at(static_cast<std::size_t>(perm[i])) = static_cast<std::int64_t>(i);
  }
  return inverse;
}

Perm Composed(const Perm& first, const Perm& second) {
  Perm both;
  for (const std::int64_t axis : second) both.push_back(first.at(static_cast<std::size_t>(axis)));
  return both;
}

bool IsIdentity(const Perm& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

bool IsReshape(const ValueType& type, const Perm& perm) {
  const auto dims = type.shape ? StaticDims(*type.shape) : std::nullopt;
  if (!dims || dims->size() != perm.size()) return false;
  std::int64_t last = -1;
  for (const std::int64_t axis : perm) {
    const std::int64_t size = dims->at(static_cast<std::size_t>(axis));
    if (size == 0) return false;
    if (size == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

ValueType Transposed(ValueType type, const Perm& perm) {
  Shape shape;
  for (const std::int64_t axis : perm)
    shape.push_back(type.shape->at(static_cast<std::size_t>(axis)));
  type.shape = std::move(shape);
  return type;
}

std::optional<MovedNode> MoveAxes(const Graph& graph, const Node& node, const Perm& perm) {
  if (node.outputs.size() != 1 || node.inputs.empty()) return std::nullopt;
  if (Has(kUnary, node)) {
    return MovedNode{.attrs = node.attrs, .moved = {0}, .constants = {}, .output = perm};
  }
  if (Has(kBroadcast, node)) {
    return MovedNode{
        .attrs = node.attrs, .moved = AllInputs(node), .constants = {}, .output = perm};
  }
  if (Has(kReductions, node)) return MoveReduction(graph, node, perm);
  if (Has(kAlongAnAxis, node)) return MoveAxis(node, perm, -1);
  if (node.Is("QuantizeLinear") || node.Is("DequantizeLinear")) {
    return MoveQuantize(graph, node, perm);
  }
  if (node.Is("Pad")) return MovePad(graph, node, perm);
  if (node.Is("Slice")) return MoveSlice(graph, node, perm);
  return std::nullopt;
}

}  // namespace msc
