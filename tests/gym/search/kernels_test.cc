#include "gym/search/kernels.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"
#include "cost/model/evaluator.h"
#include "envs/compress/compress_env.h"
#include "gym/search/env.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

class NoEvaluator final : public cost::Evaluator {
  void DoEvaluate(std::span<const cost::Candidate> /*batch*/, const Done& /*done*/,
                  const std::function<bool()>& /*stop*/) override {}
};

// What fc's kernel is depends on how many samples there are.
constexpr const char* kNet = R"(graph net {
  input %x : f32[n,16,12,12]
  const %w1 : f32[32,16,3,3] = random 1
  const %w2 : f32[32,32,3,3] = random 2
  const %w3 : f32[40,32] = random 3
  %c1 = Conv(%x, %w1) @conv1 {pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2) @conv2 {pads = [1, 1, 1, 1]}
  %r2 = Relu(%c2) @relu2
  %g = GlobalAveragePool(%r2) @pool
  %f = Flatten(%g) @flat
  %y = Gemm(%f, %w3) @fc {transB = 1}
  output %y
})";

class SearchKernels : public testing::Test {
 protected:
  SearchKernels() {
    Graph graph = ParseGraph(kNet);
    InferTypes(graph);
    prepared_.graph = std::make_shared<const Graph>(std::move(graph));
    prepared_.targets = MakeTargets();
    for (const char* tensor : {"x", "r1", "r2", "f", "y"}) scales_[tensor] = {.scale = 0.5};
    config_.target = "native";
    config_.quality.batch = 50;
    compress_.targets = {"reference"};
    compress_.pieces = 0;
    compress_.schedules = 3;
    config_.section<ScheduleConfig>().choices = 6;
  }
  [[nodiscard]] static std::string File() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    std::string file = testing::TempDir() + "search_kernels_" + info->name() + ".json";
    std::filesystem::remove(file);
    return file;
  }

  [[nodiscard]] SharedKernels Find(const std::string& file) const {
    return FindJointKernels(config_, prepared_, scales_, file);
  }

  Prepared prepared_;
  SearchConfig config_;
  envs::CompressConfig& compress_ = config_.section<envs::CompressConfig>();
  std::map<std::string, TensorScale> scales_;
  NoEvaluator evaluator_;
};

TEST_F(SearchKernels, AreThoseWithMostWorkOnce) {
  const std::string file = File();
  compress_.schedules = 2;
  const auto kernels = Find(file);
  ASSERT_EQ(kernels->size(), 2U);
  EXPECT_EQ((*kernels)[0].layers, (std::vector<std::string>{"conv2"}));
  EXPECT_EQ((*kernels)[1].layers, (std::vector<std::string>{"conv1"}));
  for (const ScheduledKernel& kernel : *kernels) {
    ASSERT_EQ(kernel.choices.size(), 6U);
    for (std::size_t i = 1; i < kernel.choices.size(); ++i) {
      for (std::size_t j = 1; j < i; ++j) EXPECT_NE(kernel.choices[i], kernel.choices[j]);
    }
  }
  // Found once a run.
  config_.section<ScheduleConfig>().choices = 2;
  EXPECT_EQ(*Find(file), *kernels);
  prepared_.graph =
      std::make_shared<const Graph>(ParseGraph("graph g { input %x : f32[1]\n"
                                               "%y = Relu(%x)\n output %y }"));
  EXPECT_THROW((void)Find(file), UserError);
}

TEST_F(SearchKernels, AreNoneWhereNoTargetLeavesAChoice) {
  config_.target = "reference";
  EXPECT_TRUE(Find(File())->empty());
}

TEST_F(SearchKernels, FitWhateverElseIsDecided) {
  envs::CompressContext context;
  static_cast<envs::ModelContext&>(context) = ContextOf(config_, prepared_, &evaluator_);
  context.compress = compress_;
  context.scales = scales_;
  context.kernels = Find(File());
  context.kernels_of = KernelFinder(config_, prepared_);
  ASSERT_EQ(context.kernels->size(), 3U);
  const auto made = envs::MakeCompressProblem(context);
  const envs::StrategyProblem& problem = *made;
  Rng rng(7);
  std::size_t scheduled = 0;
  for (int i = 0; i < 40; ++i) {
    const Assignment assignment = DrawLegal(problem.decisions(), problem.MaskFunction(), rng);
    const Strategy strategy = problem.StrategyOf(assignment);
    scheduled += strategy.schedules.size();
    const Graph applied = ApplyStrategy(*prepared_.graph, strategy);
    for (const std::int64_t batch : {std::int64_t{1}, config_.quality.batch}) {
      // Refuses schedules that do not fit.
      EXPECT_NO_THROW((void)LowerFor(applied, strategy, prepared_.targets,
                                     {.threads = 1, .bindings = {{"n", batch}}}));
    }
  }
  EXPECT_GT(scheduled, 10U);
}

}  // namespace
}  // namespace msc::gym
