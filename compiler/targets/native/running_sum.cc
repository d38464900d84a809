#include <utility>

#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Int;

/// Returns `view` without an axis.
View Without(View view, std::size_t axis) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  view.dims.erase(view.dims.begin() + at);
  view.strides.erase(view.strides.begin() + at);
  view.halo = Halo(view.dims.size());
  return view;
}

}  // namespace

// Sums run in registers, one for each vector of lines side by side.
bool LowerRunningSum(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const Graph& graph = lowering.graph();
  if (!node.Is("CumSum") || graph.type(node.inputs[0]).dtype != DType::kF32) return false;
  const ValueId y = node.outputs[0];
  const Dims dims = lowering.DimsOf(y);
  const TensorPtr given = graph.constant(node.inputs[1]);
  if (given == nullptr || given->size() != 1 || ElementCount(dims) == 0) return false;
  std::int64_t number = given->dtype() == DType::kI64 ? given->Values<std::int64_t>().front()
                                                      : given->Values<std::int32_t>().front();
  if (number < 0) number += static_cast<std::int64_t>(dims.size());
  const auto axis = static_cast<std::size_t>(number);
  const View x = lowering.Where(node.inputs[0]);
  const View out = lowering.Out(y, AxisOrder(x));
  const std::int64_t count = dims[axis];
  const bool exclusive = AttrOr<std::int64_t>(node, "exclusive", 0) != 0;
  const bool reverse = AttrOr<std::int64_t>(node, "reverse", 0) != 0;
  const std::vector<View> lines = JoinAxes(std::vector{Without(out, axis), Without(x, axis)});
  const bool vectors = lines[0].strides.back() == 1 && lines[1].strides.back() == 1;
  KernelWriter writer = lowering.Writer("running_sum");
  const kernel::BufferRef from = writer.Use(x, Access::kRead);
  const kernel::BufferRef to = writer.Use(out, Access::kWrite);
  const int lanes = vectors ? lowering.unit().lanes : 1;
  Body body = LoopOver(writer, lines[0].dims, lanes, [&](const Place& line, Body& inside) {
    const kernel::VarId total = writer.NewVar();
    const kernel::Type type{DType::kF32, line.lanes};
    inside.push_back({kernel::Let{.var = total, .value = kernel::Float(0, line.lanes)}});
    const Expr first = writer.Bind(KernelWriter::IndexOf(lines[1], line.at), inside);
    const Expr begin = writer.Bind(KernelWriter::IndexOf(lines[0], line.at), inside);
    writer.Loop(count, inside, [&](const Expr& i) {
      const Expr at = reverse ? Int(count - 1) - i : i;
      Body step;
      Expr sum = kernel::Var(total, type) +
                 kernel::Load(from, first + at * x.strides[axis], type, line.valid);
      const auto store = [&](Expr value) {
        step.push_back({kernel::Store{.buffer = to,
                                      .index = begin + at * out.strides[axis],
                                      .value = std::move(value),
                                      .valid = line.valid}});
      };
      // The sum comes first: the result may lie where the operand does.
      if (exclusive) {
        const Expr before = writer.Bind(std::move(sum), step);
        store(kernel::Var(total, type));
        step.push_back({kernel::Assign{.var = total, .value = before}});
      } else {
        step.push_back({kernel::Assign{.var = total, .value = std::move(sum)}});
        store(kernel::Var(total, type));
      }
      return step;
    });
  });
  lowering.AddCall(std::move(writer), std::move(body), static_cast<double>(ElementCount(dims)),
                   lowering.LabelOf(group.nodes(), "f32"));
  lowering.Finish(y);
  return true;
}

}  // namespace msc::native
