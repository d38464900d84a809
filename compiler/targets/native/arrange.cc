#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

bool IsOneOf(const Node& node, std::initializer_list<std::string_view> ops) {
  return node.domain.empty() && std::find(ops.begin(), ops.end(), node.op) != ops.end();
}

std::optional<std::size_t> AxisOf(std::int64_t axis, std::size_t rank) {
  if (axis < 0) axis += static_cast<std::int64_t>(rank);
  if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) return std::nullopt;
  return static_cast<std::size_t>(axis);
}

/// Returns the integers of a constant input; nullopt if it is not a constant list of integers.
std::optional<std::vector<std::int64_t>> Integers(const Graph& graph, const Node& node,
                                                  std::size_t index) {
  const TensorPtr tensor = graph.constant(node.inputs[index]);
  if (tensor == nullptr) return std::nullopt;
  if (tensor->dtype() == DType::kI64) {
    const auto values = tensor->Values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  if (tensor->dtype() == DType::kI32) {
    const auto values = tensor->Values<std::int32_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  return std::nullopt;
}

bool LowerReshape(Lowering& lowering, const Node& node) {
  const ValueId y = node.outputs[0];
  const Dims dims = lowering.DimsOf(y);
  if (ElementCount(dims) == 0) return false;
  const View x = lowering.Where(node.inputs[0]);
  if (const std::optional<View> view = Reshape(x, dims)) {
    lowering.Alias(y, *view);
  } else {
    // Writes y in its own layout if a view with x's dims can express it; otherwise copies from x in
    // dense form.
    const std::vector<std::size_t> order = AxisOrder(dims.size());
    const View out = lowering.Out(y, order);
    if (const std::optional<View> to = Reshape(out, x.dims)) {
      lowering.AddCopy(x, *to, {.name = node.name, .nodes = {node.name}});
    } else {
      const std::optional<View> dense = Reshape(lowering.WhereDense(node.inputs[0]), dims);
      Check(dense.has_value(), "a dense value can be seen as any dims");
      lowering.AddCopy(*dense, out, {.name = node.name, .nodes = {node.name}});
    }
  }
  lowering.Finish(y);
  return true;
}

bool LowerTranspose(Lowering& lowering, const Node& node) {
  const View x = lowering.Where(node.inputs[0]);
  std::vector<std::int64_t> perm = AttrOr(node, "perm", std::vector<std::int64_t>());
  if (perm.empty()) {
    for (std::size_t i = x.rank(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  }
  lowering.Alias(node.outputs[0], Transpose(x, perm));
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerSplit(Lowering& lowering, const Node& node) {
  const View x = lowering.Where(node.inputs[0]);
  const auto axis = AxisOf(AttrOr<std::int64_t>(node, "axis", 0), x.rank());
  if (!axis) return false;
  std::int64_t begin = 0;
  for (const ValueId out : node.outputs) {
    if (out == kNoValue) return false;
    const std::int64_t count = lowering.DimsOf(out)[*axis];
    lowering.Alias(out, Slice(x, *axis, begin, count));
    begin += count;
    lowering.Finish(out);
  }
  return true;
}

bool LowerSlice(Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  if (node.inputs.size() < 3) return false;
  const auto starts = Integers(graph, node, 1);
  auto axes =
      node.HasInput(3) ? Integers(graph, node, 3) : std::optional(std::vector<std::int64_t>());
  auto steps =
      node.HasInput(4) ? Integers(graph, node, 4) : std::optional(std::vector<std::int64_t>());
  if (!starts || !axes || !steps) return false;
  View x = lowering.Where(node.inputs[0]);
  // The dims of the result are known, so the ends need not be read.
  const Dims out = lowering.DimsOf(node.outputs[0]);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = AxisOf(axes->empty() ? static_cast<std::int64_t>(i) : axes->at(i), x.rank());
    const std::int64_t step = steps->empty() ? 1 : steps->at(i);
    if (!axis || step < 1) return false;
    std::int64_t start = starts->at(i);
    if (start < 0) start += x.dims[*axis];
    start = std::clamp<std::int64_t>(start, 0, x.dims[*axis]);
    x = Slice(x, *axis, start, out[*axis], step);
  }
  if (x.dims != out || ElementCount(out) == 0) return false;
  lowering.Alias(node.outputs[0], x);
  lowering.Finish(node.outputs[0]);
  return true;
}

/// Lowers a Gather of one entry by a constant index; gather.cc has the others.
bool LowerEntry(Lowering& lowering, const Node& node) {
  const auto indices = Integers(lowering.graph(), node, 1);
  const View x = lowering.Where(node.inputs[0]);
  const auto axis = AxisOf(AttrOr<std::int64_t>(node, "axis", 0), x.rank());
  if (!indices || indices->size() != 1 || !axis) return false;
  const std::int64_t size = x.dims[*axis];
  const std::int64_t index = indices->front() < 0 ? indices->front() + size : indices->front();
  if (index < 0 || index >= size) return false;
  const Dims dims = lowering.DimsOf(node.outputs[0]);
  const std::optional<View> y = Reshape(Slice(x, *axis, index, 1), dims);
  if (!y) return false;
  lowering.Alias(node.outputs[0], *y);
  lowering.Finish(node.outputs[0]);
  return true;
}

bool LowerConcat(Lowering& lowering, const Node& node) {
  const ValueId y = node.outputs[0];
  const Dims dims = lowering.DimsOf(y);
  const auto axis = AxisOf(AttrOr<std::int64_t>(node, "axis", 0), dims.size());
  if (!axis || ElementCount(dims) == 0) return false;
  const View out = lowering.Out(y, AxisOrder(dims.size()));
  std::int64_t begin = 0;
  for (const ValueId input : node.inputs) {
    const View from = lowering.Where(input);
    const std::int64_t count = from.dims[*axis];
    const View to = Slice(out, *axis, begin, count);
    begin += count;
    // PlanLayouts may have made the producer of the part write it to its place.
    const bool there = from.buffer == to.buffer && from.offset == to.offset;
    if (count == 0 || there) continue;
    lowering.AddCopy(from, to, {.name = node.name, .nodes = {node.name}});
  }
  lowering.Finish(y);
  return true;
}

}  // namespace

bool LowerArrange(Lowering& lowering, const Group& group) {
  const Node& node = lowering.node(group.anchor);
  const Graph& graph = lowering.graph();
  if (node.inputs.empty()) return false;
  const DType dtype = graph.type(node.inputs[0]).dtype;
  // Of integers, those of masks and indices.
  constexpr std::array<DType, 8> kMoved = {DType::kF32, DType::kBF16, DType::kF16, DType::kI8,
                                           DType::kU8,  DType::kBool, DType::kI32, DType::kI64};
  if (std::find(kMoved.begin(), kMoved.end(), dtype) == kMoved.end()) return false;
  for (const ValueId output : node.outputs) {
    if (output == kNoValue || graph.type(output).dtype != dtype) return false;
  }
  // Of others, a run decides whether they drop anything.
  const bool keeps = node.Is("Dropout") && (!node.HasInput(2) || graph.constant(node.inputs[2]));
  if (keeps || IsOneOf(node, {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})) {
    return node.outputs.size() == 1 && LowerReshape(lowering, node);
  }
  if (IsOneOf(node, {"Transpose"})) return LowerTranspose(lowering, node);
  if (IsOneOf(node, {"Split"})) return LowerSplit(lowering, node);
  if (IsOneOf(node, {"Slice"})) return LowerSlice(lowering, node);
  if (IsOneOf(node, {"Gather"})) return LowerEntry(lowering, node);
  if (IsOneOf(node, {"Concat"})) return LowerConcat(lowering, node);
  return false;
}

}  // namespace msc::native
