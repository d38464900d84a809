#include <algorithm>
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

/// Loads `lanes` entries of a row as f32.
Expr LoadWide(KernelWriter& writer, const View& view, const Expr& index, int lanes) {
  const kernel::BufferRef buffer = writer.Use(view, Access::kRead);
  return kernel::Cast(kernel::Load(buffer, index, {view.dtype, lanes}), {DType::kF32, lanes});
}

/// Returns a value of which the last axes have `columns` entries as [rows, columns].
std::optional<View> AsRows(const View& view, std::int64_t columns) {
  return Reshape(view, {ElementCount(view.dims) / columns, columns});
}

bool IsLastAxis(std::int64_t axis, std::size_t rank) {
  return axis == -1 || axis == static_cast<std::int64_t>(rank) - 1;
}

/// Returns the rows that a node reads, with adjacent entries.
std::optional<View> RowsOf(Lowering& lowering, ValueId value, std::int64_t columns) {
  const std::size_t rank = lowering.DimsOf(value).size();
  const std::optional<View> rows = AsRows(lowering.WhereUnit(value, rank - 1, Halo(rank)), columns);
  return rows ? rows : AsRows(lowering.WhereDense(value), columns);
}

/// Returns the place of `lanes` entries of one row.
Place InRow(const Expr& row, const Expr& column, int lanes) {
  return {.at = {row, column}, .axis = 1, .lanes = lanes, .valid = 0};
}

/// The rows of input 0 of a group: in memory, or computed by the prologue.
class InputRows {
 public:
  /// Returns nullopt if the operands of the prologue cannot be viewed as such rows.
  static std::optional<InputRows> Of(Lowering& lowering, const Group& group, std::int64_t columns) {
    const ValueId x = lowering.node(group.anchor).inputs[0];
    InputRows rows;
    if (group.prologue.empty()) {
      rows.view_ = RowsOf(lowering, x, columns);
      return rows.view_ ? std::optional(std::move(rows)) : std::nullopt;
    }
    const Dims dims = lowering.DimsOf(x);
    const View made = Unplaced(lowering.graph().type(x).dtype, dims);
    rows.chain_.emplace(lowering, group.prologue.front(), made, dims.size() - 1);
    const auto as_rows = [columns](const View& view) { return AsRows(view, columns); };
    return rows.chain_->Remap(as_rows) ? std::optional(std::move(rows)) : std::nullopt;
  }
  [[nodiscard]] bool made() const { return chain_.has_value(); }
  /// Returns entries of a row as f32. Appends definitions of values that are used twice to `body`.
  Expr At(KernelWriter& writer, const Expr& row, const Expr& column, int lanes, Body& body) const {
    if (!chain_) {
      const Expr index = Int(view_->offset) + row * view_->strides[0] + column;
      return LoadWide(writer, *view_, index, lanes);
    }
    return kernel::Cast(chain_->At(writer, InRow(row, column, lanes), body), {DType::kF32, lanes});
  }

 private:
  InputRows() = default;
  std::optional<View> view_;
  std::optional<Chain> chain_;
};

/// Returns the epilogue for the rows of a group; nullopt if neighbours in the result's rows are not
/// adjacent, or if an operand of the followers cannot be viewed as such rows.
std::optional<Epilogue> RowEpilogue(Lowering& lowering, const Group& group, std::int64_t columns) {
  const ValueId result = ResultOf(lowering.graph(), group);
  const std::size_t rank = lowering.DimsOf(result).size();
  Epilogue epilogue(lowering, group, lowering.Out(result, RowMajor(rank)), rank - 1);
  const auto as_rows = [columns](const View& view) { return AsRows(view, columns); };
  if (!epilogue.out().IsUnit(rank - 1) || !epilogue.Remap(as_rows)) return std::nullopt;
  return epilogue;
}

/// A row of f32 kept between passes: in the result if that is f32, else in memory of the thread.
class KeptRow {
 public:
  KeptRow(Lowering& lowering, KernelWriter& writer, const View& out)
      : in_result_(out.dtype == DType::kF32),
        view_(in_result_ ? out : lowering.Scratch(DType::kF32, out.dims[1])),
        buffer_(writer.Use(view_, in_result_ ? Access::kReadWrite : Access::kScratch)) {}

