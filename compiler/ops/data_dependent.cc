#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Operators whose sizes of outputs depend on values: inference knows them only of constants.
// Source: ONNX operator pages Compress-11, NonZero-13, Unique-11.

namespace msc {
namespace {

/// Returns the tensor of a constant input, or nullptr.
const Tensor* ConstantOf(const InferInput& in, std::size_t index) {
  return index < in.constants.size() ? in.constants[index].get() : nullptr;
}

/// Returns attribute 'axis', which has no default, as an axis of a shape.
std::optional<std::size_t> AxisOf(const Node& node, std::size_t rank) {
  if (!node.attrs.contains("axis")) return std::nullopt;
  return NormalAxis(node, AttrOr(node, "axis", std::int64_t{0}), rank);
}

/// A tensor as [outer, count, inner], of which entries along the middle axis are chosen. Without an
/// axis it is one list.
struct Slices {
  std::int64_t outer = 1;
  std::int64_t count = 0;
  std::int64_t inner = 1;
};

Slices SlicesOf(const Dims& dims, std::optional<std::size_t> axis) {
  if (!axis) return {.count = ElementCount(dims)};
  const std::span<const std::int64_t> all(dims);
  return {.outer = ElementCount(all.first(*axis)),
          .count = dims[*axis],
          .inner = ElementCount(all.subspan(*axis + 1))};
}

/// Returns the shape of input 0 with `count` entries along the axis; a list without one.
std::optional<Shape> ChosenShape(const InferInput& in, const Dim& count) {
  if (!in.node->attrs.contains("axis")) return Shape{count};
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return std::nullopt;
  Shape y = *x;
  y[*AxisOf(*in.node, y.size())] = count;
  return y;
}

/// Copies the chosen entries of `x`, in their order, to `y`.
void CopyChosen(const Tensor& x, const Slices& slices, std::span<const std::int64_t> chosen,
                Tensor& y) {
  if (y.size() == 0) return;
  std::int64_t to = 0;
  for (std::int64_t outer = 0; outer < slices.outer; ++outer) {
    for (const std::int64_t at : chosen) {
      CopyElements(x, y,
                   {.from_offset = (outer * slices.count + at) * slices.inner,
                    .to_offset = to,
                    .count = slices.inner});
      to += slices.inner;
    }
  }
}

// Compress accepts all types, including strings.

/// Returns the indices whose condition is true.
std::vector<std::int64_t> TrueIndices(const Tensor& condition) {
  const auto values = condition.Values<std::uint8_t>();
  std::vector<std::int64_t> indices;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) indices.push_back(static_cast<std::int64_t>(i));
  }
  return indices;
}

std::vector<ValueType> InferCompress(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 1, {DType::kBool});
  if (const Shape* list = ShapeOf(in, 1); list != nullptr && list->size() != 1) {
    RejectNode(node, "the condition must be a list, not of shape " + ToString(*list));
  }
  const Shape* x = ShapeOf(in, 0);
  if (x != nullptr) (void)AxisOf(node, x->size());
  const Tensor* condition = ConstantOf(in, 1);
  if (condition == nullptr) return OneOutput(TypeOf(in, 0), ChosenShape(in, Dim()));
  const auto chosen = static_cast<std::int64_t>(TrueIndices(*condition).size());
  return OneOutput(TypeOf(in, 0), ChosenShape(in, chosen));
}

std::vector<Tensor> EvalCompress(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferCompress, node, inputs);
  const Dims& dims = inputs[0]->dims();
  const Slices slices = SlicesOf(dims, AxisOf(node, dims.size()));
  const std::vector<std::int64_t> chosen = TrueIndices(*inputs[1]);
  if (!chosen.empty() && chosen.back() >= slices.count) {
    RejectNode(node, "the condition chooses entry " + std::to_string(chosen.back()) + " of " +
                         std::to_string(slices.count));
  }
  CopyChosen(*inputs[0], slices, chosen, outputs[0]);
  return outputs;
}

// NonZero -> [rank, count]: the coordinates of elements that are not 0, one row for each axis.

bool IsNumeric(DType dtype) {
  return IsFloat(dtype) || IsInteger(dtype) || dtype == DType::kBool;
}

void RequireNumeric(const InferInput& in) {
  const DType dtype = TypeOf(in, 0);
  if (dtype != DType::kUndefined && !IsNumeric(dtype)) RejectType(*in.node, dtype);
}

std::vector<ValueType> InferNonZero(const InferInput& in) {
  RequireNumeric(in);
  const Shape* x = ShapeOf(in, 0);
  Dim count;
  if (const Tensor* values = ConstantOf(in, 0); values != nullptr) {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < values->size(); ++i) found += NumberAt(*values, i) != 0.0 ? 1 : 0;
    count = found;
  }
  const Dim rank = x == nullptr ? Dim() : Dim(std::ssize(*x));
  return OneOutput(DType::kI64, Shape{rank, count});
}

std::vector<Tensor> EvalNonZero(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferNonZero, node, inputs);
  const Tensor& x = *inputs[0];
  const Dims strides = StridesOf(x.dims());
  const auto y = outputs[0].MutableValues<std::int64_t>();
  const auto count = static_cast<std::size_t>(outputs[0].dims()[1]);
  std::size_t found = 0;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    if (NumberAt(x, i) == 0.0) continue;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      y[axis * count + found] = i / strides[axis] % x.dims()[axis];
    }
    ++found;
  }
  return outputs;
}

