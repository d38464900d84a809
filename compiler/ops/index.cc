#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Operators that select elements by position. Source: ONNX operator pages GatherElements-13,
// GatherND-13, ScatterElements-16, ScatterND-16, OneHot-11, Trilu-14, EyeLike-9, DepthToSpace-28,
// SpaceToDepth-28.

namespace msc {
namespace {

/// Returns entry `at` of a list of indices into an axis of `size`; negative indices count from the
/// end.
std::int64_t IndexAt(const Node& node, const Tensor& indices, std::int64_t at, std::int64_t size) {
  const std::int64_t given = IntegerAt(indices, at);
  const std::int64_t index = given < 0 ? given + size : given;
  if (index < 0 || index >= size) {
    RejectNode(node,
               "index " + std::to_string(given) + " is outside an axis of " + std::to_string(size));
  }
  return index;
}

std::size_t AxisOf(const Node& node, std::size_t rank, std::int64_t otherwise) {
  return NormalAxis(node, AttrOr(node, "axis", otherwise), rank);
}

/// Walks over the elements of a tensor of `index_dims`, in order, beside one of `dims` of the same
/// rank.
class Redirection {
 public:
  Redirection(const Dims& dims, const Dims& index_dims, std::size_t axis)
      : strides_(StridesOf(dims)),
        index_dims_(index_dims),
        axis_(axis),
        position_(dims.size(), 0) {}

  /// Returns the offset of the element whose coordinates are those of this step, but for `index`
  /// along the axis.
  [[nodiscard]] std::int64_t At(std::int64_t index) const {
    return offset_ + index * strides_[axis_];
  }
  void Next() {
    for (std::size_t i = position_.size(); i-- > 0;) {
      const std::int64_t stride = i == axis_ ? 0 : strides_[i];
      offset_ += stride;
      if (++position_[i] < index_dims_[i]) return;
      offset_ -= stride * position_[i];
      position_[i] = 0;
    }
  }

