#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "compiler/targets/native/rules.h"

// Pad with a constant, and Trilu: operators that keep a part of their elements and fill the rest.

namespace msc::native {
namespace {

using kernel::Binary;
using kernel::Int;
using kernel::Op;

bool IsMoved(const Graph& graph, ValueId value) {
  constexpr std::array<DType, 8> kMoved = {DType::kF32, DType::kBF16, DType::kF16, DType::kI8,
                                           DType::kU8,  DType::kBool, DType::kI32, DType::kI64};
  return std::ranges::find(kMoved, graph.type(value).dtype) != kMoved.end();
}

std::optional<double> FloatOf(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF32:
      return static_cast<double>(tensor.Values<float>().front());
    case DType::kF16:
      return static_cast<double>(FromF16(tensor.Values<std::uint16_t>().front()));
    case DType::kBF16:
      return static_cast<double>(FromBF16(tensor.Values<std::uint16_t>().front()));
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> IntegerOf(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kI8:
      return tensor.Values<std::int8_t>().front();
    case DType::kU8:
    case DType::kBool:
      return tensor.Values<std::uint8_t>().front();
    case DType::kI32:
      return tensor.Values<std::int32_t>().front();
    case DType::kI64:
      return tensor.Values<std::int64_t>().front();
    default:
      return std::nullopt;
  }
}

/// Returns what fills a value of this type, in so many lanes: one element, or 0 if there is none.
Expr Filling(const TensorPtr& element, DType dtype, int lanes) {
  const kernel::Type type{dtype, lanes};
  if (IsFloat(dtype)) {
    const double number = element == nullptr ? 0.0 : *FloatOf(*element);
    return kernel::Cast(kernel::Float(number, lanes), type);
  }
  return Int(element == nullptr ? 0 : *IntegerOf(*element), type);
}

/// The entries along one axis that a Pad keeps, and where they begin in its result.
struct Kept {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t count = 0;
};

std::optional<std::vector<Kept>> ReadPads(const Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  if (AttrOr(node, "mode", std::string("constant")) != "constant" || node.HasInput(3)) {
    return std::nullopt;
  }
  const TensorPtr pads = graph.constant(node.inputs[1]);
  const Dims x = lowering.DimsOf(node.inputs[0]);
  const Dims y = lowering.DimsOf(node.outputs[0]);
  if (pads == nullptr || std::cmp_not_equal(pads->size(), 2 * x.size())) return std::nullopt;
  if (node.HasInput(2)) {
    const TensorPtr value = graph.constant(node.inputs[2]);
    if (value == nullptr || value->size() != 1) return std::nullopt;
  }
  std::vector<Kept> kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t before = pads->Values<std::int64_t>()[i];
    Kept along{.from = std::max<std::int64_t>(-before, 0), .to = std::max<std::int64_t>(before, 0)};
    along.count = std::min(x[i] - along.from, y[i] - along.to);
    if (along.count < 1) return std::nullopt;
    kept.push_back(along);
  }
  return kept;
}

bool LowerPadding(Lowering& lowering, const Node& node) {
  const auto kept = ReadPads(lowering, node);
  const ValueId y = node.outputs[0];
  if (!kept || ElementCount(lowering.DimsOf(y)) == 0) return false;
  const TensorPtr element =
      node.HasInput(2) ? lowering.graph().constant(node.inputs[2]) : TensorPtr();
  View x = lowering.Where(node.inputs[0]);
  const View out = lowering.Out(y, AxisOrder(x));
  View inner = out;
  KernelWriter writer = lowering.Writer("fill");
  Body body;
  // Slabs in front of and behind what is kept, from the outermost axis on; a slab of an axis spans
  // what is kept along those before it.
  for (const std::size_t axis : AxisOrder(out)) {
    const auto& [from, to, count] = (*kept)[axis];
    const std::int64_t behind = to + count;
    for (const auto& [begin, end] : {std::pair{std::int64_t{0}, to}, {behind, out.dims[axis]}}) {
      if (begin == end) continue;
      const View slab = JoinAxes(std::vector{Slice(inner, axis, begin, end - begin)}).front();
      const int lanes = slab.strides.back() == 1 ? WholeLanes(lowering.unit(), out.dtype) : 1;
      Body loop = LoopOver(
          writer, slab.dims, lanes,
          [&](const Place& place, Body& one) {
            StoreAt(writer, slab, place, Filling(element, out.dtype, place.lanes), one);
          },
          kernel::LoopKind::kSerial);
      for (kernel::Stmt& stmt : loop) body.push_back(std::move(stmt));
    }
    inner = Slice(inner, axis, to, count);
    x = Slice(x, axis, from, count);
  }
  const Label label{.name = node.name, .nodes = {node.name}};
  lowering.AddCall(std::move(writer), std::move(body), 0, label);
  lowering.AddCopy(x, inner, label);
  lowering.Finish(y);
  return true;
}

/// Lowers Trilu with a constant diagonal.
bool LowerTriangle(Lowering& lowering, const Node& node) {
  const ValueId y = node.outputs[0];
  const Dims dims = lowering.DimsOf(y);
  if (ElementCount(dims) == 0) return false;
  std::int64_t diagonal = 0;
  if (node.HasInput(1)) {
    const TensorPtr given = lowering.graph().constant(node.inputs[1]);
    if (given == nullptr || given->size() > 1) return false;
    if (given->size() == 1) diagonal = given->Values<std::int64_t>().front();
  }
  const std::size_t last = dims.size() - 1;
  const std::int64_t limit = std::max(dims[last], dims[last - 1]) + 1;
  diagonal = std::clamp(diagonal, -limit, limit);
  const bool upper = AttrOr<std::int64_t>(node, "upper", 1) != 0;
  const View x = lowering.Where(node.inputs[0]);
  const View out = lowering.Out(y, RowMajor(dims.size()));
  const Label label{.name = node.name, .nodes = {node.name}};
  KernelWriter writer = lowering.Writer("triangle");
  // The columns of row r below r + shift are on one side.
  const std::int64_t shift = diagonal + (upper ? 0 : 1);
  const bool all_left = shift >= dims[last];
  if (all_left || dims[last - 1] - 1 + shift <= 0) {
    if (all_left != upper) {
      lowering.AddCopy(x, out, label);
    } else {
      const View whole = JoinAxes(std::vector{out}).front();
      Body body = LoopOver(writer, whole.dims, 1, [&](const Place& place, Body& one) {
        StoreAt(writer, whole, place, Filling(nullptr, out.dtype, place.lanes), one);
      });
      lowering.AddCall(std::move(writer), std::move(body), 0, label);
    }
    lowering.Finish(y);
    return true;
  }
  const auto at = [&](const View& view, const Place& row, const Expr& column) {
    std::vector<Expr> place = row.at;
    place[last] = column;
    return KernelWriter::IndexOf(view, place);
  };
  const kernel::BufferRef from = writer.Use(x, kernel::Access::kRead);
  const kernel::BufferRef to = writer.Use(out, kernel::Access::kWrite);
  Dims rows = dims;
  rows[last] = 1;
  Body body = LoopOver(writer, rows, 1, [&](const Place& row, Body& inside) {
    // Columns below `end` are left of the diagonal, or on it if that is kept with them.
    const Expr end = writer.Bind(
        Binary(Op::kMin, Binary(Op::kMax, row.at[last - 1] + shift, Int(0)), Int(dims[last])),
        inside);
    for (const bool left : {true, false}) {
      const kernel::VarId var = writer.NewVar();
      const Expr column = left ? kernel::Var(var) : kernel::Var(var) + end;
      Expr value = left != upper ? kernel::Load(from, at(x, row, column), {x.dtype, 1})
                                 : Filling(nullptr, x.dtype, 1);
      Body one;
      one.push_back(
          {kernel::Store{.buffer = to, .index = at(out, row, column), .value = std::move(value)}});
      inside.push_back({kernel::For{.var = var,
                                    .extent = left ? end : Int(dims[last]) - end,
                                    .kind = kernel::LoopKind::kSerial,
                                    .body = std::move(one)}});
    }
  });
  lowering.AddCall(std::move(writer), std::move(body), 0, label);
  lowering.Finish(y);
  return true;
}

}  // namespace

bool LowerPad(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const bool is_pad = node.Is("Pad");
  if ((!is_pad && !node.Is("Trilu")) || !IsMoved(lowering.graph(), node.inputs[0])) return false;
  return is_pad ? LowerPadding(lowering, node) : LowerTriangle(lowering, node);
}

}  // namespace msc::native
