#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Operators that read one tensor in another order: Transpose-13, Slice-13, Split-13, Expand-13,
// Tile-13. They accept all types, including strings.

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

std::vector<std::size_t> PermOf(const Node& node, std::size_t rank) {
  const auto perm = AttrOr(node, "perm", Ints{});
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  if (perm.empty()) return order;
  // ONNX requires entries from 0 on; negative axes are rejected because other readers of the
  // attribute do not normalize them.
  const bool complete = perm.size() == rank && NormalAxes(node, perm, rank).size() == rank &&
                        *std::min_element(perm.begin(), perm.end()) >= 0;
  if (!complete) RejectNode(node, "attribute 'perm' must name every axis once, from 0 on");
  std::transform(perm.begin(), perm.end(), order.begin(),
                 [](std::int64_t axis) { return static_cast<std::size_t>(axis); });
  return order;
}

std::vector<ValueType> InferTranspose(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  Shape y;
  for (const std::size_t axis : PermOf(*in.node, x->size())) y.push_back((*x)[axis]);
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<Tensor> EvalTranspose(const Node& node, EvalInputs inputs) {
  const Dims& dims = inputs[0]->dims();
  const Dims strides = StridesOf(dims);
  StridedRead read;
  for (const std::size_t axis : PermOf(node, dims.size())) {
    read.dims.push_back(dims[axis]);
    read.strides.push_back(strides[axis]);
  }
  return {ReadStrided(*inputs[0], read)};
}

/// A slice along one axis.
struct Cut {
  std::size_t axis = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t step = 1;
};

/// Returns the slices, or nullopt if one of the lists is not constant. Entries at the same index of
/// the lists form one slice.
std::optional<std::vector<Cut>> CutsOf(const InferInput& in, std::size_t rank) {
  const auto starts = ConstantInts(in, 1);
  const auto ends = ConstantInts(in, 2);
  auto axes = ConstantInts(in, 3);
  auto steps = ConstantInts(in, 4);
  const bool open = (HasInput(in, 3) && !axes) || (HasInput(in, 4) && !steps);
  if (!starts || !ends || open) return std::nullopt;
  if (!axes) {
    axes.emplace(starts->size());
    std::iota(axes->begin(), axes->end(), std::int64_t{0});
  }
  if (!steps) steps.emplace(starts->size(), 1);
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      steps->size() != starts->size()) {
    RejectNode(*in.node, "starts, ends, axes and steps must be equally long");
  }
  (void)NormalAxes(*in.node, *axes, rank);
  std::vector<Cut> cuts;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    if ((*steps)[i] == 0) RejectNode(*in.node, "a step cannot be 0");
    cuts.push_back({.axis = NormalAxis(*in.node, (*axes)[i], rank),
                    .start = (*starts)[i],
                    .end = (*ends)[i],
                    .step = std::clamp((*steps)[i], -kMaxElements, kMaxElements)});
  }
  return cuts;
}

/// First entry and number of entries that a slice takes from an axis of `size`.
struct Extent {
  std::int64_t first = 0;
  std::int64_t count = 0;
};
Extent ExtentOf(const Cut& cut, std::int64_t size) {
  const auto from_end = [&](std::int64_t at) { return at < 0 ? at + size : at; };
  if (cut.step > 0) {
    const std::int64_t first = std::clamp<std::int64_t>(from_end(cut.start), 0, size);
    const std::int64_t last = std::clamp<std::int64_t>(from_end(cut.end), 0, size);
    return {first, std::max<std::int64_t>((last - first + cut.step - 1) / cut.step, 0)};
  }
  if (size == 0) return {};
  const std::int64_t first = std::clamp<std::int64_t>(from_end(cut.start), -1, size - 1);
  const std::int64_t last = std::clamp<std::int64_t>(from_end(cut.end), -1, size - 1);
  return {first, std::max<std::int64_t>((first - last - cut.step - 1) / -cut.step, 0)};
}

std::vector<ValueType> InferSlice(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  const auto cuts = CutsOf(in, x->size());
  if (!cuts) return OneOutput(TypeOf(in, 0), Shape(x->size()));
  Shape y = *x;
  for (const Cut& cut : *cuts) {
    // The slice keeps the whole axis, whatever its size, so a symbolic dimension stays.
    if (cut.start == 0 && cut.step == 1 && cut.end >= std::numeric_limits<std::int32_t>::max()) {
      continue;
    }
    Dim& dim = y[cut.axis];
    dim = dim.known() ? Dim(ExtentOf(cut, dim.size()).count) : Dim();
  }
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<Tensor> EvalSlice(const Node& node, EvalInputs inputs) {
  const Dims& dims = inputs[0]->dims();
  (void)InferFor(InferSlice, node, inputs);
  StridedRead read{.dims = dims, .strides = StridesOf(dims), .offset = 0};
  const auto cuts = CutsOf(InferInputOf(node, inputs), dims.size());
  for (const Cut& cut : *cuts) {
    const Extent extent = ExtentOf(cut, dims[cut.axis]);
    read.dims[cut.axis] = extent.count;
    if (extent.count != 0) read.offset += extent.first * read.strides[cut.axis];
    read.strides[cut.axis] *= cut.step;
  }
  return {ReadStrided(*inputs[0], read)};
}

std::vector<ValueType> InferSplit(const InferInput& in) {
  const Node& node = *in.node;
  const std::size_t parts = node.outputs.size();
  std::vector<ValueType> types(parts, {.dtype = TypeOf(in, 0)});
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return types;
  const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{0}), x->size());
  const Dim size = (*x)[axis];
  auto sizes = ConstantInts(in, 1);
  if (!sizes && !HasInput(in, 1) && size.known()) {
    const auto count = static_cast<std::int64_t>(parts);
    if (size.size() % count != 0) {
      RejectNode(node, "cannot split " + std::to_string(size.size()) + " in " +
                           std::to_string(count) + " equal parts");
    }
    sizes.emplace(parts, size.size() / count);
  }
  if (sizes) {
    std::int64_t sum = 0;
    for (const std::int64_t part : *sizes) {
      if (part < 0 || part > kMaxElements) RejectNode(node, "a part has an impossible size");
      sum += part;
    }
    if (sizes->size() != parts || (size.known() && sum != size.size())) {
      RejectNode(node, "the parts " + ToString(*sizes) + " must be " + std::to_string(parts) +
                           " and sum up to the axis of " + ToString(*x));
    }
  }
  for (std::size_t i = 0; i < parts; ++i) {
    types[i].shape = *x;
    (*types[i].shape)[axis] = sizes ? Dim((*sizes)[i]) : Dim();
  }
  return types;
}

