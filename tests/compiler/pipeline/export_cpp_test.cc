#include "compiler/pipeline/export_cpp.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
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
  std::string Refusal(const Graph& graph, const std::vector<Isa>& isas = {}) {
    try {
      (void)Export(graph, {}, isas);
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
  strategy.quantize.layers = {{"conv", Precision::kInt8}};
  strategy.quantize.activations = {{"x", {"i8", 0.03125, 3}}, {"r", {"u8", 0.015625, 0}}};
  const CppExportSummary summary = Export(Net("Tanh(%g) @last"), strategy, {Isa{}});
  EXPECT_EQ(summary.isas, std::vector<Isa>{Isa{}});
  EXPECT_NE(ReadFile(folder_ + "/kernels_baseline.cc").find("dot4"), std::string::npos);
  ASSERT_EQ(Run("cmake -S . -B build && cmake --build build"), 0) << ReadFile(folder_ + "/log");
  EXPECT_EQ(Run("ctest --test-dir build"), 0) << ReadFile(folder_ + "/log");
}

/// native, or, where `wrong`, one whose kernels compute with weights of another sign.
class WrongNative final : public Target {
 public:
  WrongNative(const Target& native, bool wrong) : native_(native), wrong_(wrong) {}

 private:
  [[nodiscard]] const TargetFacts& DoFacts() const noexcept override { return native_.facts(); }
  [[nodiscard]] bool DoSupports(const Graph& graph, NodeId node) const override {
    return native_.Supports(graph, node);
  }
  [[nodiscard]] bool DoWantsFusedOps() const override { return true; }
  [[nodiscard]] Result<kernel::Program> DoGraphToKernel(
      const Region& region, const TargetOptions& options) const override {
    Graph graph = *region.graph;
    for (const ValueId id : graph.constants()) {
      if (!wrong_ || graph.constant(id)->dtype() != DType::kF32) continue;
      Tensor turned = *graph.constant(id);
      for (float& x : turned.MutableValues<float>()) x = -x;
      graph.SetConstant(id, std::make_shared<const Tensor>(std::move(turned)));
    }
    return native_.GraphToKernel({.graph = &graph, .nodes = region.nodes}, options);
  }
  [[nodiscard]] Result<std::shared_ptr<const kernel::Module>> DoKernelToRuntime(
      std::span<const kernel::KernelFunc> funcs) const override {
    return native_.KernelToRuntime(funcs);
  }
  const Target& native_;
  bool wrong_;
};

TEST_F(ExportsCpp, NothingWhereAVariantIsWrong) {
  if (!RunsOn(*ParseIsa("avx2"), DetectIsa())) GTEST_SKIP() << "this CPU has no AVX2";
  TargetRegistry real;
  RegisterAllTargets(real);
  for (const std::string wrong : {"avx2", "baseline"}) {
    targets_ = TargetRegistry();
    targets_.Add({.name = "native",
                  .options = {},
                  .make = [&real, wrong](OptionMap& options) -> std::unique_ptr<Target> {
                    const std::string isa = options.at("isa");
                    return std::make_unique<WrongNative>(real.Get("native:isa=" + isa),
                                                         isa == wrong);
                  }});
    const std::string why = Refusal(Net("Tanh(%g) @last"), {*ParseIsa("avx2"), Isa{}});
    EXPECT_TRUE(why.starts_with("kernels for " + wrong + " and the reference kernels differ"))
        << why;
    EXPECT_TRUE(why.ends_with("rounding explains 0.001, so nothing was written")) << why;
    EXPECT_FALSE(fs::exists(folder_));
  }
}

TEST_F(ExportsCpp, NothingWhereAnOperatorHasNoKernel) {
  const std::string why = Refusal(Net("Hardmax(%g) @last"));
  EXPECT_NE(why.find("Hardmax"), std::string::npos) << why;
  EXPECT_FALSE(fs::exists(folder_));
}

}  // namespace
}  // namespace msc
