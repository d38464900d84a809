#include "compiler/targets/blas/blas.h"

#include <array>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/kernel/call.h"
#include "compiler/ops/op.h"
#include "tests/compiler/targets/native/interpreted.h"
#include "tests/support/seeds.h"
#include "tests/support/sgemm.h"

namespace msc {
namespace {

/// A graph with random inputs.
struct Case {
  explicit Case(const std::string& text) : graph(ParseGraph(text)) {
    InferTypes(graph);
    Rng rng(1);
    for (const ValueId id : graph.inputs()) {
      Tensor& tensor =
          inputs.emplace_back(DType::kF32, StaticDims(graph.type(id).shape.value()).value());
      for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
    }
  }
  Graph graph;
  std::vector<Tensor> inputs;
};

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
    const Case made(text);
    for (const NodeId id : made.graph.order()) ASSERT_TRUE(target_->Supports(made.graph, id));
    ExecutableBuilder builder(made.graph);
    const Region region{.graph = &made.graph, .nodes = made.graph.order()};
    ASSERT_FALSE(target_->GraphToRuntime(region, {.threads = threads}, builder).has_value());
    ExpectNear(std::move(builder).Build().Run(made.inputs), Interpret(made.graph, made.inputs));
  }

  static void ExpectNear(const std::vector<Tensor>& outputs, const std::vector<Tensor>& expected) {
    const auto got = outputs.at(0).Values<float>();
    const auto want = expected.at(0).Values<float>();
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-3) << i;
  }

  TargetRegistry registry_;
  const Target* target_ = nullptr;
};

/// Asked before the target sets what is not set: libraries whose kernels the user chose.
const std::map<std::string, bool> kUserChose = {
    {"openblas", std::getenv("OPENBLAS_CORETYPE") != nullptr},
    {"blis", std::getenv("BLIS_ARCH_TYPE") != nullptr},
    {"xsmm", false},
};

TEST_P(Blas, SaysWhichKernelsItChose) {
  const std::string& version = target_->facts().version;
  EXPECT_TRUE(version.starts_with("OpenBLAS ") || version.starts_with("BLIS ") ||
              version.starts_with("libxsmm "))
      << version;
  if (kUserChose.at(GetParam())) GTEST_SKIP() << "the environment says what kernels to take";
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

TEST_P(Blas, ScalesGemmAndAddsWhatIsStretched) {
  for (const std::string c : {"6,8", "6,1", "1,8", "8", "1"}) {
    SCOPED_TRACE(c);
    const std::string text =
        "graph g {\n  input %a : f32[6,5]\n  const %b : f32[8,5] = random 1\n"
        "  input %c : f32[" +
        c +
        "]\n"
        "  %y = Gemm(%a, %b, %c) {alpha = 0.5, beta = -2.0, transB = 1}\n"
        "  %z = Relu(%y)\n  output %z\n}";
    for (const int threads : {1, 2}) ExpectSameAsInterpreted(text, threads);
  }
  ExpectSameAsInterpreted(R"(graph g {
  input %a : f32[6,5]
  input %b : f32[5,8]
  %y = Gemm(%a, %b) {alpha = 3.0}
  output %y
})",
                          1);
}

/// Products of a batch of two axes, [outer, 3], one matrix for several of them on either side, and
/// a chain behind them whose operands are stretched.
std::string Scores(int outer) {
  const std::string n = std::to_string(outer);
  return "graph g {\n  input %a : f32[" + n + ",3,5,7]\n  input %mask : f32[" + n +
         ",1,1,6]\n  input %r : f32[" + n + R"(,3,5,6]
  input %b : f32[3,7,6]
  input %scale : f32[1]
  %y = MatMul(%a, %b)
  %s = Mul(%y, %scale)
  %m = Add(%s, %mask)
  %t = Sigmoid(%m)
  %z = Add(%r, %t)
  output %z
})";
}

