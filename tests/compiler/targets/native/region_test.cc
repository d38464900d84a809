// What is supported alone is computed in every region, wherever the region put what it reads.

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/native/native.h"
#include "compiler/targets/target.h"
#include "tests/compiler/targets/native/interpreted.h"

namespace msc {
namespace {

/// Graphs where %s lies in another order of its axes than it has, because of what it is made of,
/// and is read by a node whose kernel joins axes. N is the batch.
struct Region {
  const char* label;
  const char* text;
  friend void PrintTo(const Region& region, std::ostream* out) { *out << region.label; }
};

constexpr Region kRegions[] = {
    // NOLINT(modernize-avoid-c-arrays)
    {"residual_of_gemm", R"(
  const %w : f32[32,24] = random 3
  const %b : f32[32] = random 4
  %y = msc.Gemm(%x, %w, %b, %s, _, _) {y_type = 1, activation = "Relu"}
  output %y)"},
    {"residual_of_gemm_in_bytes", R"(
  const %w : i8[32,24] = random 3
  const %b : f32[32] = random 4
  const %ws : f32[32] = splat 0.004
  const %xs : f32[] = [0.02]
  const %xz : i8[] = [0]
  %xq = QuantizeLinear(%x, %xs, %xz)
  %y = msc.Gemm(%xq, %w, %b, %s, %ws, _) {y_type = 1, x_scale = 0.02}
  output %y)"},
    {"residual_and_rows_of_gemm", R"(
  const %w : f32[32,32] = random 3
  %y = msc.Gemm(%s, %w, _, %s, _, _) {y_type = 1}
  output %y)"},
    {"operands_of_attention", R"(
  %y = msc.Attention(%s, %s, %s, _) {scale = 0.3}
  output %y)"},
    {"operand_of_matmul", R"(
  const %p : f32[32,16] = random 3
  %w = MatMul(%s, %p)
  %t = Transpose(%s) {perm = [0, 2, 1]}
  %y = MatMul(%t, %w)
  output %y)"},
};

std::string TextOf(const Region& region, int batch) {
  const std::string n = std::to_string(batch);
  return "graph g {\n  input %x : f32[" + n + ",5,24]\n  input %r : f32[5," + n +
         ",32]\n  input %z : f32[" + n + ",5,32]\n" + R"(  %t0 = Transpose(%r) {perm = [1, 0, 2]}
  %s = Add(%t0, %z)
)" + region.text +
         "\n}";
}

class NativeRegion : public testing::TestWithParam<Region> {};

TEST_P(NativeRegion, ComputesEveryBatch) {
  TargetRegistry targets;
  targets.Add(NativeKind());
  const Target& native = targets.Get("native");
  for (const int batch : {1, 2, 3, 4, 8, 16}) {
    SCOPED_TRACE(TextOf(GetParam(), batch));
    Graph graph = ParseGraph(TextOf(GetParam(), batch));
    InferTypes(graph);
    for (const NodeId id : graph.order()) ASSERT_TRUE(native.Supports(graph, id));
    const auto program = native.GraphToKernel({.graph = &graph, .nodes = graph.order()}, {});
    ASSERT_TRUE(program.ok()) << program.failure().detail;
    std::vector<Tensor> inputs;
    Rng rng(7);
    for (const ValueId input : graph.inputs()) {
      inputs.emplace_back(DType::kF32, *StaticDims(*graph.type(input).shape));
      for (float& x : inputs.back().MutableValues<float>()) x = static_cast<float>(rng.Normal());
    }
    const std::vector<Tensor> got = native::Interpreted(program.value(), graph, inputs);
    const std::vector<Tensor> wanted = Interpret(graph, inputs);
    ASSERT_EQ(got.size(), wanted.size());
    const auto a = got[0].Values<float>();
    const auto b = wanted[0].Values<float>();
    for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-3) << "at " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, NativeRegion, testing::ValuesIn(kRegions),
                         [](const auto& param) { return std::string(param.param.label); });

}  // namespace
}  // namespace msc
