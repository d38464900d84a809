#include "compiler/pipeline/export_cpp.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/targets/register.h"

namespace msc {
namespace {

namespace fs = std::filesystem;

/// The model's last operator is left open.
Graph Net(const std::string& last) {
  Graph graph = ParseGraph(R"(graph net {
  input %x : f32[1,3,6,6]
  const %w1 : f32[4,3,3,3] = random 1
  const %w2 : f32[5,4] = random 3
  const %axis : i64[] = [1]
  %c = Conv(%x, %w1) @conv {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}
  %r = Relu(%c) @relu
  %p = GlobalAveragePool(%r) @pool
  %f = Flatten(%p) @flatten
  %g = Gemm(%f, %w2) @fc {transB = 1}
  %y = )" + last + R"(
  output %y
})");
  InferTypes(graph);
  return graph;
}

class ExportsCpp : public testing::Test {
 protected:
  ExportsCpp() : folder_(testing::TempDir() + "/msc_export_cpp_" + std::to_string(::getpid())) {
    fs::remove_all(folder_);
    RegisterAllTargets(targets_);
  }
  ~ExportsCpp() override { fs::remove_all(folder_); }

  [[nodiscard]] int Run(const std::string& command) const {
    return std::system(("cd '" + folder_ + "' && (" + command + ") > log 2>&1").c_str());
  }
  CppExportSummary Export(const Graph& graph, const Strategy& strategy = {},
                          const std::vector<Isa>& isas = {}) {
    Tensor input(DType::kF32, {1, 3, 6, 6});
    Rng rng(5);
    for (float& x : input.MutableValues<float>()) x = static_cast<float>(rng.Normal());
    return ExportCpp(graph, strategy, targets_, {&input, 1}, {.isas = isas, .bindings = {}},
                     folder_);
  }
  std::string Refusal(const Graph& graph) {
    try {
      (void)Export(graph);
    } catch (const UserError& error) {
      return error.what();
    }
    return "none";
  }

  TargetRegistry targets_;
  std::string folder_;
};

TEST_F(ExportsCpp, APackageThatReproducesOurOutputsOnEveryInstructionSet) {
  const CppExportSummary summary = Export(Net("Tanh(%g) @last"));
  EXPECT_EQ(summary.isas.back(), Isa{});
  EXPECT_GE(summary.kernels, 2U);
  EXPECT_LT(summary.spread, 1e-4);
  ASSERT_EQ(Run("cmake -S . -B build && cmake --build build"), 0) << ReadFile(folder_ + "/log");
  ASSERT_EQ(Run("ctest --test-dir build --verbose"), 0) << ReadFile(folder_ + "/log");
  for (const Isa& isa : summary.isas) {
    EXPECT_NE(ReadFile(folder_ + "/log").find(ToString(isa) + " output 0"), std::string::npos);
  }
}

TEST_F(ExportsCpp, AQuantizedModel) {
  Strategy strategy;
  strategy.quantize.layers = {{"conv", "int8"}};
  strategy.quantize.activations = {{"x", {"i8", 0.03125, 3}}, {"r", {"u8", 0.015625, 0}}};
  const CppExportSummary summary = Export(Net("Tanh(%g) @last"), strategy, {Isa{}});
  EXPECT_EQ(summary.isas, std::vector<Isa>{Isa{}});
  EXPECT_NE(ReadFile(folder_ + "/kernels_baseline.cc").find("dot4"), std::string::npos);
  ASSERT_EQ(Run("cmake -S . -B build && cmake --build build"), 0) << ReadFile(folder_ + "/log");
  EXPECT_EQ(Run("ctest --test-dir build"), 0) << ReadFile(folder_ + "/log");
}

TEST_F(ExportsCpp, NothingWhereAnOperatorHasNoKernel) {
  const std::string why = Refusal(Net("CumSum(%g, %axis) @last"));
  EXPECT_NE(why.find("CumSum"), std::string::npos) << why;
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace msc