 private:
  Dims strides_;
  Dims index_dims_;
  std::size_t axis_;
  std::vector<std::int64_t> position_;
  std::int64_t offset_ = 0;  ///< of the position, with 0 along the axis
};

/// Checks that `index_dims` has the rank of `dims` and, except along `axis`, no larger sizes.
void CheckReach(const Node& node, const Dims& dims, const Dims& index_dims, std::size_t axis) {
  bool fits = dims.size() == index_dims.size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) {
    fits = i == axis || index_dims[i] <= dims[i];
  }
  if (!fits) {
    RejectNode(node, "indices " + ToString(index_dims) + " do not fit data " + ToString(dims));
  }
}

std::vector<ValueType> InferGatherElements(const InferInput& in) {
  RequireType(in, 1, {DType::kI32, DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const Shape* indices = ShapeOf(in, 1);
  if (x != nullptr) (void)AxisOf(*in.node, x->size(), 0);
  if (x != nullptr && indices != nullptr && x->size() != indices->size()) {
    RejectNode(*in.node, "data and indices must have equal ranks");
  }
  return OneOutput(TypeOf(in, 0), indices == nullptr ? std::nullopt : std::optional(*indices));
}

std::vector<Tensor> EvalGatherElements(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferGatherElements, node, inputs);
  const Tensor& x = *inputs[0];
  const Tensor& indices = *inputs[1];
  const std::size_t axis = AxisOf(node, x.dims().size(), 0);
  CheckReach(node, x.dims(), indices.dims(), axis);
  Redirection place(x.dims(), indices.dims(), axis);
  const std::int64_t size = x.dims()[axis];
  if (x.dtype() == DType::kF32) {
    const auto from = x.Values<float>();
    const auto to = outputs[0].MutableValues<float>();
    for (std::size_t i = 0; i < to.size(); ++i, place.Next()) {
      const std::int64_t index = IndexAt(node, indices, static_cast<std::int64_t>(i), size);
      to[i] = from[static_cast<std::size_t>(place.At(index))];
    }
    return outputs;
  }
  for (std::int64_t i = 0; i < indices.size(); ++i, place.Next()) {
    const std::int64_t index = IndexAt(node, indices, i, size);
    CopyElements(x, outputs[0], {.from_offset = place.At(index), .to_offset = i, .count = 1});
  }
  return outputs;
}

std::vector<ValueType> InferGatherNd(const InferInput& in) {
  RequireType(in, 1, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const Shape* indices = ShapeOf(in, 1);
  if (x == nullptr || indices == nullptr || indices->empty() || !indices->back().known()) {
    return OneOutput(TypeOf(in, 0), std::nullopt);
  }
  const std::int64_t batch = AttrOr(*in.node, "batch_dims", std::int64_t{0});
  const std::int64_t depth = indices->back().size();
  const auto rank = static_cast<std::int64_t>(x->size());
  if (batch < 0 || batch >= static_cast<std::int64_t>(indices->size()) || depth < 1 ||
      batch + depth > rank) {
    RejectNode(*in.node, "indices " + ToString(*indices) + " do not fit data " + ToString(*x));
  }
  Shape y(indices->begin(), indices->end() - 1);
  y.insert(y.end(), x->begin() + batch + depth, x->end());
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<Tensor> EvalGatherNd(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferGatherNd, node, inputs);
  const Tensor& x = *inputs[0];
  const Tensor& indices = *inputs[1];
  const auto batch = static_cast<std::size_t>(AttrOr(node, "batch_dims", std::int64_t{0}));
  const auto depth = static_cast<std::size_t>(indices.dims().back());
  for (std::size_t i = 0; i < batch; ++i) {
    if (x.dims()[i] != indices.dims()[i]) RejectNode(node, "batch dimensions differ");
  }
  const Dims strides = StridesOf(x.dims());
  const std::int64_t block = strides[batch + depth - 1];
  const std::int64_t batches =
      ElementCount(Dims(x.dims().begin(), x.dims().begin() + static_cast<std::ptrdiff_t>(batch)));
  const std::int64_t rows = indices.size() / indices.dims().back();
  const std::int64_t batch_size = batches == 0 ? 0 : x.size() / batches;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t from = row / (rows / batches) * batch_size;
    for (std::size_t i = 0; i < depth; ++i) {
      from += IndexAt(node, indices,
                      row * static_cast<std::int64_t>(depth) + static_cast<std::int64_t>(i),
                      x.dims()[batch + i]) *
              strides[batch + i];
    }
    CopyElements(x, outputs[0], {.from_offset = from, .to_offset = row * block, .count = block});
  }
  return outputs;
}

std::string ReductionOf(const Node& node) {
  constexpr std::array<std::string_view, 5> kKnown = {"none", "add", "mul", "max", "min"};
  std::string reduction = AttrOr(node, "reduction", std::string("none"));
  if (std::ranges::find(kKnown, reduction) == kKnown.end()) {
    RejectNode(node, "attribute 'reduction' cannot be '" + reduction + "'");
  }
  return reduction;
}

template <class T>
T Combined(const std::string& reduction, T a, T b) {
  const bool max = reduction == "max";
  if (max || reduction == "min") {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
    }
    return max ? std::max(a, b) : std::min(a, b);
  }
  if constexpr (std::is_integral_v<T>) {
    // Unsigned arithmetic wraps around; an overflow of signed integers is undefined.
    using Unsigned = std::make_unsigned_t<T>;
    const auto left = std::uint64_t{static_cast<Unsigned>(a)};
    const auto right = std::uint64_t{static_cast<Unsigned>(b)};
    return static_cast<T>(reduction == "add" ? left + right : left * right);
  } else {
    return reduction == "add" ? a + b : a * b;
  }
}

/// Writes `count` elements of `updates` into `y`, or combines them with the elements there.
void Put(const Node& node, const Tensor& updates, Tensor& y, const Block& block) {
  const std::string reduction = ReductionOf(node);
  if (reduction == "none") return CopyElements(updates, y, block);
  WithNumber(node, y.dtype(), [&]<class T>() {
    const T* from = updates.Values<T>().data() + block.from_offset;
    T* to = y.MutableValues<T>().data() + block.to_offset;
    for (std::int64_t i = 0; i < block.count; ++i) to[i] = Combined<T>(reduction, to[i], from[i]);
  });
}

std::vector<ValueType> InferScatter(const InferInput& in) {
  RequireType(in, 1, {DType::kI32, DType::kI64});
  RequireSameType(in, 0, 2);
  (void)ReductionOf(*in.node);
  const Shape* x = ShapeOf(in, 0);
  if (x != nullptr && in.node->Is("ScatterElements")) (void)AxisOf(*in.node, x->size(), 0);
  return SameAsFirst(in);
}

std::vector<Tensor> EvalScatterElements(const Node& node, EvalInputs inputs) {
  (void)InferFor(InferScatter, node, inputs);
  std::vector<Tensor> outputs = {*inputs[0]};
  const Dims& dims = outputs[0].dims();
  const Tensor& indices = *inputs[1];
  const std::size_t axis = AxisOf(node, dims.size(), 0);
  CheckReach(node, dims, indices.dims(), axis);
  if (inputs[2]->dims() != indices.dims()) RejectNode(node, "updates and indices differ in shape");
  Redirection place(dims, indices.dims(), axis);
  for (std::int64_t i = 0; i < indices.size(); ++i, place.Next()) {
    const std::int64_t index = IndexAt(node, indices, i, dims[axis]);
    Put(node, *inputs[2], outputs[0], {.from_offset = i, .to_offset = place.At(index), .count = 1});
  }
  return outputs;
}

std::vector<Tensor> EvalScatterNd(const Node& node, EvalInputs inputs) {
  (void)InferFor(InferScatter, node, inputs);
  std::vector<Tensor> outputs = {*inputs[0]};
  const Dims& dims = outputs[0].dims();
  const Tensor& indices = *inputs[1];
  const std::int64_t depth = indices.dims().empty() ? 0 : indices.dims().back();
  if (depth < 1 || depth > static_cast<std::int64_t>(dims.size())) {
    RejectNode(node, "indices " + ToString(indices.dims()) + " do not fit data " + ToString(dims));
  }
  Dims wanted(indices.dims().begin(), indices.dims().end() - 1);
  wanted.insert(wanted.end(), dims.begin() + depth, dims.end());
  if (inputs[2]->dims() != wanted) RejectNode(node, "updates must be " + ToString(wanted));
  const Dims strides = StridesOf(dims);
  const std::int64_t block = strides[static_cast<std::size_t>(depth - 1)];
  for (std::int64_t row = 0; row < indices.size() / depth; ++row) {
    std::int64_t to = 0;
    for (std::int64_t i = 0; i < depth; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      to += IndexAt(node, indices, row * depth + i, dims[axis]) * strides[axis];
    }
    Put(node, *inputs[2], outputs[0],
        {.from_offset = row * block, .to_offset = to, .count = block});
  }
  return outputs;
}

std::vector<ValueType> InferOneHot(const InferInput& in) {
  const Shape* indices = ShapeOf(in, 0);
  if (indices == nullptr) return OneOutput(TypeOf(in, 2), std::nullopt);
  Shape y = *indices;
  const std::size_t axis = AxisOf(*in.node, y.size() + 1, -1);
  Dim depth;
  if (in.constants.size() > 1 && in.constants[1] != nullptr) {
    if (in.constants[1]->size() != 1) RejectNode(*in.node, "the depth must be one number");
    const double given = NumberAt(*in.constants[1], 0);
    if (!(given >= 0.0 && given < 2147483648.0)) RejectNode(*in.node, "the depth is out of range");
    depth = static_cast<std::int64_t>(given);
  }
  y.insert(y.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  return OneOutput(TypeOf(in, 2), std::move(y));
}

std::vector<Tensor> EvalOneHot(const Node& node, EvalInputs inputs) {
  if (inputs[2]->size() != 2) RejectNode(node, "needs two values, off and on");
  std::vector<Tensor> outputs = NewOutputs(InferOneHot, node, inputs);
  const Dims& dims = outputs[0].dims();
  const std::size_t axis = AxisOf(node, dims.size(), -1);
  const std::int64_t stride = StridesOf(dims)[axis];
  for (std::int64_t i = 0; i < outputs[0].size(); ++i) {
    CopyElements(*inputs[2], outputs[0], {.from_offset = 0, .to_offset = i, .count = 1});
  }
  for (std::int64_t i = 0; i < inputs[0]->size(); ++i) {
    const double given = NumberAt(*inputs[0], i);
    const auto depth = static_cast<double>(dims[axis]);
    const double index = given < 0 ? given + depth : given;
    if (!(index >= 0 && index < depth)) continue;  // all off
    const std::int64_t to =
        i / stride * stride * dims[axis] + i % stride + static_cast<std::int64_t>(index) * stride;
    CopyElements(*inputs[2], outputs[0], {.from_offset = 1, .to_offset = to, .count = 1});
  }
  return outputs;
}

std::vector<ValueType> InferTrilu(const InferInput& in) {
  RequireRank(in, 0, 2);
  RequireType(in, 1, {DType::kI64});
  return SameAsFirst(in);
}

std::vector<Tensor> EvalTrilu(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferTrilu, node, inputs);
  const Dims& dims = inputs[0]->dims();
  const std::int64_t rows = dims[dims.size() - 2];
  const std::int64_t columns = dims.back();
  const bool upper = AttrOr(node, "upper", std::int64_t{1}) != 0;
  const Tensor* k = InputAt(inputs, 1);
  const std::int64_t limit = std::max(rows, columns) + 1;
  const std::int64_t diagonal =
      k == nullptr || k->size() == 0 ? 0 : std::clamp(k->Values<std::int64_t>()[0], -limit, limit);
  for (std::int64_t i = 0; i < inputs[0]->size(); ++i) {
    const std::int64_t offset = i % columns - i / columns % rows;
    if (upper ? offset < diagonal : offset > diagonal) continue;
    CopyElements(*inputs[0], outputs[0], {.from_offset = i, .to_offset = i, .count = 1});
  }
  return outputs;
}

std::vector<ValueType> InferEyeLike(const InferInput& in) {
  const Shape* x = ShapeOf(in, 0);
  if (x != nullptr && x->size() != 2) RejectNode(*in.node, "needs a matrix");
  const std::int64_t code = AttrOr(*in.node, "dtype", std::int64_t{0});
  if (code < 0 || code > static_cast<std::int64_t>(DType::kBF16)) {
    RejectNode(*in.node, "attribute 'dtype' cannot be " + std::to_string(code));
  }
  std::vector<ValueType> types = SameAsFirst(in);
  if (code != 0) types[0].dtype = static_cast<DType>(code);
  return types;
}

std::vector<Tensor> EvalEyeLike(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferEyeLike, node, inputs);
  const std::int64_t rows = inputs[0]->dims()[0];
  const std::int64_t columns = inputs[0]->dims()[1];
  const std::int64_t limit = std::max(rows, columns) + 1;
  const std::int64_t k = std::clamp(AttrOr(node, "k", std::int64_t{0}), -limit, limit);
  WithNumber(node, outputs[0].dtype() == DType::kBool ? DType::kU8 : outputs[0].dtype(),
             [&]<class T>() {
               const auto y = outputs[0].template MutableValues<T>();
               for (std::int64_t row = 0; row < rows; ++row) {
                 if (row + k < 0 || row + k >= columns) continue;
                 y[static_cast<std::size_t>(row * columns + row + k)] = T{1};
               }
             });
  return outputs;
}