  [[nodiscard]] Expr Load(const Expr& row, const Expr& column, int lanes) const {
    return kernel::Load(buffer_, IndexOf(row, column), {DType::kF32, lanes});
  }
  void Store(const Expr& row, const Expr& column, Expr value, Body& body) const {
    body.push_back({kernel::Store{
        .buffer = buffer_, .index = IndexOf(row, column), .value = std::move(value)}});
  }

 private:
  [[nodiscard]] Expr IndexOf(const Expr& row, const Expr& column) const {
    // Memory of the thread holds a single row, which each row overwrites.
    return Int(view_.offset) + row * (in_result_ ? view_.strides[0] : 0) + column;
  }
  bool in_result_;
  View view_;
  kernel::BufferRef buffer_;
};

/// Adds the call of a kernel over rows, with `flops_each` operations per element.
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
  const std::optional<InputRows> x = InputRows::Of(lowering, group, dims.back());
  const std::optional<Epilogue> epilogue = RowEpilogue(lowering, group, dims.back());
  if (!x || !epilogue) return false;
  KernelWriter writer = lowering.Writer("softmax");
  const KeptRow kept(lowering, writer, epilogue->out());
  RowWriter row(writer, lowering.unit().lanes, dims.back());
  const std::int64_t rows = ElementCount(dims) / dims.back();
  Body body = writer.Loop(rows, kernel::LoopKind::kParallel, [&](const Expr& r) {
    Body inside;
    const auto value = [&](const Expr& column, int lanes, Body& step) {
      return x->At(writer, r, column, lanes, step);
    };
    const auto stored = [&](const Expr& column, int lanes) { return kept.Load(r, column, lanes); };
    const auto store = [&](const Expr& column, Expr of, Body& step) {
      kept.Store(r, column, std::move(of), step);
    };
    const auto finish = [&](const Expr& column, const Expr& of, Body& step) {
      epilogue->Store(writer, InRow(r, column, of->type.lanes), of, step);
    };
    WriteSoftmax(writer, row, {value, stored, store, finish}, inside);
    return inside;
  });
  // Maximum, subtraction, exponential, sum and product.
  AddRowCall(lowering, group, std::move(writer), std::move(body), 5);
  return true;
}

/// What LayerNormalization or InstanceNormalization normalizes, and by what.
struct RowParameters {
  std::int64_t columns = 1;  ///< entries that share a mean
  /// Whether gain and shift have an entry for each channel, and rows are those of the channels of
  /// all samples. Else they have one for each column.
  bool by_channel = false;
  std::optional<View> gain;
  std::optional<View> shift;

  /// Returns the number of entries of gain and shift.
  [[nodiscard]] std::int64_t entries(const Dims& dims) const {
    return by_channel ? dims[1] : columns;
  }
};

/// Returns nullopt if the node has further outputs or unsupported parameters.
std::optional<RowParameters> ReadParameters(Lowering& lowering, const Node& node) {
  const Dims dims = lowering.DimsOf(node.inputs[0]);
  if (dims.empty() || ElementCount(dims) == 0) return std::nullopt;
  const bool by_channel = node.op == "InstanceNormalization";
  if (by_channel && dims.size() < 3) return std::nullopt;
  if (!by_channel && !IsLastAxis(AttrOr<std::int64_t>(node, "axis", -1), dims.size())) {
    return std::nullopt;
  }
  const auto is_none = [](ValueId value) { return value == kNoValue; };
  if (!std::all_of(node.outputs.begin() + 1, node.outputs.end(), is_none)) return std::nullopt;
  const auto is_float = [&](ValueId value) { return IsFloat(lowering.graph(), value); };
  if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_float)) return std::nullopt;
  const auto vector_of = [&](std::size_t index) -> std::optional<View> {
    if (index >= node.inputs.size() || node.inputs[index] == kNoValue) return std::nullopt;
    return lowering.Where(node.inputs[index]);
  };
  RowParameters parameters{
      .columns = by_channel ? ElementCount(dims) / (dims[0] * dims[1]) : dims.back(),
      .by_channel = by_channel,
      .gain = vector_of(1),
      .shift = vector_of(2)};
  for (const auto& view : {parameters.gain, parameters.shift}) {
    const bool fits =
        !view || (ElementCount(view->dims) == parameters.entries(dims) && IsDense(*view));
    if (!fits) return std::nullopt;
  }
  return parameters;
}

