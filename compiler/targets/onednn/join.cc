#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/targets/onednn/epilogue.h"
#include "compiler/targets/onednn/rules.h"

// Concat, Split, Slice, and Gather of one index. A contiguous part shares memory with the whole
// tensor; any other part is one reorder, which also produces the layout of its destination.

namespace msc::onednn {
namespace {

std::optional<Desc> PartDesc(const Desc& whole, const Dims& dims, const Dims& offsets) {
  return TryMake([&] { return whole.submemory_desc(dims, offsets); });
}

// Returns whether `part` of a larger tensor is contiguous and laid out like a tensor in layout
// `own`.
bool IsOnePiece(const Desc& part, const Desc& own) {
  const auto bytes = static_cast<std::size_t>(ElementCount(own.dims())) *
                     dnnl::memory::data_type_size(ElemOf(own));
  return own.get_size() == bytes && SameBytesElsewhere(part, own);
}

// Lowers y = x[offsets : offsets + dims], where `dims` has the rank of x; y may lack axes of size
// 1.
bool LowerPart(Lowering& lowering, NodeId id, ValueId y, const Dims& dims, const Dims& offsets) {
  const ValueId x = lowering.node(id).inputs[0];
  const auto dense = DenseDescOf(lowering.graph(), x);
  if (!dense || !DenseDescOf(lowering.graph(), y) || lowering.graph().constant(x)) return false;
  const bool same_rank = DimsOf(lowering.graph(), y).size() == dims.size();
  Desc from = lowering.Here(x);
  auto part = PartDesc(from, dims, offsets);
  const bool here = part.has_value();
  if (!here) {
    from = *dense;
    part = PartDesc(from, dims, offsets);
    if (!part) return false;
  }
  Desc made = LikeDesc(from, dims, ElemOf(from));
  const bool must_be_dense = !same_rank || lowering.LeavesRegion(y);
  if (must_be_dense && !IsDense(made)) made = DenseDesc(dims, ElemOf(from));
  if (here && IsOnePiece(*part, made)) {
    lowering.Same(y, x, lowering.AsValue(y, made), StartOf(*part));
    return true;
  }
  StepLabel label = lowering.LabelOf(id, ElemOf(from));
  label.precision = "";
  const BufferId source = lowering.In(x, from);
  const BufferId to = lowering.Out(y, lowering.AsValue(y, made));
  if (!lowering.AddReorder({DNNL_ARG_FROM, *part, source}, {DNNL_ARG_TO, made, to},
                           Lowering::NewAttr(), label)) {
    return false;
  }
  lowering.Finish(y);
  return true;
}

std::optional<std::size_t> AxisOf(const Node& node, std::int64_t otherwise, std::size_t rank) {
  auto axis = AttrOr<std::int64_t>(node, "axis", otherwise);
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

// Returns the layout of the result: that of the largest non-constant input, or dense if the result
// is an output of the graph.
Desc JoinedDesc(Lowering& lowering, const Node& node, const Dims& y, Elem elem) {
  const ValueId* largest = nullptr;
  std::int64_t most = 0;
  for (const ValueId& input : node.inputs) {
    if (lowering.graph().constant(input)) continue;
    const std::int64_t count = ElementCount(DimsOf(lowering.graph(), input));
    if (count > most) largest = &input;
    most = std::max(most, count);
  }
  if (largest == nullptr || lowering.graph().IsOutput(node.outputs[0])) return DenseDesc(y, elem);
  return LikeDesc(lowering.Here(*largest), y, elem);
}

struct Piece {
  ValueId value = kNoValue;
  Desc own;   // layout of the input alone, of the same kind as that of the whole
  Desc part;  // where the input lies in the whole
};

std::optional<std::vector<Piece>> PiecesOf(const Lowering& lowering, const Node& node,
                                           std::size_t axis, const Desc& whole) {
  std::vector<Piece> pieces;
  Dims offsets(whole.dims().size(), 0);
  for (const ValueId input : node.inputs) {
    const Dims dims = DimsOf(lowering.graph(), input);
    const auto part = PartDesc(whole, dims, offsets);
    if (!part) return std::nullopt;
    pieces.push_back({input, LikeDesc(whole, dims, ElemOf(whole)), *part});
    offsets[axis] += dims[axis];
  }
  return pieces;
}

}  // namespace

bool LowerConcat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const auto y = DenseDescOf(graph, node.outputs[0]);
  if (!y || node.inputs.empty()) return false;
  const auto axis = AxisOf(node, 0, y->dims().size());
  if (!axis) return false;
  for (const ValueId input : node.inputs) {
    const auto desc = DenseDescOf(graph, input);
    if (!desc || ElemOf(*desc) != ElemOf(*y)) return false;
  }
  Desc made = JoinedDesc(lowering, node, y->dims(), ElemOf(*y));
  auto pieces = PiecesOf(lowering, node, *axis, made);
  if (!pieces && y->dims().size() >= 3) {
    made = ChannelsLastDesc(y->dims(), ElemOf(*y));
    pieces = PiecesOf(lowering, node, *axis, made);
  }
  if (!pieces) return false;
  StepLabel label = lowering.LabelOf(id, ElemOf(*y));
  label.precision = "";
  const BufferId to = lowering.Out(node.outputs[0], made);
  for (const Piece& piece : *pieces) {
    if (IsOnePiece(piece.part, piece.own) &&
        lowering.PlaceInside(piece.value, piece.own, node.outputs[0], StartOf(piece.part))) {
      continue;
    }
    const Desc from = lowering.Here(piece.value);
    if (!lowering.AddReorder({DNNL_ARG_FROM, from, lowering.In(piece.value, from)},
                             {DNNL_ARG_TO, piece.part, to}, Lowering::NewAttr(), label)) {
      return false;
    }
  }
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerSplit(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  if (!DenseDescOf(graph, node.inputs[0])) return false;
  const Dims dims = DimsOf(graph, node.inputs[0]);
  const auto axis = AxisOf(node, 0, dims.size());
  if (!axis || dims.empty()) return false;
  Dims offsets(dims.size(), 0);
  for (const ValueId y : node.outputs) {
    if (y == kNoValue || !DenseDescOf(graph, y)) return false;
  }
  for (const ValueId y : node.outputs) {
    const Dims part = DimsOf(graph, y);
    if (!LowerPart(lowering, id, y, part, offsets)) return false;
    offsets[*axis] += part[*axis];
  }
  return true;
}

bool LowerSlice(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  if (!DenseDescOf(graph, node.inputs[0]) || !DenseDescOf(graph, node.outputs[0])) return false;
  const Dims dims = DimsOf(graph, node.inputs[0]);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto starts = ConstantInts(graph, node.inputs[1]);
  if (!starts) return false;
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (node.HasInput(3)) {
    const auto given = ConstantInts(graph, node.inputs[3]);
    if (!given || given->size() != starts->size()) return false;
    axes = *given;
  }
  if (node.HasInput(4)) {
    const auto steps = ConstantInts(graph, node.inputs[4]);
    const auto is_one = [](std::int64_t step) { return step == 1; };
    if (!steps || !std::all_of(steps->begin(), steps->end(), is_one)) return false;
  }
  Dims offsets(dims.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return false;
    const std::int64_t size = dims[static_cast<std::size_t>(axis)];
    const std::int64_t start = (*starts)[i] < 0 ? (*starts)[i] + size : (*starts)[i];
    offsets[static_cast<std::size_t>(axis)] = std::clamp<std::int64_t>(start, 0, size);
  }
  return LowerPart(lowering, id, node.outputs[0], DimsOf(graph, node.outputs[0]), offsets);
}

bool LowerGather(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Graph& graph = lowering.graph();
  const auto indices = ConstantInts(graph, node.inputs[1]);
  if (!indices || indices->size() != 1 || !DenseDescOf(graph, node.inputs[0])) return false;
  if (!graph.constant(node.inputs[1])->dims().empty()) return false;
  Dims dims = DimsOf(graph, node.inputs[0]);
  const auto axis = AxisOf(node, 0, dims.size());
  if (!axis) return false;
  std::int64_t index = indices->front();
  if (index < 0) index += dims[*axis];
  if (index < 0 || index >= dims[*axis]) return false;
  Dims offsets(dims.size(), 0);
  offsets[*axis] = index;
  dims[*axis] = 1;
  return LowerPart(lowering, id, node.outputs[0], dims, offsets);
}

}  // namespace msc::onednn
