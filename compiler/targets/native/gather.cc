#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/targets/native/rules.h"

// Gather and GatherElements. Indices that a run computes are checked before the kernel, which could
// not report one that is outside; it clamps them, so that each access is proven.

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Binary;
using kernel::Int;
using kernel::Op;

/// Each view has the dims of the result. An element of the result is that of `data` at the same
/// place, `index` * `step` elements further on.
struct Gathering {
  View out;
  View data;   ///< stride 0 along axes of the indices alone
  View index;  ///< stride 0 along axes of the data alone
  std::int64_t size = 0;
  std::int64_t step = 0;
};

/// Returns `view` in a result of `dims`: its axis i is axis to[i] there; others have stride 0.
View InResult(const View& view, const Dims& dims, const std::vector<std::size_t>& to) {
  View seen = view;
  seen.dims = dims;
  seen.strides.assign(dims.size(), 0);
  for (std::size_t i = 0; i < to.size(); ++i) seen.strides[to[i]] = view.strides[i];
  seen.halo = Halo(dims.size());
  return seen;
}

std::optional<std::size_t> AxisOf(const Node& node, std::size_t rank) {
  auto axis = AttrOr<std::int64_t>(node, "axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

/// Returns whether all indices are inside, if they are constant.
bool MayBeInside(const TensorPtr& indices, std::int64_t size) {
  if (indices == nullptr) return true;
  const auto inside = [size](auto values) {
    return std::ranges::all_of(values, [size](std::int64_t i) { return -size <= i && i < size; });
  };
  return indices->dtype() == DType::kI64 ? inside(indices->Values<std::int64_t>())
                                         : inside(indices->Values<std::int32_t>());
}

std::optional<Gathering> ReadGathering(Lowering& lowering, const Node& node) {
  const View data = lowering.Where(node.inputs[0]);
  const View index = lowering.WhereDense(node.inputs[1]);
  const Dims dims = lowering.DimsOf(node.outputs[0]);
  const auto axis = AxisOf(node, data.rank());
  if (!axis || ElementCount(dims) == 0) return std::nullopt;
  if (index.dtype != DType::kI32 && index.dtype != DType::kI64) return std::nullopt;
  const std::int64_t size = data.dims[*axis];
  if (size == 0 || !MayBeInside(lowering.graph().constant(node.inputs[1]), size)) {
    return std::nullopt;
  }
  std::vector<std::size_t> data_to(data.rank());
  std::vector<std::size_t> index_to(index.rank());
  const bool by_element = node.op == "GatherElements";
  for (std::size_t i = 0; i < index_to.size(); ++i) index_to[i] = by_element ? i : *axis + i;
  for (std::size_t i = 0; i < data_to.size(); ++i) {
    const bool behind = !by_element && i > *axis;
    data_to[i] = behind ? i - 1 + index.rank() : i;
    if (by_element && i != *axis && dims[i] > data.dims[i]) return std::nullopt;
  }
  View start = data;
  start.strides[*axis] = 0;
  // A single index has no axis in the result.
  if (!by_element && index.rank() == 0) {
    start.strides.erase(start.strides.begin() + static_cast<std::ptrdiff_t>(*axis));
    data_to.erase(data_to.begin() + static_cast<std::ptrdiff_t>(*axis));
  }
  const bool same_rank = data.rank() == dims.size();
  const std::vector<std::size_t> order = same_rank ? AxisOrder(data) : RowMajor(dims.size());
  return Gathering{.out = lowering.Out(node.outputs[0], order),
                   .data = InResult(start, dims, data_to),
                   .index = InResult(index, dims, index_to),
                   .size = size,
                   .step = data.strides[*axis]};
}

/// Returns the index at a place, counted from the start of the axis and clamped to it.
Expr IndexAt(KernelWriter& writer, const Gathering& gathering, const Place& place, Body& body) {
  Place one = place;
  one.lanes = 1;
  one.valid = 0;
  const Expr given =
      writer.Bind(kernel::Cast(LoadAt(writer, gathering.index, one), kernel::kIndex), body);
  const Expr from_start =
      kernel::Select(Binary(Op::kLess, given, Int(0)), given + gathering.size, given);
  return writer.Bind(
      Binary(Op::kMin, Binary(Op::kMax, from_start, Int(0)), Int(gathering.size - 1)), body);
}

}  // namespace

bool LowerGather(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  if (!node.Is("Gather") && !node.Is("GatherElements")) return false;
  const Graph& graph = lowering.graph();
  constexpr std::array<DType, 8> kMoved = {DType::kF32, DType::kBF16, DType::kF16, DType::kI8,
                                           DType::kU8,  DType::kBool, DType::kI32, DType::kI64};
  const DType dtype = graph.type(node.inputs[0]).dtype;
  if (std::ranges::find(kMoved, dtype) == kMoved.end()) return false;
  const auto read = ReadGathering(lowering, node);
  if (!read) return false;
  const std::vector<View> joined = JoinAxes(std::vector{read->out, read->data, read->index});
  const Gathering gathering{.out = joined[0],
                            .data = joined[1],
                            .index = joined[2],
                            .size = read->size,
                            .step = read->step};
  KernelWriter writer = lowering.Writer("gather");
  const std::size_t last = gathering.out.rank() - 1;
  // The index of a whole row, or of each of its elements.
  const bool by_row = gathering.index.strides[last] == 0;
  const auto is_unit = [last](const View& view) { return view.strides[last] == 1; };
  const bool vectors = by_row && is_unit(gathering.out) && is_unit(gathering.data);
  const auto move = [&](const Place& place, const Expr& index, Body& body) {
    const kernel::BufferRef buffer = writer.Use(gathering.data, Access::kRead);
    const Expr from = KernelWriter::IndexOf(gathering.data, place.at) + index * gathering.step;
    Expr value = kernel::Load(buffer, from, {dtype, place.lanes}, place.valid);
    StoreAt(writer, gathering.out, place, std::move(value), body);
  };
  Dims rows = gathering.out.dims;
  rows[last] = 1;
  Body body = LoopOver(writer, rows, 1, [&](const Place& row, Body& inner) {
    Expr index;
    if (by_row) index = IndexAt(writer, gathering, row, inner);
    const int lanes = vectors ? WholeLanes(lowering.unit(), dtype) : 1;
    Body along = LoopOver(
        writer, {gathering.out.dims[last]}, lanes,
        [&](const Place& at, Body& one) {
          Place place = at;
          place.axis = last;
          place.at = row.at;
          place.at[last] = at.at[0];
          move(place, by_row ? index : IndexAt(writer, gathering, place, one), one);
        },
        kernel::LoopKind::kSerial);
    for (kernel::Stmt& stmt : along) inner.push_back(std::move(stmt));
  });
  const ValueId indices = node.inputs[1];
  lowering.AddCall(std::move(writer), std::move(body), 0, lowering.LabelOf(group.nodes(), ""));
  if (!graph.constant(indices)) {
    lowering.CheckIndices(lowering.WhereDense(indices), read->size, node);
  }
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace msc::native
