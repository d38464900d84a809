#include <limits>
#include <optional>
#include <utility>

#include "compiler/targets/native/row_writer.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Binary;
using kernel::Float;
using kernel::Int;
using kernel::Op;
using kernel::VarId;

bool IsF32(const Graph& graph, ValueId value) {
  return value == kNoValue || graph.type(value).dtype == DType::kF32;
}

/// Rows of a value: everything but the last axis, as one.
std::optional<View> AsRows(const View& view) {
  const std::int64_t columns = view.dims.back();
  return Reshape(view, {ElementCount(view.dims) / columns, columns});
}

bool IsLastAxis(std::int64_t axis, std::size_t rank) {
  return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1;
}

bool LowerSoftmax(Lowering& lowering, const Node& node) {
  const Dims dims = lowering.DimsOf(node.inputs[0]);
  if (dims.empty() || ElementCount(dims) == 0) return false;
  if (!IsLastAxis(AttrOr<std::int64_t>(node, "axis", -1), dims.size())) return false;
  std::optional<View> x =
      AsRows(lowering.WhereUnit(node.inputs[0], dims.size() - 1, Halo(dims.size())));
  if (!x) x = AsRows(lowering.WhereDense(node.inputs[0]));
  std::optional<View> y = AsRows(lowering.Out(node.outputs[0], RowMajor(dims.size())));
  if (!x || !y) return false;
  KernelWriter writer = lowering.Writer("softmax");
  const kernel::BufferRef from = writer.Use(*x, Access::kRead);
  const kernel::BufferRef to = writer.Use(*y, Access::kReadWrite);
  RowWriter row(writer, lowering.unit().lanes, x->dims[1]);
  Body body = writer.Loop(x->dims[0], kernel::LoopKind::kParallel, [&](const Expr& r) {
    Body inside;
    const Expr x_row = writer.Bind(Int(x->offset) + r * x->strides[0], inside);
    const Expr y_row = writer.Bind(Int(y->offset) + r * y->strides[0], inside);
    const auto load = [&](const Expr& column, int lanes) {
      return kernel::Load(from, x_row + column, {DType::kF32, lanes});
    };
    const auto store = [&](const Expr& column, Expr value, Body& step) {
      step.push_back(
          {kernel::Store{.buffer = to, .index = y_row + column, .value = std::move(value)}});
    };
    const auto stored = [&](const Expr& column, int lanes) {
      return kernel::Load(to, y_row + column, {DType::kF32, lanes});
    };
    WriteSoftmax(writer, row, load, stored, store, inside);
    return inside;
  });
  const NodeId id = lowering.graph().producer(node.outputs[0]);
  lowering.AddCall(std::move(writer), std::move(body),
                   5.0 * static_cast<double>(ElementCount(dims)),
                   lowering.LabelOf(std::vector{id}, "f32"));
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerLayerNorm(Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  const Dims dims = lowering.DimsOf(node.inputs[0]);
  if (dims.empty() || ElementCount(dims) == 0) return false;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != kNoValue) return false;
  }
  const std::int64_t columns = dims.back();
  if (!IsLastAxis(AttrOr<std::int64_t>(node, "axis", -1), dims.size())) return false;
  const auto vector_of = [&](std::size_t index) -> std::optional<View> {
    if (index >= node.inputs.size() || node.inputs[index] == kNoValue) return std::nullopt;
    return lowering.Where(node.inputs[index]);
  };
  const std::optional<View> gain = vector_of(1);
  const std::optional<View> shift = vector_of(2);
  for (const auto& view : {gain, shift}) {
    if (view && (ElementCount(view->dims) != columns || !IsDense(*view))) return false;
  }
  for (const ValueId input : node.inputs) {
    if (!IsF32(graph, input)) return false;
  }
  std::optional<View> x =
      AsRows(lowering.WhereUnit(node.inputs[0], dims.size() - 1, Halo(dims.size())));
  if (!x) x = AsRows(lowering.WhereDense(node.inputs[0]));
  const std::optional<View> y = AsRows(lowering.Out(node.outputs[0], RowMajor(dims.size())));
  if (!x || !y) return false;
  KernelWriter writer = lowering.Writer("layer_norm");
  const kernel::BufferRef from = writer.Use(*x, Access::kRead);
  const kernel::BufferRef to = writer.Use(*y, Access::kWrite);
  RowWriter row(writer, lowering.unit().lanes, columns);
  const double epsilon = static_cast<double>(AttrOr(node, "epsilon", 1e-5F));
  const Expr scale = Float(1.0 / static_cast<double>(columns));
  Body body = writer.Loop(x->dims[0], kernel::LoopKind::kParallel, [&](const Expr& r) {
    Body inside;
    const Expr x_row = writer.Bind(Int(x->offset) + r * x->strides[0], inside);
    const Expr y_row = writer.Bind(Int(y->offset) + r * y->strides[0], inside);
    const auto load = [&](const Expr& column, int lanes) {
      return kernel::Load(from, x_row + column, {DType::kF32, lanes});
    };
    const Expr sum = row.Reduce(
        Op::kReduceAdd, 0,
        [&](const Expr& column, int lanes, Body&) { return load(column, lanes); }, inside);
    const Expr mean = writer.Bind(sum * scale, inside);
    // Two passes: the variance of what is centred does not cancel.
    const Expr squares = row.Reduce(
        Op::kReduceAdd, 0,
        [&](const Expr& column, int lanes, Body& step) {
          const Expr d = writer.Bind(load(column, lanes) - Spread(mean, lanes), step);
          return d * d;
        },
        inside);
    const Expr inverse = writer.Bind(
        Binary(Op::kDiv, Float(1), kernel::Unary(Op::kSqrt, squares * scale + Float(epsilon))),
        inside);
    const auto parameter = [&](const View& view, const Expr& column, int lanes) {
      return kernel::Load(writer.Use(view, Access::kRead), Int(view.offset) + column,
                          {DType::kF32, lanes});
    };
    row.Each(
        [&](const Expr& column, int lanes, Body& step) {
          Expr value = (load(column, lanes) - Spread(mean, lanes)) * Spread(inverse, lanes);
          if (gain) value = std::move(value) * parameter(*gain, column, lanes);
          if (shift) value = std::move(value) + parameter(*shift, column, lanes);
          step.push_back(
              {kernel::Store{.buffer = to, .index = y_row + column, .value = std::move(value)}});
        },
        inside);
    return inside;
  });
  const NodeId id = graph.producer(node.outputs[0]);
  lowering.AddCall(std::move(writer), std::move(body),
                   8.0 * static_cast<double>(ElementCount(dims)),
                   lowering.LabelOf(std::vector{id}, "f32"));
  lowering.Finish(node.outputs[0]);
  return true;
}

}  // namespace

bool LowerNorm(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty()) return false;
  const Graph& graph = lowering.graph();
  if (!IsF32(graph, node.inputs[0]) || !IsF32(graph, node.outputs[0])) return false;
  if (node.op == "Softmax") return LowerSoftmax(lowering, node);
  if (node.op == "LayerNormalization") return LowerLayerNorm(lowering, node);
  return false;
}

}  // namespace msc::native
