// Matrix products whose X is larger than a cache: summed in slices along the depth, by compiled
// kernels, to the numbers of the reference.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/native/native.h"
#include "compiler/targets/target.h"

namespace msc {
namespace {

std::string Product(const std::string& rows, const std::string& depth,
                    const std::string& channels) {
  return "graph g {\n  input %x : f32[" + rows + "," + depth + "]\n  input %r : f32[" + rows + "," +
         channels + "]\n  const %w : f32[" + channels + "," + depth +
         "] = random 4\n  const %b : f32[" + channels + "] = random 5\n" + R"(
  %p = msc.Gemm(%x, %w, %b, %r) @dense {activation = "Relu", y_type = 1}
  %y = Tanh(%p) @closed
  output %p
  output %y
})";
}

class NativeSlices : public testing::Test {
 protected:
  void SetUp() override { targets_.Add(NativeKind()); }

  /// Names of the kernels.
  std::vector<std::string> Calls(const std::string& text) {
    Graph graph = ParseGraph(text);
    InferTypes(graph);
    const auto program =
        targets_.Get("native").GraphToKernel({.graph = &graph, .nodes = graph.order()}, {});
    std::vector<std::string> calls;
    for (const kernel::ProgramCall& call : program.value().calls) calls.push_back(call.name);
    return calls;
  }

  TargetRegistry targets_;
};

TEST_F(NativeSlices, AreCutWhereXIsLargeAndReadOften) {
  const auto slices = [&](const char* rows, const char* depth, const char* channels) {
    const std::vector<std::string> calls = Calls(Product(rows, depth, channels));
    return std::count(calls.begin(), calls.end(), "dense");
  };
  EXPECT_EQ(slices("65", "4099", "259"), 2);
  EXPECT_EQ(slices("2048", "300", "256"), 1) << "slices would be shallow";
  EXPECT_EQ(slices("65", "4099", "255"), 1) << "few tiles read X";
  EXPECT_EQ(slices("64", "4096", "300"), 1) << "it fits";
}

TEST_F(NativeSlices, GiveTheNumbersOfTheReference) {
  Graph graph = ParseGraph(Product("65", "4099", "259"));
  InferTypes(graph);
  ExecutableBuilder builder(graph);
  const auto failure = targets_.Get("native").GraphToRuntime(
      {.graph = &graph, .nodes = graph.order()}, {.threads = 2}, builder);
  ASSERT_FALSE(failure.has_value()) << failure->detail;
  Executable executable = std::move(builder).Build();
  Rng rng(7);
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    inputs.emplace_back(DType::kF32, *StaticDims(*graph.type(input).shape));
    for (float& x : inputs.back().MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  const std::vector<Tensor> got = executable.Run(inputs);
  const std::vector<Tensor> wanted = Interpret(graph, inputs);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto a = got[i].Values<float>();
    const auto b = wanted[i].Values<float>();
    ASSERT_EQ(a.size(), b.size());
    // Sums of 4,099 numbers of about 1.
    for (std::size_t at = 0; at < b.size(); ++at) ASSERT_NEAR(a[at], b[at], 2e-3) << at;
  }
}

}  // namespace
}  // namespace msc
