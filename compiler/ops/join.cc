#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/strided.h"

// Operators that combine elements of several tensors: Concat-13, Gather-13, Where-16, Pad-13.

namespace msc {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

std::int64_t Product(const Dims& dims, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t i = begin; i < end; ++i) product *= dims[i];
  return product;
}

std::vector<ValueType> InferConcat(const InferInput& in) {
  const Node& node = *in.node;
  DType dtype = TypeOf(in, 0);
  std::optional<Shape> y;
  for (std::size_t i = 0; i < in.types.size(); ++i) {
    dtype = dtype == DType::kUndefined ? TypeOf(in, i) : RequireSameType(in, 0, i);
    const Shape* x = ShapeOf(in, i);
    if (x == nullptr) return OneOutput(dtype, std::nullopt);
    if (!y) {
      y = *x;
      (void)NormalAxis(node, AttrOr(node, "axis", std::int64_t{0}), y->size());
      continue;
    }
    if (x->size() != y->size()) {
      RejectNode(node, "cannot join " + ToString(*y) + " and " + ToString(*x));
    }
    const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{0}), y->size());
    for (std::size_t k = 0; k < y->size(); ++k) {
      Dim& dim = (*y)[k];
      const Dim& other = (*x)[k];
      if (k != axis) {
        dim = MergeDims(node, dim, other);
      } else {
        dim = dim.known() && other.known() ? Dim(dim.size() + other.size()) : Dim();
      }
    }
  }
  return OneOutput(dtype, std::move(y));
}

std::vector<Tensor> EvalConcat(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferConcat, node, inputs);
  Tensor& y = outputs[0];
  const std::size_t rank = y.dims().size();
  const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{0}), rank);
  const std::int64_t outer = Product(y.dims(), 0, axis);
  const std::int64_t pitch = Product(y.dims(), axis, rank);
  std::int64_t at = 0;
  for (const Tensor* x : inputs) {
    const std::int64_t count = Product(x->dims(), axis, rank);
    for (std::int64_t i = 0; i < outer; ++i) {
      CopyElements(*x, y, {.from_offset = i * count, .to_offset = i * pitch + at, .count = count});
    }
    at += count;
  }
  return outputs;
}

std::vector<ValueType> InferGather(const InferInput& in) {
  RequireType(in, 1, {DType::kI32, DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const Shape* indices = ShapeOf(in, 1);
  if (x == nullptr || indices == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  const std::size_t axis =
      NormalAxis(*in.node, AttrOr(*in.node, "axis", std::int64_t{0}), x->size());
  const auto cut = x->begin() + static_cast<std::ptrdiff_t>(axis);
  Shape y(x->begin(), cut);
  y.insert(y.end(), indices->begin(), indices->end());
  y.insert(y.end(), cut + 1, x->end());
  return OneOutput(TypeOf(in, 0), std::move(y));
}

std::vector<Tensor> EvalGather(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferGather, node, inputs);
  const Tensor& x = *inputs[0];
  const std::size_t rank = x.dims().size();
  const std::size_t axis = NormalAxis(node, AttrOr(node, "axis", std::int64_t{0}), rank);
  const std::int64_t size = x.dims()[axis];
  const std::int64_t block = Product(x.dims(), axis + 1, rank);
  const std::int64_t outer = Product(x.dims(), 0, axis);
  std::int64_t to = 0;
  for (std::int64_t i = 0; i < outer; ++i) {
    for (std::int64_t k = 0; k < inputs[1]->size(); ++k, to += block) {
      const std::int64_t given = IntegerAt(*inputs[1], k);
      const std::int64_t index = given < 0 ? given + size : given;
      if (index < 0 || index >= size) {
        RejectNode(node, "index " + std::to_string(given) + " is outside an axis of " +
                             std::to_string(size));
      }
      CopyElements(x, outputs[0],
                   {.from_offset = (i * size + index) * block, .to_offset = to, .count = block});
    }
  }
  return outputs;
}

std::vector<ValueType> InferWhere(const InferInput& in) {
  RequireType(in, 0, {DType::kBool});
  return OneOutput(RequireSameType(in, 1, 2), BroadcastInputs(in));
}

std::vector<Tensor> EvalWhere(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferWhere, node, inputs);
  const Dims& dims = outputs[0].dims();
  std::vector<Tensor> full;
  for (const Tensor* x : inputs) {
    full.push_back(ReadStrided(*x, {.dims = dims, .strides = BroadcastStrides(x->dims(), dims)}));
  }
  const auto condition = full[0].Values<std::uint8_t>();
  for (std::size_t i = 0; i < condition.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    CopyElements(full[condition[i] != 0 ? 1 : 2], outputs[0],
                 {.from_offset = at, .to_offset = at, .count = 1});
  }
  return outputs;
}

std::string PadMode(const Node& node) {
  std::string mode = AttrOr(node, "mode", std::string("constant"));
  if (mode != "constant" && mode != "edge" && mode != "reflect" && mode != "wrap") {
    RejectNode(node, "attribute 'mode' cannot be '" + mode + "'");
  }
  return mode;
}

std::vector<ValueType> InferPad(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 1, {DType::kI64});
  if (HasInput(in, 2)) RequireSameType(in, 0, 2);
  const std::string mode = PadMode(node);
  const Shape* value = ShapeOf(in, 2);
  const auto value_dims = value == nullptr ? std::nullopt : StaticDims(*value);
  if (value_dims && ElementCount(*value_dims) != 1) {
    RejectNode(node, "the constant must be a single number, not " + ToString(*value));
  }
  const Shape* x = ShapeOf(in, 0);
  const auto pads = ConstantInts(in, 1);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  if (!pads) return OneOutput(TypeOf(in, 0), Shape(x->size()));
  if (pads->size() != 2 * x->size()) {
    RejectNode(node, "needs two pads an axis of " + ToString(*x));
  }
  Shape y = *x;
  for (std::size_t i = 0; i < x->size(); ++i) {
    const std::int64_t begin = (*pads)[i];
    const std::int64_t end = (*pads)[x->size() + i];
    if (begin == 0 && end == 0) continue;
    const std::int64_t most = std::max(begin, end);
    const bool possible = std::min(begin, end) > -kMaxElements && most < kMaxElements;
    const std::int64_t size = (*x)[i].size();
    const bool repeats = mode == "edge" || mode == "wrap";
    const bool fits = size < 0 || (size + begin + end >= 0 && (!repeats || size > 0) &&
                                   (mode != "reflect" || most < size));
    if (!possible || !fits)
      RejectNode(node, "cannot pad " + ToString(*x) + " by " + ToString(*pads));
    y[i] = size < 0 ? Dim() : Dim(size + begin + end);
  }
  return OneOutput(TypeOf(in, 0), std::move(y));
}

