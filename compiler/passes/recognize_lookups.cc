#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "compiler/ir/tensor.h"
#include "compiler/passes/match.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

/// Numbers that select the rows of a table.
struct Selection {
  ValueId numbers = kNoValue;  ///< i32 or i64
  std::int64_t rows = 0;
  bool column = false;       ///< the last axis of `numbers` has size 1 and is the one of the rows
  bool counts_back = false;  ///< -1 selects the last row, as in OneHot
};

bool IsIndex(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64;
}

template <class T>
bool CountsUp(std::span<const T> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<T>(i)) return false;
  }
  return true;
}

/// Returns whether a constant is 0, 1, 2, ... along its last axis.
bool IsCount(const Tensor& tensor) {
  if (tensor.dims().empty() || tensor.size() != tensor.dims().back()) return false;
  if (tensor.dtype() == DType::kI32) return CountsUp(tensor.Values<std::int32_t>());
  return tensor.dtype() == DType::kI64 && CountsUp(tensor.Values<std::int64_t>());
}

/// Reads numbers [..., 1] == [0, 1, ..., K - 1].
std::optional<Selection> ReadComparison(const Graph& graph, const Node& equal) {
  for (const std::size_t side : {0, 1}) {
    const TensorPtr count = graph.constant(equal.inputs[1 - side]);
    const ValueId numbers = equal.inputs[side];
    const auto& shape = graph.type(numbers).shape;
    if (!count || !IsCount(*count) || !shape || shape->size() < count->dims().size() ||
        shape->empty()) {
      continue;
    }
    const Dim& last = shape->back();
    if (!last.known() || last.size() != 1 || count->size() < 2) continue;
    return Selection{.numbers = numbers, .rows = count->size(), .column = true};
  }
  return std::nullopt;
}

/// Reads a OneHot of 0 and 1 along the last axis.
std::optional<Selection> ReadOneHot(const Graph& graph, const Node& node) {
  const TensorPtr depth = graph.constant(node.inputs[1]);
  const TensorPtr values = graph.constant(node.inputs[2]);
  const auto& shape = graph.type(node.inputs[0]).shape;
  const auto axis = AttrOr<std::int64_t>(node, "axis", -1);
  if (!depth || depth->dtype() != DType::kI64 || depth->size() != 1 || !values ||
      values->dtype() != DType::kF32 || values->size() != 2 || !shape ||
      (axis != -1 && axis != static_cast<std::int64_t>(shape->size()))) {
    return std::nullopt;
  }
  const auto off_on = values->Values<float>();
  if (off_on[0] != 0.0F || off_on[1] != 1.0F) return std::nullopt;
  return Selection{
      .numbers = node.inputs[0], .rows = depth->Values<std::int64_t>()[0], .counts_back = true};
}

std::optional<Selection> ReadSelection(const Graph& graph, ValueId rows) {
  if (const Node* node = MadeBy(graph, rows, "OneHot")) return ReadOneHot(graph, *node);
  const Node* cast = MadeBy(graph, rows, "Cast");
  const Node* equal = cast == nullptr ? nullptr : MadeBy(graph, cast->inputs[0], "Equal");
  return equal == nullptr ? std::nullopt : ReadComparison(graph, *equal);
}

/// Returns `matrix` between rows of zeros, which numbers outside of it select; twice in a row where
/// numbers below 0 count from the end.
Tensor Padded(const Tensor& matrix, bool twice) {
  const std::int64_t rows = matrix.dims()[0];
  const std::int64_t columns = matrix.dims()[1];
  Tensor table(DType::kF32, {(twice ? 2 * rows : rows) + 2, columns});
  const auto from = matrix.Values<float>();
  const auto to = table.MutableValues<float>();
  std::ranges::fill(to, 0.0F);
  for (std::int64_t copy = 0; copy < (twice ? 2 : 1); ++copy) {
    std::ranges::copy(from, to.begin() + (1 + copy * rows) * columns);
  }
  return table;
}

Tensor Number(DType dtype, std::int64_t value) {
  Tensor tensor(dtype, {});
  if (dtype == DType::kI32) {
    tensor.MutableValues<std::int32_t>()[0] = static_cast<std::int32_t>(value);
  } else {
    tensor.MutableValues<std::int64_t>()[0] = value;
  }
  return tensor;
}

/// Adds nodes before one node, each named after a stem.
class Adder {
 public:
  Adder(Graph& graph, std::string stem, NodeId before)
      : graph_(graph), stem_(std::move(stem)), before_(before) {}

  ValueId Constant(const std::string& name, Tensor tensor) {
    return graph_.AddConstant(graph_.FreeValueName(stem_ + "_" + name), std::move(tensor));
  }
  ValueId Apply(const std::string& name, Node node, ValueType type) {
    const ValueId made = graph_.AddValue(graph_.FreeValueName(stem_ + "_" + name), std::move(type));
    node.name = graph_.FreeNodeName(stem_ + "_" + name);
    node.outputs = {made};
    graph_.AddNode(std::move(node), before_);
    return made;
  }

 private:
  Graph& graph_;
  std::string stem_;
  NodeId before_;
};

bool RecognizeAt(Graph& graph, NodeId id) {
  // Twice the largest table that is stored twice.
  constexpr std::int64_t kMostTwice = std::int64_t{1} << 22;
  const Node node = graph.node(id);
  if (!node.Is("MatMul") || IsCaptured(graph, node.outputs.front())) return false;
  const TensorPtr matrix = graph.constant(node.inputs[1]);
  if (!matrix || matrix->dtype() != DType::kF32 || matrix->dims().size() != 2) return false;
  const auto selection = ReadSelection(graph, node.inputs[0]);
  if (!selection || selection->rows != matrix->dims()[0]) return false;
  ValueType type = graph.type(selection->numbers);
  const bool finite = std::ranges::all_of(matrix->Values<float>(),
                                          [](float value) { return std::isfinite(value); });
  // A product of 0 and infinity is no number, so each row would matter.
  if (!IsIndex(type.dtype) || !type.shape || !finite) return false;
  if (selection->counts_back && matrix->size() > kMostTwice) return false;

  const std::int64_t least = selection->counts_back ? -selection->rows - 1 : -1;
  Adder adder(graph, node.name.empty() ? "lookup" : node.name, id);
  const ValueId clipped = adder.Apply(
      "clip",
      {.op = "Clip",
       .inputs = {selection->numbers, adder.Constant("least", Number(type.dtype, least)),
                  adder.Constant("most", Number(type.dtype, selection->rows))}},
      type);
  ValueId rows = adder.Apply(
      "row",
      {.op = "Add", .inputs = {clipped, adder.Constant("shift", Number(type.dtype, -least))}},
      type);
  if (selection->column) {
    type.shape->pop_back();
    const ValueId axis = adder.Constant(
        "axis", Tensor::From<std::int64_t>(DType::kI64, {1}, std::vector<std::int64_t>{-1}));
    rows = adder.Apply("rows", {.op = "Squeeze", .inputs = {rows, axis}}, type);
  }
  const ValueId table = adder.Constant("table", Padded(*matrix, selection->counts_back));
  const NodeId nodes[] = {id};  // NOLINT(modernize-avoid-c-arrays)
  ReplaceChain(graph, nodes,
               Node{.op = "Gather", .inputs = {table, rows}, .attrs = {{"axis", std::int64_t{0}}}});
  return true;
}

}  // namespace

bool RecognizeLookups(Graph& graph) {
  const bool changed = Sweep(graph, [&](NodeId id) { return RecognizeAt(graph, id); });
  if (changed) RemoveDeadCode(graph);
  return changed;
}

}  // namespace msc
