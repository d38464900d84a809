#include "compiler/targets/native/operands.h"

#include <cmath>
#include <span>

#include "compiler/targets/native/math.h"

namespace msc::native {
namespace {

/// Returns a BatchNormalization with constant statistics as x * scale + shift, both per channel.
std::vector<View> ScaleAndShift(Lowering& lowering, const Node& node, const Dims& dims) {
  const Graph& graph = lowering.graph();
  const auto list = [&](std::size_t index) {
    return graph.constant(node.inputs[index])->Values<float>();
  };
  // In double, so that scale and shift are each rounded once.
  const double epsilon = static_cast<double>(AttrOr(node, "epsilon", 1e-5F));
  const auto scale_of = [&](std::size_t c) {
    return static_cast<double>(list(1)[c]) / std::sqrt(static_cast<double>(list(4)[c]) + epsilon);
  };
  const std::int64_t channels = dims[1];
  const View scale = lowering.Constant(DType::kF32, channels, [&](Tensor& tensor) {
    const std::span<float> out = tensor.MutableValues<float>();
    for (std::size_t c = 0; c < out.size(); ++c) out[c] = static_cast<float>(scale_of(c));
  });
  const View shift = lowering.Constant(DType::kF32, channels, [&](Tensor& tensor) {
    const std::span<float> out = tensor.MutableValues<float>();
    for (std::size_t c = 0; c < out.size(); ++c) {
      out[c] = static_cast<float>(static_cast<double>(list(2)[c]) -
                                  static_cast<double>(list(3)[c]) * scale_of(c));
    }
  });
  return {AlongAxis(scale, dims, 1), AlongAxis(shift, dims, 1)};
}

}  // namespace

View AlongAxis(const View& list, const Dims& dims, std::size_t axis) {
  View view = list;
  const bool one = ElementCount(list.dims) == 1;
  view.dims = dims;
  view.strides.assign(dims.size(), 0);
  if (!one) view.strides[axis] = 1;
  view.halo = Halo(dims.size());
  return view;
}

View OperandOf(Lowering& lowering, ValueId value, const Dims& dims, std::size_t axis) {
  View view = lowering.Where(value);
  const std::size_t missing = dims.size() - view.rank();
  if (axis >= missing && view.rank() > 0 && !view.IsUnit(axis - missing)) {
    view = lowering.WhereUnit(value, axis - missing, Halo(view.rank()));
  }
  return Broadcast(view, dims);
}

std::vector<View> OperandsOf(Lowering& lowering, NodeId id, const Dims& dims, std::size_t axis,
                             std::size_t flow) {
  const Node& node = lowering.node(id);
  std::vector<View> operands;
  for (std::size_t i = 0; i < OperandCount(node); ++i) {
    operands.push_back(i == flow ? View() : OperandOf(lowering, node.inputs[i], dims, axis));
  }
  if (node.Is("BatchNormalization")) {
    for (View& view : ScaleAndShift(lowering, node, dims)) {
      // Lanes along another axis read one channel at a time: stride 0 broadcasts it.
      operands.push_back(std::move(view));
    }
  }
  return operands;
}

}  // namespace msc::native