/// Returns the input position along one axis that an output position reads; -1 for the constant.
std::int64_t SourceOf(const std::string& mode, std::int64_t position, std::int64_t size) {
  if (position >= 0 && position < size) return position;
  if (mode == "constant") return -1;
  if (mode == "edge") return position < 0 ? 0 : size - 1;
  if (mode == "wrap") return (position % size + size) % size;
  return position < 0 ? -position : 2 * (size - 1) - position;
}

std::vector<Tensor> EvalPad(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferPad, node, inputs);
  const Tensor& x = *inputs[0];
  const Dims& dims = outputs[0].dims();
  const std::string mode = PadMode(node);
  const auto pads = inputs[1]->Values<std::int64_t>();
  const Dims strides = StridesOf(x.dims());
  const Tensor* value = InputAt(inputs, 2);
  if (dims.empty()) return {x};
  const std::size_t last = dims.size() - 1;
  const std::int64_t shift = pads[last];
  // Positions [begin, end) of the last axis read consecutive elements, which are copied at once.
  const std::int64_t begin = std::clamp<std::int64_t>(shift, 0, dims[last]);
  const std::int64_t end = std::clamp<std::int64_t>(shift + x.dims()[last], begin, dims[last]);
  Dims position(last, 0);
  for (std::int64_t row = 0; row < outputs[0].size(); row += dims[last]) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < last && from >= 0; ++i) {
      const std::int64_t source = SourceOf(mode, position[i] - pads[i], x.dims()[i]);
      from = source < 0 ? -1 : from + source * strides[i];
    }
    for (std::int64_t at = 0; at < dims[last];) {
      const bool inside = from >= 0 && at == begin && begin < end;
      const std::int64_t source = from < 0 ? -1 : SourceOf(mode, at - shift, x.dims()[last]);
      const std::int64_t count = inside ? end - begin : 1;
      if (source >= 0) {
        CopyElements(x, outputs[0],
                     {.from_offset = from + source, .to_offset = row + at, .count = count});
      } else if (value != nullptr) {
        CopyElements(*value, outputs[0], {.from_offset = 0, .to_offset = row + at, .count = 1});
      }
      at += count;
    }
    for (std::size_t i = last; i > 0 && ++position[i - 1] == dims[i - 1]; --i) {
      position[i - 1] = 0;
    }
  }
  return outputs;
}

}  // namespace

void RegisterJoinOps(OpRegistry& ops) {
  ops.Add({.name = "Concat",
           .inputs = {1, OpDef::kVariadic},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{0}, .required = true}},
           .infer = InferConcat,
           .eval = EvalConcat});
  ops.Add({.name = "Gather",
           .inputs = {2, 2},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{0}}},
           .infer = InferGather,
           .eval = EvalGather});
  ops.Add({.name = "Where", .inputs = {3, 3}, .infer = InferWhere, .eval = EvalWhere});
  ops.Add({.name = "Pad",
           .inputs = {2, 3},
           .attrs = {{.name = "mode", .otherwise = std::string("constant")}},
           .infer = InferPad,
           .eval = EvalPad});
}

}  // namespace msc