TEST_P(Blas, MultipliesBatchesAndWhatFollowsThem) {
  // One after another, a product for every thread, and all threads for each product. Where there
  // are fewer cores BLIS's threads wait for each other for seconds.
  for (const int threads : Sampled() ? std::vector{1, 2} : std::vector{1, 2, 3, 4, 8}) {
    SCOPED_TRACE(threads);
    ExpectSameAsInterpreted(Scores(2), threads);
  }
  ExpectSameAsInterpreted(Scores(1), 2);
  ExpectSameAsInterpreted(R"(graph g {
  input %a : f32[4,5]
  input %b : f32[2,1,5,3]
  %y = MatMul(%a, %b)
  %z = Exp(%y)
  output %z
})",
                          2);
}

TEST_P(Blas, ClosesImagesByWhatIsStretchedOverThem) {
  for (const int threads : {1, 3}) {
    ExpectSameAsInterpreted(R"(graph g {
  input %x : f32[2,4,3,5]
  const %w : f32[6,2,1,1] = random 1
  const %b : f32[6] = random 2
  input %gate : f32[2,6,1,1]
  input %row : f32[3,1]
  input %r : f32[2,6,3,5]
  %y = Conv(%x, %w, %b) {group = 2, kernel_shape = [1, 1]}
  %g = Mul(%y, %gate)
  %s = Mul(%g, %row)
  %z = Add(%s, %r)
  output %z
})",
                            threads);
  }
}

/// Calls in a body, those in loops too.
std::size_t Calls(const std::vector<kernel::Stmt>& body) {
  std::size_t count = 0;
  for (const kernel::Stmt& stmt : body) {
    if (std::holds_alternative<kernel::Call>(stmt.node)) ++count;
    if (const auto* loop = std::get_if<kernel::For>(&stmt.node)) count += Calls(loop->body);
  }
  return count;
}

TEST_P(Blas, MakesKernelsThatCallTheLibrary) {
  struct Row {
    int outer;
    int threads;
    int kernels;
  };
  // Where threads cannot share the products evenly the library has them, and the rows are closed by
  // a kernel of their own.
  for (const auto& [outer, threads, kernels] :
       {Row{2, 1, 1}, Row{2, 2, 1}, Row{2, 4, 2}, Row{1, 2, 2}}) {
    SCOPED_TRACE(std::to_string(outer) + " by 3 on " + std::to_string(threads));
    const Case made(Scores(outer));
    const Region region{.graph = &made.graph, .nodes = made.graph.order()};
    const Result<kernel::Program> made_of = target_->GraphToKernel(region, {.threads = threads});
    ASSERT_TRUE(made_of.ok());
    const kernel::Program& program = made_of.value();
    ASSERT_EQ(program.calls.size(), static_cast<std::size_t>(kernels));
    EXPECT_EQ(Calls(program.funcs[0].body), 1U);
    EXPECT_EQ(program.funcs[0].parallel_extent(), kernels == 1 ? 3 * outer : 1);
    EXPECT_EQ(program.funcs.back().parallel_extent(), (kernels == 1 ? 3 : 15) * outer);
    const std::array<kernel::LibraryFunction, 1> table = {test::Sgemm};
    ExpectNear(native::Interpreted(program, made.graph, made.inputs, table),
               Interpret(made.graph, made.inputs));
  }
}

TEST_P(Blas, ComputesElementwiseNodesBehindProductsAlone) {
  const Case made(R"(graph g {
  input %a : f32[3,4]
  input %b : f32[4,5]
  input %c : f32[3,5]
  %early = Relu(%c)
  %y = MatMul(%a, %b)
  %s = Sigmoid(%y)
  %t = Tanh(%y)
  %u = Add(%s, %t)
  output %u
})");
  std::vector<NodeId> nodes;
  for (const NodeId id : made.graph.order()) {
    const bool early = made.graph.node(id).Is("Relu");
    EXPECT_EQ(target_->Supports(made.graph, id), !early) << made.graph.node(id).op;
    if (!early) nodes.push_back(id);
  }
  // Read twice, the product is followed by nothing in its own kernel.
  ExecutableBuilder builder(made.graph);
  const Region region{.graph = &made.graph, .nodes = nodes};
  ASSERT_FALSE(target_->GraphToRuntime(region, {.threads = 2}, builder).has_value());
  ExpectNear(std::move(builder).Build().Run(made.inputs), Interpret(made.graph, made.inputs));
}

INSTANTIATE_TEST_SUITE_P(Libraries, Blas, testing::Values("openblas", "blis", "xsmm"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace msc
