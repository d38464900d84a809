#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// Operators in the order of the graph: "Conv Add Clip".
inline std::string OpsOf(const Graph& graph) {
  std::string ops;
  for (const NodeId id : graph.order()) ops += (ops.empty() ? "" : " ") + graph.node(id).op;
  return ops;
}

/// Floats may differ by `tolerance` of 1 or, if that is more, of the expected number; u8, where it
/// holds quantized numbers, by `steps`. All others must be equal.
inline void ExpectNear(const Tensor& found, const Tensor& expected, float tolerance,
                       int steps = 0) {
  ASSERT_EQ(found.dims(), expected.dims());
  ASSERT_EQ(found.dtype(), expected.dtype());
  if (found.dtype() == DType::kU8) {
    for (std::size_t k = 0; k < found.Values<std::uint8_t>().size(); ++k) {
      EXPECT_NEAR(found.Values<std::uint8_t>()[k], expected.Values<std::uint8_t>()[k], steps);
    }
    return;
  }
  if (found.dtype() != DType::kF32) {
    EXPECT_EQ(found, expected);
    return;
  }
  for (std::size_t k = 0; k < found.Values<float>().size(); ++k) {
    const float value = expected.Values<float>()[k];
    EXPECT_NEAR(found.Values<float>()[k], value, tolerance * std::max(1.0F, std::abs(value)));
  }
}

}  // namespace msc
