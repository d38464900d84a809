#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Operators of linear algebra beyond products. Source: ONNX operator page Det-11.

namespace msc {
namespace {

std::vector<ValueType> InferDet(const InferInput& in) {
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  RequireRank(in, 0, 2);
  (void)MergeDims(*in.node, (*x)[x->size() - 2], x->back());
  return OneOutput(TypeOf(in, 0), Shape(x->begin(), x->end() - 2));
}

/// Returns the determinant of a square matrix of row-major values, by elimination with pivots.
double Determinant(std::vector<double> matrix, std::size_t size) {
  double product = 1.0;
  for (std::size_t k = 0; k < size; ++k) {
    std::size_t pivot = k;
    for (std::size_t row = k + 1; row < size; ++row) {
      // Prefers NaN to every number, so that it reaches the result.
      const double held = std::abs(matrix[pivot * size + k]);
      if (!std::isnan(held) && !(std::abs(matrix[row * size + k]) <= held)) pivot = row;
    }
    if (pivot != k) {
      const auto at = [&](std::size_t row) {
        return matrix.begin() + static_cast<std::ptrdiff_t>(row * size);
      };
      std::swap_ranges(at(k), at(k + 1), at(pivot));
      product = -product;
    }
    const double head = matrix[k * size + k];
    if (head == 0.0) return 0.0;
    product *= head;
    for (std::size_t row = k + 1; row < size; ++row) {
      const double factor = matrix[row * size + k] / head;
      for (std::size_t i = k + 1; i < size; ++i) {
        matrix[row * size + i] -= factor * matrix[k * size + i];
      }
    }
  }
  return product;
}

std::vector<Tensor> EvalDet(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferDet, node, inputs);
  const auto size = static_cast<std::size_t>(inputs[0]->dims().back());
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    const auto x = inputs[0]->Values<T>();
    const auto y = outputs[0].template MutableValues<T>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto matrix = x.subspan(i * size * size, size * size);
      y[i] = static_cast<T>(Determinant({matrix.begin(), matrix.end()}, size));
    }
  });
  return outputs;
}

/// Counts two thirds of size^3 for each matrix.
double DetFlops(const Node& /*node*/, std::span<const ValueType> in,
                std::span<const ValueType> /*out*/) {
  const auto dims = in[0].shape ? StaticDims(*in[0].shape) : std::nullopt;
  if (!dims || dims->empty()) return 0.0;
  return 2.0 / 3.0 * ElementsOf(in[0]) * static_cast<double>(dims->back());
}

}  // namespace

void RegisterLinearAlgebraOps(OpRegistry& ops) {
  ops.Add({.name = "Det",
           .inputs = {1, 1},
           .infer = InferDet,
           .eval = ViaF32(EvalDet),
           .flops = DetFlops});
}

}  // namespace msc
