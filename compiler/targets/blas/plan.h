#pragma once

// Of this folder only.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/call.h"

namespace msc::blas {

/// A node as products of matrices in place. Operands and result are dense.
struct Plan {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  kernel::Sgemm product;
  bool b_packed = false;  ///< B is a constant [n,k] that the library wants as [k,n]
  /// The result as batch axes, then the axes of one product.
  Dims seen;
  /// One product for each entry of all of these together: how far its operands are from those of
  /// the entry before, in elements; 0 where that is the same.
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t c = 0;
  };
  std::vector<Axis> batch;
  std::size_t rows = 0;      ///< the axes of `seen` along which rows of a product lie end here
  std::size_t channels = 0;  ///< axis of the result along which bias and slope change
  bool closes = false;  ///< something follows the sums: bias, residual, activation, C of a Gemm
  /// Of Gemm: alpha * sums + beta * start, stretched to the result.
  float alpha = 1.0F;
  float beta = 0.0F;
  ValueId start = kNoValue;

  /// Products of the batch.
  [[nodiscard]] std::int64_t parts() const {
    std::int64_t count = 1;
    for (const Axis& axis : batch) count *= axis.extent;
    return count;
  }
};

/// None where the node is not a product of f32 matrices with elements: Gemm, MatMul of two or more
/// dimensions, msc.Gemm, and Conv and msc.Conv of kernel 1, stride 1 and no padding.
/// None too where the library, which `transposes` or not, cannot do the product.
[[nodiscard]] std::optional<Plan> PlanNode(const Graph& graph, NodeId id, bool transposes);

}  // namespace msc::blas
