// How native computes attention: some queries at a time, and rows whose keys are all excluded.
// Kernels are interpreted, so nothing is compiled.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/compiler/targets/native/interpreted.h"

namespace msc::native {
namespace {

/// Of 53 queries, 24 are computed at a time: a head of them has more scores than fit in a cache.
TEST(NativeAttention, ComputesSomeQueriesAtATime) {
  Graph graph = ParseGraph(R"(graph g {
  input %q : f32[1,53,1,3]
  input %k : f32[1,2500,1,3]
  input %v : f32[1,2500,1,2]
  input %m : f32[53,2500]
  input %r : f32[1,53,1,2]
  %a = msc.Attention(%q, %k, %v, %m) @heads {scale = 0.5, q_perm = [0, 2, 1, 3], k_perm = [0, 2, 1, 3], v_perm = [0, 2, 1, 3], y_perm = [0, 2, 1, 3]}
  %y = Add(%a, %r) @added
  output %y
})");
  InferTypes(graph);
  const kernel::Program program = ProgramOf(graph);
  std::size_t largest = 0;
  for (const kernel::ProgramBuffer& buffer : program.buffers) {
    if (buffer.kind == kernel::ProgramBuffer::Kind::kPrivate) {
      largest = std::max(largest, buffer.bytes);
    }
  }
  EXPECT_GE(largest, 24U * 2500 * sizeof(float));
  EXPECT_LT(largest, 53U * 2500 * sizeof(float) / 2);
  const std::vector<Tensor> inputs = RandomFloats(graph);
  const Tensor wanted = Interpret(graph, inputs).at(0);
  const Tensor got = Interpreted(program, graph, inputs).at(0);
  ASSERT_EQ(got.dims(), wanted.dims());
  for (std::size_t i = 0; i < wanted.Values<float>().size(); ++i) {
    ASSERT_NEAR(got.Values<float>()[i], wanted.Values<float>()[i], 1e-5) << i;
  }
}

TEST(NativeAttention, GivesZerosWhereAMaskExcludesAllKeysIfAsked) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  for (const bool zero_nan : {false, true}) {
    Graph graph = ParseGraph(R"(graph g {
  input %q : f32[5,6]
  input %k : f32[19,6]
  input %v : f32[19,3]
  input %m : f32[5,19]
  %y = msc.Attention(%q, %k, %v, %m) {zero_nan = )" +
                             std::to_string(static_cast<int>(zero_nan)) + "}\n  output %y\n}");
    InferTypes(graph);
    std::vector<Tensor> inputs = RandomFloats(graph);
    // Rows: all keys excluded, all but one, NaN, +infinity, a plain one.
    const std::span<float> mask = inputs.back().MutableValues<float>();
    std::fill_n(mask.begin(), 2 * 19, -inf);
    mask[19 + 4] = 0;
    mask[2 * 19 + 7] = nan;
    mask[3 * 19 + 18] = inf;
    const Tensor wanted = Interpret(graph, inputs).at(0);
    const Tensor got = Interpreted(ProgramOf(graph), graph, inputs).at(0);
    for (std::size_t i = 0; i < 5 * std::size_t{3}; ++i) {
      const float number = wanted.Values<float>()[i];
      const bool is_empty = i / 3 != 1 && i / 3 != 4;
      EXPECT_EQ(std::isnan(number), is_empty && !zero_nan) << i;
      const float own = got.Values<float>()[i];
      EXPECT_EQ(std::isnan(own), std::isnan(number)) << i;
      if (std::isnan(number)) continue;
      if (is_empty) {
        EXPECT_EQ(number, 0) << i;
        EXPECT_EQ(own, 0) << i;
      }
      EXPECT_NEAR(own, number, 1e-5) << i;
    }
  }
}

}  // namespace
}  // namespace msc::native
