#pragma once

// Internal to this folder.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/call.h"

namespace msc::blas {

/// A node as matrix products that read and write the values in place. Operands and result are
/// dense.
struct Plan {
  ValueId a = kNoValue;
  ValueId b = kNoValue;
  kernel::Sgemm product;
  bool b_packed = false;  ///< B is a constant [n,k], packed as [k,n] for the library
  /// Shape of the result as batch axes followed by the axes of one product.
  Dims seen;
  /// One axis of the batch: one product per combination of entries. `a`, `b` and `c` are strides in
  /// elements; 0 where an operand is the same for all entries.
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t a = 0;
    std::int64_t b = 0;
    std::int64_t c = 0;
  };
  std::vector<Axis> batch;
  std::size_t rows = 0;      ///< leading axes of `seen` that enumerate rows of products
  std::size_t channels = 0;  ///< axis of the result along which bias and slope change
  bool closes = false;       ///< whether bias, residual, activation or C of a Gemm follow the sums
  /// For Gemm: the result is alpha * sums + beta * start, with `start` broadcast to the result.
  float alpha = 1.0F;
  float beta = 0.0F;
  ValueId start = kNoValue;

  /// Returns the number of products in the batch.
  [[nodiscard]] std::int64_t parts() const {
    std::int64_t count = 1;
    for (const Axis& axis : batch) count *= axis.extent;
    return count;
  }
};

/// Returns the plan of Gemm, MatMul of two or more dimensions, msc.Gemm, and Conv and msc.Conv with
/// kernel 1, stride 1 and no padding, if their f32 operands have elements. Returns nullopt for
/// other nodes, and where a library that does not accept transposed operands (`transposes` false)
/// cannot compute the product.
[[nodiscard]] std::optional<Plan> PlanNode(const Graph& graph, NodeId id, bool transposes);

}  // namespace msc::blas
