#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "compiler/ops/conv_kernel.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/register.h"

// Source: ONNX operator pages MatMul-13 and Gemm-13.

namespace msc {
namespace {

struct MatMulShapes {
  Shape batch;
  Dim m;
  Dim k;
  Dim n;
  Shape y;
};

/// Splits the shapes as numpy.matmul does: a vector on the left is a row, on the right a column,
/// and its axis is absent from Y.
MatMulShapes SplitMatMul(const Node& node, const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) RejectNode(node, "cannot multiply a scalar");
  MatMulShapes split;
  split.m = a.size() == 1 ? Dim(1) : a[a.size() - 2];
  split.n = b.size() == 1 ? Dim(1) : b.back();
  const Dim& rows = b.size() == 1 ? b.front() : b[b.size() - 2];
  if (a.back().known() && rows.known() && a.back().size() != rows.size()) {
    RejectNode(node, "cannot multiply " + ToString(a) + " by " + ToString(b) +
                         ": the inner dimensions differ");
  }
  split.k = MergeDims(node, a.back(), rows);
  const auto batch_of = [](const Shape& shape) {
    return shape.size() <= 2 ? Shape{} : Shape(shape.begin(), shape.end() - 2);
  };
  split.batch = BroadcastShapes(node, batch_of(a), batch_of(b));
  split.y = split.batch;
  if (a.size() > 1) split.y.push_back(split.m);
  if (b.size() > 1) split.y.push_back(split.n);
  return split;
}

std::vector<ValueType> InferMatMul(const InferInput& in) {
  const DType dtype = RequireSameType(in, 0, 1);
  RequireType(in, 0,
              {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64,
               DType::kU32, DType::kU64});
  const Shape* a = ShapeOf(in, 0);
  const Shape* b = ShapeOf(in, 1);
  if (a == nullptr || b == nullptr) return OneOutput(dtype, std::nullopt);
  return OneOutput(dtype, SplitMatMul(*in.node, *a, *b).y);
}

/// Returns the elements for the product: signed integers are reinterpreted as unsigned ones,
/// because signed overflow is undefined.
template <class T>
auto* ProductView(T* values) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_integral_v<Plain>) {
    using U = std::make_unsigned_t<Plain>;
    return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const U*, U*>>(values);
  } else {
    return values;
  }
}

template <class T>
void MatMulInto(const Node& node, const Tensor& a, const Tensor& b, Tensor& y) {
  const MatMulShapes split = SplitMatMul(node, ToShape(a.dims()), ToShape(b.dims()));
  const MatMulProblem problem{.m = split.m.size(), .k = split.k.size(), .n = split.n.size()};
  const auto batch_strides = [&](const Tensor& tensor) {
    Dims batch(tensor.dims().begin(),
               tensor.dims().end() - std::min<std::ptrdiff_t>(2, std::ssize(tensor.dims())));
    return BroadcastStrides(batch, *StaticDims(split.batch));
  };
  // A trailing axis of size 1 makes ForEachRow visit every matrix.
  Dims dims = *StaticDims(split.batch);
  Dims strides_a = batch_strides(a);
  Dims strides_b = batch_strides(b);
  for (Dims* list : {&dims, &strides_a, &strides_b}) list->push_back(1);
  T* to = y.MutableValues<T>().data();
  ForEachRow(dims, {strides_a, strides_b}, [&](std::span<const std::int64_t> at) {
    MultiplyMatrices(problem, ProductView(a.Values<T>().data()) + at[0] * problem.m * problem.k,
                     ProductView(b.Values<T>().data()) + at[1] * problem.k * problem.n,
                     ProductView(to));
    to += problem.m * problem.n;
  });
}

std::vector<Tensor> EvalMatMul(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferMatMul, node, inputs);
  if (outputs[0].size() == 0) return outputs;
  const Tensor& a = *inputs[0];
  const Tensor& b = *inputs[1];
  WithSummand(node, a.dtype(), [&]<class T>() { MatMulInto<T>(node, a, b, outputs[0]); });
  return outputs;
}

double MatMulFlops(const Node& /*node*/, std::span<const ValueType> in,
                   std::span<const ValueType> out) {
  if (!in[0].shape || in[0].shape->empty() || !in[0].shape->back().known()) return 0.0;
  return 2.0 * ElementsOf(out[0]) * static_cast<double>(in[0].shape->back().size());
}

bool Transposed(const Node& node, const char* attr) {
  return AttrOr(node, attr, std::int64_t{0}) != 0;
}

