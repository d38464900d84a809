#pragma once

// Of this folder only.

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"
#include "compiler/targets/blas/library.h"

namespace msc::blas {

/// Where the operands of one product start, in elements.
struct Offsets {
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::int64_t c = 0;
};

/// What is done to the sums, row by row, after the products: y = activation(y + bias + residual).
/// The value of a bias and slope is that of the row's channel, or one a column.
struct Closing {
  Activation activation;
  bool channel_is_row = false;  ///< else the column
  std::int64_t channels = 1;
  std::vector<float> bias;   ///< one a channel; empty for none
  std::vector<float> slope;  ///< one a channel; empty unless the activation is PRelu
  bool residual = false;
  [[nodiscard]] bool empty() const { return bias.empty() && !residual && activation.op.empty(); }
};

/// A node as products of matrices in place, and what closes them.
struct Plan {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  ValueId c = kNoValue;  ///< what is written
  Product product;
  std::vector<Offsets> parts;
  bool b_packed = false;  ///< B is a constant [n,k] that the library wants as [k,n]
  Closing closing;
  ValueId residual = kNoValue;
  /// Added before the products, spread over C with these strides (0 along stretched axes).
  ValueId start = kNoValue;
  std::int64_t start_row = 0;
  std::int64_t start_column = 0;
};

/// None where the node is not a product of f32 matrices with elements: Gemm, MatMul of two or more
/// dimensions, msc.Gemm, and Conv and msc.Conv of kernel 1, stride 1 and no padding.
/// None too where the library cannot do the product.
[[nodiscard]] std::optional<Plan> PlanNode(const Graph& graph, NodeId id, const Library& library);

}  // namespace msc::blas
