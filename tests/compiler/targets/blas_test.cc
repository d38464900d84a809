#include "compiler/targets/blas/blas.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// By library; a test skips where it is not installed.
class Blas : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    registry_.Add(BlasKind());
    try {
      target_ = &registry_.Get("blas:library=" + GetParam());
    } catch (const UserError& absent) {
      GTEST_SKIP() << absent.what();
    }
  }

  void ExpectSameAsInterpreted(const std::string& text, int threads) {
    Graph graph = ParseGraph(text);
    InferTypes(graph);
    Rng rng(1);
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs()) {
      Tensor& tensor =
          inputs.emplace_back(DType::kF32, StaticDims(graph.type(id).shape.value()).value());
      for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
    }
    for (const NodeId id : graph.order()) ASSERT_TRUE(target_->Supports(graph, id));
    ExecutableBuilder builder(graph);
    const Region region{.graph = &graph, .nodes = graph.order()};
    ASSERT_FALSE(target_->GraphToRuntime(region, {.threads = threads}, builder).has_value());
    const std::vector<Tensor> outputs = std::move(builder).Build().Run(inputs);
    const std::vector<Tensor> expected = Interpret(graph, inputs);
    const auto got = outputs.at(0).Values<float>();
    const auto want = expected.at(0).Values<float>();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-3) << i;
  }

  TargetRegistry registry_;
  const Target* target_ = nullptr;
};

TEST_P(Blas, SaysWhichKernelsItChose) {
  const std::string& version = target_->facts().version;
  EXPECT_TRUE(version.starts_with("OpenBLAS ") || version.starts_with("BLIS ") ||
              version.starts_with("libxsmm "))
      << version;
#if defined(__x86_64__)
  // The point of choosing: neither takes a new CPU for a generic one.
  if (__builtin_cpu_supports("avx512bw") != 0) {
    EXPECT_EQ(version.find("aswell"), std::string::npos) << version;
    EXPECT_EQ(version.find("generic"), std::string::npos) << version;
  }
#endif
}

TEST_P(Blas, ClosesLayersByRowsAndByColumns) {
  for (const int threads : {1, 2}) {
    ExpectSameAsInterpreted(R"(graph g {
  input %x : f32[7,33]
  const %w : f32[19,33] = random 1
  const %b : f32[19] = random 2
  input %r : f32[7,19]
  const %p : f32[19] = random 3
  %y = msc.Gemm(%x, %w, %b, %r, _, %p) {y_type = 1, activation = "PRelu"}
  output %y
})",
                            threads);
    ExpectSameAsInterpreted(R"(graph g {
  input %x : f32[2,12,5,3]
  const %w : f32[9,4,1,1] = random 1
  const %b : f32[9] = random 2
  input %r : f32[2,9,5,3]
  const %p : f32[9] = random 3
  %y = msc.Conv(%x, %w, %b, %r, _, %p) {kernel_shape = [1, 1], strides = [1, 1], pads = [0, 0, 0, 0], dilations = [1, 1], group = 3, y_type = 1, activation = "PRelu"}
  output %y
})",
                            threads);
  }
}

TEST_P(Blas, MultipliesSizesThatAreNoWholeTiles) {
  for (const std::string sizes : {"1 1 1", "32 64 256", "33 65 257", "31 63 255", "70 130 300"}) {
    std::istringstream words(sizes);
    std::string m;
    std::string n;
    std::string k;
    words >> m >> n >> k;
    SCOPED_TRACE(sizes);
    for (const int threads : {1, 3}) {
      ExpectSameAsInterpreted("graph g {\n  input %x : f32[" + m + "," + k +
                                  "]\n  const %w : f32[" + k + "," + n +
                                  "] = random 1\n  const %c : f32[" + n +
                                  "] = random 2\n  %y = Gemm(%x, %w, %c)\n  output %y\n}",
                              threads);
    }
  }
}

TEST_P(Blas, ClosesByEveryActivation) {
  for (const std::string activation :
       {"Relu", "Clip", "LeakyRelu", "HardSwish", "Sigmoid", "Tanh", "HardSigmoid", "Swish"}) {
    SCOPED_TRACE(activation);
    ExpectSameAsInterpreted(R"(graph g {
  input %x : f32[3,17]
  const %w : f32[18,17] = random 1
  %y = msc.Gemm(%x, %w, _, _, _, _) {alpha = 0.2, beta = 0.5, y_type = 1, activation = ")" +
                                activation + "\"}\n  output %y\n}",
                            1);
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, Blas, testing::Values("openblas", "blis", "xsmm"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace msc
