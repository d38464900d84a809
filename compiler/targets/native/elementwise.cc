#include <utility>

#include "compiler/targets/native/math.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

/// Returns the axis order of the first operand with the dims of the result, so that it is read in
/// the order of its memory.
std::vector<std::size_t> OrderOf(Lowering& lowering, const Node& node, const Dims& dims) {
  for (std::size_t i = 0; i < OperandCount(node); ++i) {
    if (lowering.graph().constant(node.inputs[i])) continue;
    const View view = lowering.Where(node.inputs[i]);
    if (view.dims == dims) return AxisOrder(view);
  }
  return RowMajor(dims.size());
}

/// Returns the innermost axis of two or more entries.
std::size_t InnermostOf(const View& view) {
  const std::vector<std::size_t> order = AxisOrder(view);
  for (std::size_t i = order.size(); i-- > 0;) {
    if (view.dims[order[i]] > 1) return order[i];
  }
  return 0;
}

}  // namespace

bool LowerElementwise(Lowering& lowering, const Group& group) {
  const Graph& graph = lowering.graph();
  if (!IsElementwise(graph, group.anchor)) return false;
  const Node& node = lowering.node(group.anchor);
  const ValueId result = ResultOf(graph, group);
  const Dims dims = lowering.DimsOf(result);
  if (ElementCount(dims) == 0) return false;
  const View out = lowering.Out(result, OrderOf(lowering, node, dims));
  const std::size_t axis = InnermostOf(out);

  Chain chain(lowering, group, out, axis);
  chain.SetViews(JoinAxes(chain.views()));

  KernelWriter writer = lowering.Writer("elementwise");
  // A part of one channel between other channels has no adjacent neighbours.
  const int lanes = chain.out().strides.back() == 1 ? lowering.unit().lanes : 1;
  Body body = LoopOver(writer, chain.out().dims, lanes,
                       [&](const Place& place, Body& inner) { chain.Store(writer, place, inner); });
  lowering.AddCall(
      std::move(writer), std::move(body),
      static_cast<double>(ElementCount(dims)) * static_cast<double>(1 + group.followers.size()),
      lowering.LabelOf(group.nodes(), PrecisionOf(graph.type(node.inputs[0]).dtype)));
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