std::int64_t BlockSize(const Node& node) {
  const std::int64_t block = AttrOr(node, "blocksize", std::int64_t{0});
  if (block < 1 || block > 65536) RejectNode(node, "attribute 'blocksize' is out of range");
  return block;
}

std::vector<ValueType> InferBlocks(const InferInput& in) {
  const Node& node = *in.node;
  const std::int64_t block = BlockSize(node);
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  if (x->size() != 4) RejectNode(node, "needs 4 dimensions, not " + ToString(*x));
  const bool to_space = node.Is("DepthToSpace");
  Shape y = *x;
  for (std::size_t i = 1; i < 4; ++i) {
    const std::int64_t size = (*x)[i].size();
    const bool grows = (i == 1) != to_space;
    const std::int64_t factor = i == 1 ? block * block : block;
    if (size >= 0 && !grows && size % factor != 0) {
      RejectNode(node, "blocks of " + std::to_string(block) + " do not fit " + ToString(*x));
    }
    y[i] = size < 0 ? Dim() : Dim(grows ? size * factor : size / factor);
  }
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<Tensor> EvalBlocks(const Node& node, EvalInputs inputs) {
  const Dims y = NewOutputs(InferBlocks, node, inputs)[0].dims();
  const std::int64_t b = BlockSize(node);
  const Dims& x = inputs[0]->dims();
  Dims split;
  std::vector<std::size_t> order;
  const bool columns_first = AttrOr(node, "mode", std::string("DCR")) == "CRD";
  if (node.Is("SpaceToDepth")) {
    split = {x[0], x[1], y[2], b, y[3], b};
    order = columns_first ? std::vector<std::size_t>{0, 1, 3, 5, 2, 4}
                          : std::vector<std::size_t>{0, 3, 5, 1, 2, 4};
  } else if (columns_first) {
    split = {x[0], y[1], b, b, x[2], x[3]};
    order = {0, 1, 4, 2, 5, 3};
  } else {
    split = {x[0], b, b, y[1], x[2], x[3]};
    order = {0, 3, 4, 1, 5, 2};
  }
  const Dims strides = StridesOf(split);
  StridedRead read;
  for (const std::size_t axis : order) {
    read.dims.push_back(split[axis]);
    read.strides.push_back(strides[axis]);
  }
  return {ReadStrided(*inputs[0], read).Reshaped(y)};
}

}  // namespace

