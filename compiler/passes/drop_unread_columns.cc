#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/match.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

/// Returns the indices, counted from the start of an axis of `size`; nullopt if one is outside.
std::optional<Ints> FromStart(const Tensor& indices, std::int64_t size) {
  Ints list;
  const auto read = [&](auto values) { list.assign(values.begin(), values.end()); };
  if (indices.dtype() == DType::kI64) {
    read(indices.Values<std::int64_t>());
  } else {
    read(indices.Values<std::int32_t>());
  }
  for (std::int64_t& index : list) {
    if (index < -size || index >= size) return std::nullopt;
    if (index < 0) index += size;
  }
  return list;
}

/// Returns these columns of a matrix, or of matrices.
Tensor ColumnsOf(const Tensor& weights, const Ints& columns) {
  const Node pick{.name = "columns",
                  .op = "Gather",
                  .inputs = {ValueId{0}, ValueId{1}},
                  .outputs = {ValueId{2}},
                  .attrs = {{"axis", std::int64_t{-1}}}};
  const Tensor list = Tensor::From<std::int64_t>(DType::kI64, {std::ssize(columns)}, columns);
  return Ops().Get(pick).eval(pick, std::vector<const Tensor*>{&weights, &list}).front();
}

bool DropInFrontOf(Graph& graph, NodeId id) {
  const Node& gather = graph.node(id);
  if (!gather.Is("GatherElements")) return false;
  const ValueId made = gather.inputs[0];
  const Node* product = MadeBy(graph, made, "MatMul");
  const TensorPtr indices = graph.constant(gather.inputs[1]);
  if (product == nullptr || !indices || indices->size() == 0 || !OnlyReader(graph, made)) {
    return false;
  }
  const TensorPtr weights = graph.constant(product->inputs[1]);
  const auto& shape = graph.type(made).shape;
  if (!weights || weights->dims().size() < 2 || !shape || shape->empty()) return false;
  const auto axis = AttrOr<std::int64_t>(gather, "axis", 0);
  if (axis != -1 && axis + 1 != std::ssize(*shape)) return false;
  const std::int64_t size = weights->dims().back();
  auto picked = FromStart(*indices, size);
  if (!picked) return false;
  Ints columns = *picked;
  std::ranges::sort(columns);
  // clang 14 cannot compile libstdc++'s std::ranges::unique.
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  if (std::ssize(columns) == size) return false;
  for (std::int64_t& index : *picked) {
    index = std::ranges::lower_bound(columns, index) - columns.begin();
  }
  Shape narrow = *shape;
  narrow.back() = Dim(std::ssize(columns));
  const DType dtype = graph.type(made).dtype;
  ReplaceConstant(graph, graph.producer(made), 1, ColumnsOf(*weights, columns));
  ReplaceConstant(graph, id, 1, Tensor::From<std::int64_t>(DType::kI64, indices->dims(), *picked));
  graph.SetType(made, {.dtype = dtype, .shape = std::move(narrow)});
  return true;
}

}  // namespace

bool DropUnreadColumns(Graph& graph) {
  return Sweep(graph, [&](NodeId id) { return DropInFrontOf(graph, id); });
}

}  // namespace msc