/// Lowers LayerNormalization and InstanceNormalization.
bool LowerMoments(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const std::optional<RowParameters> parameters = ReadParameters(lowering, node);
  if (!parameters) return false;
  const Dims dims = lowering.DimsOf(node.inputs[0]);
  const std::int64_t columns = parameters->columns;
  const std::optional<InputRows> x = InputRows::Of(lowering, group, columns);
  const std::optional<Epilogue> epilogue = RowEpilogue(lowering, group, columns);
  if (!x || !epilogue) return false;
  KernelWriter writer = lowering.Writer(parameters->by_channel ? "instance_norm" : "layer_norm");
  // Keeps the row if a prologue computes it, so that it is computed once.
  std::optional<KeptRow> kept;
  if (x->made()) kept.emplace(lowering, writer, epilogue->out());
  RowWriter row(writer, lowering.unit().lanes, columns);
  const auto epsilon = static_cast<double>(AttrOr(node, "epsilon", 1e-5F));
  const Expr scale = Float(1.0 / static_cast<double>(columns));
  const std::int64_t rows = ElementCount(dims) / columns;
  Body body = writer.Loop(rows, kernel::LoopKind::kParallel, [&](const Expr& r) {
    Body inside;
    // The first pass computes the mean.
    const Expr sum = row.Reduce(
        Op::kReduceAdd, 0,
        [&](const Expr& column, int lanes, Body& step) {
          Expr value = x->At(writer, r, column, lanes, step);
          if (!kept) return value;
          value = writer.Bind(std::move(value), step);
          kept->Store(r, column, value, step);
          return value;
        },
        inside);
    const auto load = [&](const Expr& column, int lanes, Body& step) {
      return kept ? kept->Load(r, column, lanes) : x->At(writer, r, column, lanes, step);
    };
    const Expr mean = writer.Bind(sum * scale, inside);
    // A second pass over centred values computes the variance without cancellation.
    const Expr squares = row.Reduce(
        Op::kReduceAdd, 0,
        [&](const Expr& column, int lanes, Body& step) {
          const Expr d = writer.Bind(load(column, lanes, step) - Spread(mean, lanes), step);
          return d * d;
        },
        inside);
    // Epsilon keeps the quotient finite for a row of equal entries.
    const Expr inverse = writer.Bind(
        Binary(Op::kDiv, Float(1), kernel::Unary(Op::kSqrt, squares * scale + Float(epsilon))),
        inside);
    // One entry for the whole row, or one for each column.
    const Expr channel = parameters->by_channel && dims[0] > 1
                             ? Binary(Op::kMod, r, Int(parameters->entries(dims)))
                             : r;
    const auto parameter = [&](const View& view, const Expr& column, int lanes) {
      if (!parameters->by_channel) return LoadWide(writer, view, Int(view.offset) + column, lanes);
      return Spread(LoadWide(writer, view, Int(view.offset) + channel, 1), lanes);
    };
    // The third pass normalizes, scales and shifts.
    row.Each(
        [&](const Expr& column, int lanes, Body& step) {
          Expr value = load(column, lanes, step) - Spread(mean, lanes);
          value = std::move(value) * Spread(inverse, lanes);
          if (parameters->gain) {
            value = std::move(value) * parameter(*parameters->gain, column, lanes);
          }
          if (parameters->shift) {
            value = std::move(value) + parameter(*parameters->shift, column, lanes);
          }
          epilogue->Store(writer, InRow(r, column, lanes), std::move(value), step);
        },
        inside);
    return inside;
  });
  // One operation for the mean, three for the variance, four for the result.
  AddRowCall(lowering, group, std::move(writer), std::move(body), 8);
  return true;
}

/// Returns whether input and output have types that row kernels support.
bool IsOfRows(const Lowering& lowering, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.empty()) return false;
  const Graph& graph = lowering.graph();
  return IsFloat(graph, node.inputs[0]) && IsFloat(graph, node.outputs[0]);
}

}  // namespace

bool NormTakesPrologue(const Lowering& lowering, const Node& node) {
  const bool by_row =
      node.op == "Softmax" || node.op == "LayerNormalization" || node.op == "InstanceNormalization";
  return by_row && IsOfRows(lowering, node);
}

bool LowerNorm(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  if (!IsOfRows(lowering, node)) return false;
  if (node.op == "Softmax") return LowerSoftmax(lowering, group);
  const bool by_moments = node.op == "LayerNormalization" || node.op == "InstanceNormalization";
  return by_moments && LowerMoments(lowering, group);
}

}  // namespace msc::native