void RegisterIndexOps(OpRegistry& ops) {
  const AttrSpec axis{.name = "axis", .otherwise = std::int64_t{0}};
  const AttrSpec reduction{.name = "reduction", .otherwise = std::string("none")};
  ops.Add({.name = "GatherElements",
           .inputs = {2, 2},
           .attrs = {axis},
           .infer = InferGatherElements,
           .eval = EvalGatherElements});
  ops.Add({.name = "GatherND",
           .inputs = {2, 2},
           .attrs = {{.name = "batch_dims", .otherwise = std::int64_t{0}}},
           .infer = InferGatherNd,
           .eval = EvalGatherNd});
  ops.Add({.name = "ScatterElements",
           .inputs = {3, 3},
           .attrs = {axis, reduction},
           .infer = InferScatter,
           .eval = EvalScatterElements});
  ops.Add({.name = "ScatterND",
           .inputs = {3, 3},
           .attrs = {reduction},
           .infer = InferScatter,
           .eval = EvalScatterNd});
  ops.Add({.name = "OneHot",
           .inputs = {3, 3},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{-1}}},
           .infer = InferOneHot,
           .eval = EvalOneHot});
  ops.Add({.name = "Trilu",
           .inputs = {1, 2},
           .attrs = {{.name = "upper", .otherwise = std::int64_t{1}}},
           .infer = InferTrilu,
           .eval = EvalTrilu});
  ops.Add({.name = "EyeLike",
           .inputs = {1, 1},
           .attrs = {{.name = "dtype", .otherwise = std::int64_t{0}},
                     {.name = "k", .otherwise = std::int64_t{0}}},
           .infer = InferEyeLike,
           .eval = EvalEyeLike});
  const AttrSpec block{.name = "blocksize", .otherwise = std::int64_t{0}, .required = true};
  const AttrSpec mode{.name = "mode", .otherwise = std::string("DCR")};
  ops.Add({.name = "DepthToSpace",
           .inputs = {1, 1},
           .attrs = {block, mode},
           .infer = InferBlocks,
           .eval = EvalBlocks});
  ops.Add({.name = "SpaceToDepth",
           .inputs = {1, 1},
           .attrs = {block, mode},
           .infer = InferBlocks,
           .eval = EvalBlocks});
}

}  // namespace msc