// Unique (x) -> (values, index of the first of each, which value each is, number of each)

/// Orders numbers with NaN as the largest and equal to itself, as NumPy does.
template <class T>
bool IsLess(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

/// Orders two entries along the middle axis by their elements.
template <class T>
bool IsLessEntry(const T* x, const Slices& slices, std::int64_t a, std::int64_t b) {
  for (std::int64_t outer = 0; outer < slices.outer; ++outer) {
    const T* row = x + outer * slices.count * slices.inner;
    for (std::int64_t i = 0; i < slices.inner; ++i) {
      const T left = row[a * slices.inner + i];
      const T right = row[b * slices.inner + i];
      if (IsLess(left, right)) return true;
      if (IsLess(right, left)) return false;
    }
  }
  return false;
}

/// Entries that are equal.
struct Groups {
  std::vector<std::int64_t> firsts;  ///< index of the first entry of each
  std::vector<std::int64_t> of;      ///< group of each entry
  std::vector<std::int64_t> counts;  ///< entries of each
};

/// Returns the groups in ascending order of their values.
template <class T>
Groups AscendingGroups(const T* x, const Slices& slices) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(slices.count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  // A stable sort leaves the first of equal entries in front.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return IsLessEntry(x, slices, a, b); });
  Groups groups;
  groups.of.resize(order.size());
  for (const std::int64_t entry : order) {
    if (groups.firsts.empty() || IsLessEntry(x, slices, groups.firsts.back(), entry)) {
      groups.firsts.push_back(entry);
      groups.counts.push_back(0);
    }
    ++groups.counts.back();
    groups.of[static_cast<std::size_t>(entry)] = std::ssize(groups.firsts) - 1;
  }
  return groups;
}

/// Orders groups by their first entries.
Groups InOrderOfInput(const Groups& groups) {
  Groups ordered;
  std::vector<std::int64_t> moved(groups.firsts.size(), -1);
  for (const std::int64_t group : groups.of) {
    const auto at = static_cast<std::size_t>(group);
    if (moved[at] < 0) {
      moved[at] = std::ssize(ordered.firsts);
      ordered.firsts.push_back(groups.firsts[at]);
      ordered.counts.push_back(groups.counts[at]);
    }
    ordered.of.push_back(moved[at]);
  }
  return ordered;
}

Groups GroupsOf(const Node& node, const Tensor& x) {
  const Slices slices = SlicesOf(x.dims(), AxisOf(node, x.dims().size()));
  if (x.size() == 0 && slices.count > 0) {
    // Entries without elements take no memory, but a list of them would.
    RejectNode(node, "cannot compare the empty entries of " + ToString(x.dims()));
  }
  const bool narrow = x.dtype() == DType::kF16 || x.dtype() == DType::kBF16;
  const Tensor wide = narrow ? ToF32(x) : Tensor();
  const Tensor& values = narrow ? wide : x;
  const DType dtype = values.dtype() == DType::kBool ? DType::kU8 : values.dtype();
  Groups groups;
  WithNumber(node, dtype,
             [&]<class T>() { groups = AscendingGroups(values.Values<T>().data(), slices); });
  const bool sorted = AttrOr(node, "sorted", std::int64_t{1}) != 0;
  return sorted ? groups : InOrderOfInput(groups);
}

std::vector<ValueType> InferUnique(const InferInput& in) {
  const Node& node = *in.node;
  RequireNumeric(in);
  const Shape* x = ShapeOf(in, 0);
  Dim all;
  if (x != nullptr) {
    const auto axis = AxisOf(node, x->size());
    all = axis ? (*x)[*axis] : ProductOf(node, *x, 0, x->size());
  }
  Dim count;
  if (const Tensor* values = ConstantOf(in, 0); values != nullptr) {
    count = std::ssize(GroupsOf(node, *values).firsts);
  }
  const ValueType each{.dtype = DType::kI64, .shape = Shape{count}};
  ValueType of = each;
  of.shape = Shape{all};
  return {{.dtype = TypeOf(in, 0), .shape = ChosenShape(in, count)}, each, std::move(of), each};
}

std::vector<Tensor> EvalUnique(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferUnique, node, inputs);
  const Tensor& x = *inputs[0];
  const Groups groups = GroupsOf(node, x);
  CopyChosen(x, SlicesOf(x.dims(), AxisOf(node, x.dims().size())), groups.firsts, outputs[0]);
  std::ranges::copy(groups.firsts, outputs[1].MutableValues<std::int64_t>().begin());
  std::ranges::copy(groups.of, outputs[2].MutableValues<std::int64_t>().begin());
  std::ranges::copy(groups.counts, outputs[3].MutableValues<std::int64_t>().begin());
  return outputs;
}

}  // namespace

void RegisterDataDependentOps(OpRegistry& ops) {
  const AttrSpec axis{.name = "axis", .otherwise = std::int64_t{0}};
  ops.Add({.name = "Compress",
           .inputs = {2, 2},
           .attrs = {axis},
           .infer = InferCompress,
           .eval = EvalCompress});
  ops.Add({.name = "NonZero", .inputs = {1, 1}, .infer = InferNonZero, .eval = EvalNonZero});
  ops.Add({.name = "Unique",
           .inputs = {1, 1},
           .max_outputs = 4,
           .attrs = {axis, {.name = "sorted", .otherwise = std::int64_t{1}}},
           .infer = InferUnique,
           .eval = EvalUnique});
}

}  // namespace msc
