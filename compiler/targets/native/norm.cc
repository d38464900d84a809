#include <limits>
#include <optional>
#include <utility>

#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/row_writer.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

using kernel::Access;
using kernel::Binary;
using kernel::Float;
using kernel::Int;
using kernel::Op;

bool IsFloat(const Graph& graph, ValueId value) {
  if (value == kNoValue) return true;
  const DType dtype = graph.type(value).dtype;
  return dtype == DType::kF32 || dtype == DType::kBF16;
}

/// So many entries of a row as f32.
Expr LoadWide(KernelWriter& writer, const View& view, const Expr& index, int lanes) {
  const kernel::BufferRef buffer = writer.Use(view, Access::kRead);
  return kernel::Cast(kernel::Load(buffer, index, {view.dtype, lanes}), {DType::kF32, lanes});
}

/// Rows of a value: everything but the last axis, as one.
std::optional<View> AsRows(const View& view) {
  const std::int64_t columns = view.dims.back();
  return Reshape(view, {ElementCount(view.dims) / columns, columns});
}

bool IsLastAxis(std::int64_t axis, std::size_t rank) {
  return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1;
}

/// The rows that a node reads, neighbours side by side.
std::optional<View> RowsOf(Lowering& lowering, ValueId value) {
  const std::size_t rank = lowering.DimsOf(value).size();
  const std::optional<View> rows = AsRows(lowering.WhereUnit(value, rank - 1, Halo(rank)));
  return rows ? rows : AsRows(lowering.WhereDense(value));
}

/// Where the rows of a group go; nothing where their neighbours are to lie apart, or where an
/// operand of the followers is no list of such rows.
std::optional<Epilogue> RowEpilogue(Lowering& lowering, const Group& group) {
  const ValueId result = ResultOf(lowering.graph(), group);
  const std::size_t rank = lowering.DimsOf(result).size();
  Epilogue epilogue(lowering, group, lowering.Out(result, RowMajor(rank)), rank - 1);
  if (!epilogue.out().IsUnit(rank - 1) || !epilogue.Remap(AsRows)) return std::nullopt;
  return epilogue;
}

/// An entry of every lane, in a row of rows.
Place InRow(const Expr& row, const Expr& column, int lanes) {
  return {.at = {row, column}, .axis = 1, .lanes = lanes, .valid = 0};
}

/// `flops_each` of one element.
void AddRowCall(Lowering& lowering, const Group& group, KernelWriter&& writer, Body body,
                double flops_each) {
  const ValueId result = ResultOf(lowering.graph(), group);
  const auto elements = static_cast<double>(ElementCount(lowering.DimsOf(result)));
  const DType dtype = lowering.graph().type(lowering.node(group.anchor).inputs[0]).dtype;
  lowering.AddCall(std::move(writer), std::move(body), flops_each * elements,
                   lowering.LabelOf(group.nodes(), PrecisionOf(dtype)));
  lowering.Finish(result);
}

bool LowerSoftmax(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const Dims dims = lowering.DimsOf(node.inputs[0]);
  if (dims.empty() || ElementCount(dims) == 0) return false;
  if (!IsLastAxis(AttrOr<std::int64_t>(node, "axis", -1), dims.size())) return false;
  const std::optional<View> x = RowsOf(lowering, node.inputs[0]);
  const std::optional<Epilogue> epilogue = RowEpilogue(lowering, group);
  if (!x || !epilogue) return false;
  KernelWriter writer = lowering.Writer("softmax");
  // What is between the passes over a row stays in the result where it fits.
  const bool in_place = epilogue->out().dtype == DType::kF32;
  const View kept = in_place ? epilogue->out() : lowering.Scratch(DType::kF32, x->dims[1]);
  const kernel::BufferRef row_buffer =
      writer.Use(kept, in_place ? Access::kReadWrite : Access::kScratch);
  RowWriter row(writer, lowering.unit().lanes, x->dims[1]);
  Body body = writer.Loop(x->dims[0], kernel::LoopKind::kParallel, [&](const Expr& r) {
    Body inside;
    const Expr x_row = writer.Bind(Int(x->offset) + r * x->strides[0], inside);
    const std::int64_t apart = in_place ? kept.strides[0] : 0;
    const Expr kept_row = writer.Bind(Int(kept.offset) + r * apart, inside);
    const auto load = [&](const Expr& column, int lanes) {
      return LoadWide(writer, *x, x_row + column, lanes);
    };
    const auto store = [&](const Expr& column, Expr value, Body& step) {
      step.push_back({kernel::Store{
          .buffer = row_buffer, .index = kept_row + column, .value = std::move(value)}});
    };
    const auto stored = [&](const Expr& column, int lanes) {
      return kernel::Load(row_buffer, kept_row + column, {DType::kF32, lanes});
    };
    const auto finish = [&](const Expr& column, Expr value, Body& step) {
      epilogue->Store(writer, InRow(r, column, value->type.lanes), value, step);
    };
    WriteSoftmax(writer, row, {load, stored, store, finish}, inside);
    return inside;
  });
  AddRowCall(lowering, group, std::move(writer), std::move(body), 5);
  return true;
}

bool LowerLayerNorm(Lowering& lowering, const Group& group) {
  const Graph& graph = lowering.graph();
  const Node& node = lowering.node(group.anchor);
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
    if (!IsFloat(graph, input)) return false;
  }
  const std::optional<View> x = RowsOf(lowering, node.inputs[0]);
  const std::optional<Epilogue> epilogue = RowEpilogue(lowering, group);
  if (!x || !epilogue) return false;
  KernelWriter writer = lowering.Writer("layer_norm");
  RowWriter row(writer, lowering.unit().lanes, columns);
  const double epsilon = static_cast<double>(AttrOr(node, "epsilon", 1e-5F));
  const Expr scale = Float(1.0 / static_cast<double>(columns));
  Body body = writer.Loop(x->dims[0], kernel::LoopKind::kParallel, [&](const Expr& r) {
    Body inside;
    const Expr x_row = writer.Bind(Int(x->offset) + r * x->strides[0], inside);
    const auto load = [&](const Expr& column, int lanes) {
      return LoadWide(writer, *x, x_row + column, lanes);
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
      return LoadWide(writer, view, Int(view.offset) + column, lanes);
    };
    row.Each(
        [&](const Expr& column, int lanes, Body& step) {
          Expr value = (load(column, lanes) - Spread(mean, lanes)) * Spread(inverse, lanes);
          if (gain) value = std::move(value) * parameter(*gain, column, lanes);
          if (shift) value = std::move(value) + parameter(*shift, column, lanes);
          epilogue->Store(writer, InRow(r, column, lanes), std::move(value), step);
        },
        inside);
    return inside;
  });
  AddRowCall(lowering, group, std::move(writer), std::move(body), 8);
  return true;
}

}  // namespace

bool LowerNorm(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty()) return false;
  const Graph& graph = lowering.graph();
  if (!IsFloat(graph, node.inputs[0]) || !IsFloat(graph, node.outputs[0])) return false;
  if (node.op == "Softmax") return LowerSoftmax(lowering, group);
  if (node.op == "LayerNormalization") return LowerLayerNorm(lowering, group);
  return false;
}

}  // namespace msc::native
