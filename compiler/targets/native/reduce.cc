#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/targets/native/row_writer.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Float;
using kernel::Int;
using kernel::Op;

/// Returns the one axis that a node reduces; nullopt if there are several or it is unknown.
std::optional<std::size_t> AxisOf(const Graph& graph, const Node& node, std::size_t rank) {
  std::vector<std::int64_t> axes = AttrOr(node, "axes", std::vector<std::int64_t>());
  if (node.HasInput(1)) {
    const TensorPtr given = graph.constant(node.inputs[1]);
    if (given == nullptr || given->dtype() != DType::kI64) return std::nullopt;
    axes.assign(given->Values<std::int64_t>().begin(), given->Values<std::int64_t>().end());
  }
  if (axes.size() != 1) return std::nullopt;
  const std::int64_t axis = axes[0] < 0 ? axes[0] + static_cast<std::int64_t>(rank) : axes[0];
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

}  // namespace

bool LowerReduce(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const Graph& graph = lowering.graph();
  const bool max = node.Is("ReduceMax");
  const bool mean = node.Is("ReduceMean");
  if (!max && !mean && !node.Is("ReduceSum")) return false;
  if (graph.type(node.inputs[0]).dtype != DType::kF32) return false;
  const Dims dims = lowering.DimsOf(node.inputs[0]);
  const std::optional<std::size_t> axis = AxisOf(graph, node, dims.size());
  if (!axis || dims.size() < 2 || ElementCount(dims) == 0) return false;

  const View x = lowering.WhereUnit(node.inputs[0], *axis, Halo(dims.size()));
  const ValueId result = ResultOf(graph, group);
  const Dims out_dims = lowering.DimsOf(result);
  const std::vector<std::size_t> order = AxisOrder(out_dims.size());
  const Epilogue epilogue(lowering, group, lowering.Out(result, order), order.back());
  const bool kept = out_dims.size() == dims.size();
  Dims others = dims;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(*axis));

  KernelWriter writer = lowering.Writer("reduce");
  const kernel::BufferRef from = writer.Use(x, Access::kRead);
  RowWriter row(writer, lowering.unit().lanes, dims[*axis]);
  // -infinity and 0 are neutral, because every lane of a maximum or sum starts from them.
  Body body = LoopOver(writer, others, 1, [&](const Place& place, Body& inside) {
    std::vector<Expr> whole = place.at;
    whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(*axis), Int(0));
    const Expr first = writer.Bind(KernelWriter::IndexOf(x, whole), inside);
    Expr value = row.Reduce(
        max ? Op::kReduceMax : Op::kReduceAdd, max ? -std::numeric_limits<double>::infinity() : 0,
        [&](const Expr& column, int lanes, Body&) {
          return kernel::Load(from, first + column, {DType::kF32, lanes});
        },
        inside);
    if (mean) value = std::move(value) * Float(1 / static_cast<double>(dims[*axis]));
    const Place at{.at = kept ? whole : place.at, .axis = 0, .lanes = 1, .valid = 0};
    epilogue.Store(writer, at, std::move(value), inside);
  });
  lowering.AddCall(std::move(writer), std::move(body), static_cast<double>(ElementCount(dims)),
                   lowering.LabelOf(group.nodes(), "f32"));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
