#include "compiler/ops/infer.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr std::int64_t kMaxShapeEntries = 64;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

Dim BroadcastDim(const Node& node, const Dim& a, const Dim& b) {
  if (a == Dim(1)) return b;
  if (b == Dim(1) || a == b) return a;
  if (a.known() && b.known()) {
    RejectNode(node, "cannot broadcast a dimension of " + std::to_string(a.size()) + " to " +
                         std::to_string(b.size()));
  }
  // The other size is unknown or symbolic and must be 1 or equal, so a number above 1 is the
  // result.
  if (a.known()) return a;
  if (b.known()) return b;
  return {};
}

}  // namespace

void RejectNode(const Node& node, const std::string& what) {
  const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
  throw UserError("node '" + node.name + "' (" + op + "): " + what);
}

DType TypeOf(const InferInput& in, std::size_t index) {
  return index < in.types.size() ? in.types[index].dtype : DType::kUndefined;
}

const Shape* ShapeOf(const InferInput& in, std::size_t index) {
  if (index >= in.types.size() || !in.types[index].shape) return nullptr;
  return &*in.types[index].shape;
}

bool HasInput(const InferInput& in, std::size_t index) {
  return in.node->HasInput(index);
}

void RequireType(const InferInput& in, std::size_t index, std::initializer_list<DType> allowed) {
  const DType type = TypeOf(in, index);
  if (type == DType::kUndefined) return;
  if (std::find(allowed.begin(), allowed.end(), type) != allowed.end()) return;
  RejectNode(*in.node,
             "input " + std::to_string(index) + " cannot be of type " + std::string(Name(type)));
}

DType RequireSameType(const InferInput& in, std::size_t a, std::size_t b) {
  const DType first = TypeOf(in, a);
  const DType second = TypeOf(in, b);
  if (first == DType::kUndefined) return second;
  if (second == DType::kUndefined || first == second) return first;
  RejectNode(*in.node, "inputs " + std::to_string(a) + " and " + std::to_string(b) +
                           " must have one type, not " + std::string(Name(first)) + " and " +
                           std::string(Name(second)));
}

void RequireRank(const InferInput& in, std::size_t index, std::size_t least) {
  const Shape* shape = ShapeOf(in, index);
  if (shape != nullptr && shape->size() < least) {
    RejectNode(*in.node, "input " + std::to_string(index) + " of shape " + ToString(*shape) +
                             " needs at least " + std::to_string(least) + " dimensions");
  }
}

std::optional<std::vector<std::int64_t>> ConstantInts(const InferInput& in, std::size_t index) {
  if (index >= in.constants.size() || in.constants[index] == nullptr) return std::nullopt;
  const Tensor& tensor = *in.constants[index];
  if (tensor.dims().size() > 1 || tensor.size() > kMaxShapeEntries) {
    RejectNode(*in.node, "input " + std::to_string(index) + " must be a list of at most " +
                             std::to_string(kMaxShapeEntries) + " integers, not of shape " +
                             ToString(tensor.dims()));
  }
  if (tensor.dtype() == DType::kI64) {
    const auto values = tensor.Values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  if (tensor.dtype() == DType::kI32) {
    const auto values = tensor.Values<std::int32_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  }
  RejectNode(*in.node, "input " + std::to_string(index) + " must hold integers, not " +
                           std::string(Name(tensor.dtype())));
}

std::optional<std::int64_t> ConstantInt(const InferInput& in, std::size_t index) {
  const auto values = ConstantInts(in, index);
  if (!values) return std::nullopt;
  if (values->size() != 1) {
    RejectNode(*in.node, "input " + std::to_string(index) + " must be one integer");
  }
  return values->front();
}

std::optional<std::size_t> ListLength(const InferInput& in, std::size_t index) {
  const Shape* shape = ShapeOf(in, index);
  if (shape == nullptr || shape->size() != 1 || !shape->front().known()) return std::nullopt;
  if (shape->front().size() > kMaxShapeEntries) return std::nullopt;
  return static_cast<std::size_t>(shape->front().size());
}

std::size_t NormalAxis(const Node& node, std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    RejectNode(node, "axis " + std::to_string(axis) + " does not fit rank " + std::to_string(rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::vector<std::size_t> NormalAxes(const Node& node, const std::vector<std::int64_t>& axes,
                                    std::size_t rank) {
  std::vector<std::size_t> normal;
  normal.reserve(axes.size());
  for (const std::int64_t axis : axes) normal.push_back(NormalAxis(node, axis, rank));
  std::sort(normal.begin(), normal.end());
  if (std::adjacent_find(normal.begin(), normal.end()) != normal.end()) {
    RejectNode(node, "names an axis twice");
  }
  return normal;
}

Dim MergeDims(const Node& node, const Dim& a, const Dim& b) {
  if (a.known() && b.known() && a.size() != b.size()) {
    RejectNode(node, "dimensions " + std::to_string(a.size()) + " and " + std::to_string(b.size()) +
                         " must be equal");
  }
  if (a.known()) return a;
  if (b.known()) return b;
  return a.symbol().empty() ? b : a;
}

Shape BroadcastShapes(const Node& node, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  const std::size_t shift = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    out[shift + i] = BroadcastDim(node, longer[shift + i], shorter[i]);
  }
  return out;
}

std::optional<Shape> BroadcastInputs(const InferInput& in) {
  Shape out;
  for (std::size_t i = 0; i < in.types.size(); ++i) {
    const Shape* shape = ShapeOf(in, i);
    if (shape == nullptr) return std::nullopt;
    out = BroadcastShapes(*in.node, out, *shape);
  }
  return out;
}

Dim ProductOf(const Node& node, const Shape& dims, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  Dim open = 1;
  std::size_t open_count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (!dims[i].known()) {
      open = dims[i];
      ++open_count;
    } else if (__builtin_mul_overflow(product, dims[i].size(), &product) ||
               product > kMaxElements) {
      RejectNode(node, "the product of dimensions " + ToString(dims) + " exceeds 2^40");
    }
  }
  if (product == 0 || open_count == 0) return product;
  return open_count == 1 && product == 1 ? open : Dim();
}

std::vector<ValueType> OneOutput(DType dtype, std::optional<Shape> shape) {
  return {ValueType{.dtype = dtype, .shape = std::move(shape)}};
}

std::vector<ValueType> SameAsFirst(const InferInput& in) {
  return {in.types.empty() ? ValueType{} : in.types.front()};
}

}  // namespace msc