std::vector<Tensor> EvalSplit(const Node& node, EvalInputs inputs) {
  const Dims& dims = inputs[0]->dims();
  const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{0}), dims.size());
  StridedRead read{.dims = dims, .strides = StridesOf(dims), .offset = 0};
  std::vector<Tensor> outputs;
  for (const ValueType& type : InferFor(InferSplit, node, inputs)) {
    read.dims[axis] = (*type.shape)[axis].size();
    outputs.push_back(ReadStrided(*inputs[0], read));
    read.offset += read.dims[axis] * read.strides[axis];
  }
  return outputs;
}

std::vector<ValueType> InferExpand(const InferInput& in) {
  RequireType(in, 1, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const auto wanted = ConstantInts(in, 1);
  if (x == nullptr || !wanted) {
    const auto rank = ListLength(in, 1);
    const bool known = x != nullptr && rank;
    return OneOutput(TypeOf(in, 0),
                     known ? std::optional(Shape(std::max(*rank, x->size()))) : std::nullopt);
  }
  for (const std::int64_t size : *wanted) {
    if (size < 0) RejectNode(*in.node, "cannot expand to " + ToString(*wanted));
  }
  return OneOutput(TypeOf(in, 0), BroadcastShapes(*in.node, *x, ToShape(*wanted)));
}

std::vector<Tensor> EvalExpand(const Node& node, EvalInputs inputs) {
  // NewOutputs checks the limit on bytes.
  const Dims dims = NewOutputs(InferExpand, node, inputs)[0].dims();
  return {ReadStrided(*inputs[0],
                      {.dims = dims, .strides = BroadcastStrides(inputs[0]->dims(), dims)})};
}

std::vector<ValueType> InferTile(const InferInput& in) {
  RequireType(in, 1, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const auto repeats = ConstantInts(in, 1);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  if (!repeats) return OneOutput(TypeOf(in, 0), Shape(x->size()));
  if (repeats->size() != x->size()) {
    RejectNode(*in.node, "needs one repeat an axis of " + ToString(*x));
  }
  Shape y = *x;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t count = (*repeats)[i];
    if (count < 0 || count > kMaxElements)
      RejectNode(*in.node, "cannot repeat an axis " + std::to_string(count) + " times");
    if (count == 1) continue;
    y[i] = ProductOf(*in.node, {y[i], Dim(count)}, 0, 2);
  }
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<Tensor> EvalTile(const Node& node, EvalInputs inputs) {
  const Dims dims = NewOutputs(InferTile, node, inputs)[0].dims();
  const Dims& x = inputs[0]->dims();
  const Dims strides = StridesOf(x);
  // Each axis becomes two: the copy, and the position within it.
  StridedRead read;
  for (std::size_t i = 0; i < x.size(); ++i) {
    read.dims.push_back(x[i] == 0 ? 0 : dims[i] / x[i]);
    read.dims.push_back(x[i]);
    read.strides.push_back(0);
    read.strides.push_back(strides[i]);
  }
  return {ReadStrided(*inputs[0], read).Reshaped(dims)};
}

}  // namespace

void RegisterArrangeOps(OpRegistry& ops) {
  ops.Add({.name = "Transpose",
           .inputs = {1, 1},
           .attrs = {{.name = "perm", .otherwise = Ints{}}},
           .infer = InferTranspose,
           .eval = EvalTranspose});
  ops.Add({.name = "Slice", .inputs = {3, 5}, .infer = InferSlice, .eval = EvalSlice});
  ops.Add({.name = "Split",
           .inputs = {1, 2},
           .max_outputs = OpDef::kVariadic,
           .attrs = {{.name = "axis", .otherwise = std::int64_t{0}}},
           .infer = InferSplit,
           .eval = EvalSplit});
  ops.Add({.name = "Expand", .inputs = {2, 2}, .infer = InferExpand, .eval = EvalExpand});
  ops.Add({.name = "Tile", .inputs = {2, 2}, .infer = InferTile, .eval = EvalTile});
}

}  // namespace msc
