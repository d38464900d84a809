#include <limits>
#include <optional>
#include <utility>

#include "compiler/targets/native/math.h"
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

/// Sums and maxima along one row, in vectors and then over the lanes.
class RowWriter {
 public:
  RowWriter(KernelWriter& writer, int lanes, std::int64_t columns)
      : writer_(writer), lanes_(lanes), columns_(columns) {}

  /// start + reduction of value(place) over the row. Lanes that do not exist must give what changes
  /// nothing: `value` is asked for whole vectors first, then for the `valid` lanes of the rest one
  /// by one.
  template <class Value>
  Expr Reduce(Op op, double start, const Value& value, Body& body) {
    const VarId sum = writer_.NewVar();
    const kernel::Type vector{DType::kF32, lanes_};
    body.push_back({kernel::Let{.var = sum, .value = Float(start, lanes_)}});
    const Op step = op == Op::kReduceAdd ? Op::kAdd : Op::kMax;
    writer_.Loop(columns_ / lanes_, body, [&](const Expr& i) {
      Body inside;
      Expr v = value(i * lanes_, lanes_, inside);
      inside.push_back({kernel::Assign{
          .var = sum, .value = Binary(step, kernel::Var(sum, vector), std::move(v))}});
      return inside;
    });
    const VarId total = writer_.NewVar();
    body.push_back(
        {kernel::Let{.var = total, .value = kernel::Reduce(op, kernel::Var(sum, vector))}});
    const kernel::Type scalar{DType::kF32, 1};
    const std::int64_t rest = columns_ % lanes_;
    writer_.Loop(rest, body, [&](const Expr& i) {
      Body inside;
      Expr v = value(i + (columns_ - rest), 1, inside);
      inside.push_back({kernel::Assign{
          .var = total, .value = Binary(step, kernel::Var(total, scalar), std::move(v))}});
      return inside;
    });
    return kernel::Var(total, scalar);
  }

  /// make(column, lanes, body) for every column, in vectors, then one by one.
  template <class Make>
  void Each(const Make& make, Body& body) {
    writer_.Loop(columns_ / lanes_, body, [&](const Expr& i) {
      Body inside;
      make(i * lanes_, lanes_, inside);
      return inside;
    });
    const std::int64_t rest = columns_ % lanes_;
    writer_.Loop(rest, body, [&](const Expr& i) {
      Body inside;
      make(i + (columns_ - rest), 1, inside);
      return inside;
    });
  }

 private:
  KernelWriter& writer_;
  int lanes_;
  std::int64_t columns_;
};

Expr Spread(const Expr& scalar, int lanes) {
  return lanes == 1 ? scalar : kernel::Broadcast(scalar, lanes);
}

std::vector<std::size_t> RowMajor(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = i;
  return order;
}

bool IsLastAxis(std::int64_t axis, std::size_t rank) {
  return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1;
}

bool LowerSoftmax(Lowering& lowering, const Node& node) {
  const Dims dims = lowering.DimsOf(node.inputs[0]);
  if (dims.empty() || ElementCount(dims) == 0) return false;
  if (!IsLastAxis(AttrOr<std::int64_t>(node, "axis", -1), dims.size())) return false;
  const bool log = node.op == "LogSoftmax";
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
    const Expr max = row.Reduce(
        Op::kReduceMax, -std::numeric_limits<double>::infinity(),
        [&](const Expr& column, int lanes, Body&) { return load(column, lanes); }, inside);
    const Expr sum = row.Reduce(
        Op::kReduceAdd, 0,
        [&](const Expr& column, int lanes, Body& step) {
          const Expr e =
              writer.Bind(kernel::Unary(Op::kExp, load(column, lanes) - Spread(max, lanes)), step);
          if (!log) {
            step.push_back({kernel::Store{.buffer = to, .index = y_row + column, .value = e}});
          }
          return e;
        },
        inside);
    const Expr scale = writer.Bind(
        log ? max + kernel::Unary(Op::kLog, sum) : Binary(Op::kDiv, Float(1), sum), inside);
    row.Each(
        [&](const Expr& column, int lanes, Body& step) {
          Expr value =
              log ? load(column, lanes) - Spread(scale, lanes)
                  : kernel::Load(to, y_row + column, {DType::kF32, lanes}) * Spread(scale, lanes);
          step.push_back(
              {kernel::Store{.buffer = to, .index = y_row + column, .value = std::move(value)}});
        },
        inside);
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
  if (node.op == "Softmax" || node.op == "LogSoftmax") return LowerSoftmax(lowering, node);
  if (node.op == "LayerNormalization") return LowerLayerNorm(lowering, node);
  return false;
}

}  // namespace msc::native