std::vector<ValueType> InferGemm(const InferInput& in) {
  const Node& node = *in.node;
  const DType dtype = RequireSameType(in, 0, 1);
  RequireType(in, 0,
              {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI32, DType::kI64,
               DType::kU32, DType::kU64});
  const Shape* a = ShapeOf(in, 0);
  const Shape* b = ShapeOf(in, 1);
  for (const Shape* shape : {a, b}) {
    if (shape != nullptr && shape->size() != 2) {
      RejectNode(node, "needs matrices, not " + ToString(*shape));
    }
  }
  if (a == nullptr || b == nullptr) return OneOutput(dtype, Shape(2));
  const bool ta = Transposed(node, "transA");
  const bool tb = Transposed(node, "transB");
  const Dim& inner_a = (*a)[ta ? 0 : 1];
  const Dim& inner_b = (*b)[tb ? 1 : 0];
  if (inner_a.known() && inner_b.known() && inner_a.size() != inner_b.size()) {
    RejectNode(node, "cannot multiply " + ToString(*a) + " by " + ToString(*b) + " (transA " +
                         std::to_string(int{ta}) + ", transB " + std::to_string(int{tb}) +
                         "): the inner dimensions differ");
  }
  Shape y{(*a)[ta ? 1 : 0], (*b)[tb ? 0 : 1]};
  if (HasInput(in, 2)) {
    RequireSameType(in, 0, 2);
    const Shape* c = ShapeOf(in, 2);
    if (c != nullptr) {
      const Shape joined = BroadcastShapes(node, y, *c);
      const bool stretches = joined.size() == 2 &&
                             (joined[0].size() == y[0].size() || !y[0].known()) &&
                             (joined[1].size() == y[1].size() || !y[1].known());
      if (!stretches) {
        RejectNode(node, "C " + ToString(*c) + " does not stretch to " + ToString(y));
      }
    }
  }
  return OneOutput(dtype, std::move(y));
}

template <class T>
std::vector<T> MatrixOf(const Tensor& tensor, bool transpose) {
  const auto values = tensor.Values<T>();
  std::vector<T> matrix(values.begin(), values.end());
  if (!transpose) return matrix;
  const auto rows = static_cast<std::size_t>(tensor.dims()[0]);
  const auto columns = static_cast<std::size_t>(tensor.dims()[1]);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) matrix[c * rows + r] = values[r * columns + c];
  }
  return matrix;
}

template <class T>
void GemmInto(const Node& node, EvalInputs inputs, Tensor& y) {
  const bool ta = Transposed(node, "transA");
  const std::vector<T> a = MatrixOf<T>(*inputs[0], ta);
  const std::vector<T> b = MatrixOf<T>(*inputs[1], Transposed(node, "transB"));
  const MatMulProblem problem{
      .m = y.dims()[0], .k = inputs[0]->dims()[ta ? 0 : 1], .n = y.dims()[1]};
  MultiplyMatrices(problem, ProductView(a.data()), ProductView(b.data()),
                   ProductView(y.MutableValues<T>().data()));
  const float alpha = AttrOr(node, "alpha", 1.0F);
  const float beta = AttrOr(node, "beta", 1.0F);
  if (alpha != 1.0F) {
    for (T& value : y.MutableValues<T>()) value = static_cast<T>(static_cast<T>(alpha) * value);
  }
  const Tensor* c = InputAt(inputs, 2);
  if (c == nullptr || beta == 0.0F) return;
  const Tensor product = y;
  BroadcastInto<T, T, T>(product, *c, y, [&](T left, T right) {
    return static_cast<T>(left + static_cast<T>(beta) * right);
  });
}

std::vector<Tensor> EvalGemm(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferGemm, node, inputs);
  if (outputs[0].size() == 0) return outputs;
  WithSummand(node, outputs[0].dtype(), [&]<class T>() { GemmInto<T>(node, inputs, outputs[0]); });
  return outputs;
}

double GemmFlops(const Node& node, std::span<const ValueType> in, std::span<const ValueType> out) {
  if (!in[0].shape || in[0].shape->size() != 2) return 0.0;
  const Dim& k = (*in[0].shape)[Transposed(node, "transA") ? 0 : 1];
  if (!k.known()) return 0.0;
  const bool biased = node.HasInput(2);
  return ElementsOf(out[0]) * (2.0 * static_cast<double>(k.size()) + (biased ? 1.0 : 0.0));
}

}  // namespace

void RegisterMatMulOps(OpRegistry& ops) {
  ops.Add({.name = "MatMul",
           .inputs = {2, 2},
           .infer = InferMatMul,
           .eval = ViaF32(EvalMatMul),
           .flops = MatMulFlops});
  ops.Add({.name = "Gemm",
           .inputs = {2, 3},
           .attrs = {{.name = "alpha", .otherwise = 1.0F},
                     {.name = "beta", .otherwise = 1.0F},
                     {.name = "transA", .otherwise = std::int64_t{0}},
                     {.name = "transB", .otherwise = std::int64_t{0}}},
           .infer = InferGemm,
           .eval = ViaF32(EvalGemm),
           .flops = GemmFlops});
}

}  // namespace msc
