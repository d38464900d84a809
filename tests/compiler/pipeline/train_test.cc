#include "compiler/pipeline/train.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/compress/distill/trainer.h"
#include "compiler/ir/serialize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fit.h"
#include "compiler/pipeline/samples.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

Graph Net() {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[n,3,6,6]
    const %w1 : f32[8,3,3,3] = random 1
    const %w2 : f32[8,8,3,3] = random 3
    const %w3 : f32[8,5] = random 5
    %c1 = Conv(%x, %w1) @conv1 {pads = [1, 1, 1, 1]}
    %r1 = Relu(%c1) @relu1
    %c2 = Conv(%r1, %w2) @conv2 {pads = [1, 1, 1, 1]}
    %r2 = Relu(%c2) @relu2
    %p = GlobalAveragePool(%r2) @pool
    %f = Flatten(%p) @flat
    %y = Gemm(%f, %w3) @head
    output %y
  })");
  InferTypes(graph);
  return graph;
}

class Training : public testing::Test {
 protected:
  Training() : graph_(Net()), samples_({RandomTensor({64, 3, 6, 6}, 7)}), targets_(Targets()) {
    options_.target = "reference";
    options_.batch = 16;
    asked_.target = "reference";
    asked_.model_hash = GraphHash(graph_);
    asked_.prune = {{{"conv1", {.units = 8, .keep = {0, 2, 5, 7}}}}};
    asked_.quantize.layers = {
        {"conv1", Precision::kF32}, {"conv2", Precision::kInt8}, {"head", Precision::kBF16}};
    asked_.fit.samples = FitHash(TensorSamples(samples_), options_);
  }
  void SetUp() override {
    if (!TrainerProblem().empty()) GTEST_SKIP() << TrainerProblem();
  }
  [[nodiscard]] Result<Strategy> Fit(const TrainPlan& plan) const {
    Strategy strategy = asked_;
    strategy.fit.train = plan;
    return FitStrategy(graph_, strategy, TensorSamples(samples_), options_, targets_);
  }
  /// Mean squared distance from the whole model.
  [[nodiscard]] double Distance(const Strategy& strategy) const {
    const auto outputs = [&](const Strategy& candidate) {
      Result<Executable> built =
          Compile(graph_, candidate, targets_, {.threads = 1, .bindings = {{"n", 64}}});
      EXPECT_TRUE(built.ok());
      return std::move(built.value().Run(samples_)[0]);
    };
    Strategy whole;
    whole.target = "reference";
    const Tensor wanted = outputs(whole);
    const Tensor got = outputs(strategy);
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got.size()); ++i) {
      const double off = got.Values<float>()[i] - wanted.Values<float>()[i];
      sum += off * off;
    }
    return sum / static_cast<double>(got.size());
  }

  Graph graph_;
  std::vector<Tensor> samples_;
  TargetRegistry targets_;
  FitOptions options_;
  Strategy asked_;
};

TEST_F(Training, BringsAFittedStudentNearerToTheModel) {
  const TrainPlan plan{.epochs = 8, .batch = 16, .rate = 0.01, .lp = 1};
  const Result<Strategy> fitted = Fit({});
  const Result<Strategy> trained = Fit(plan);
  ASSERT_TRUE(fitted.ok());
  ASSERT_TRUE(trained.ok()) << trained.failure().detail;
  EXPECT_LT(Distance(trained.value()), 0.8 * Distance(fitted.value()));
  const Strategy& strategy = trained.value();
  EXPECT_EQ(strategy.fit.train, plan);
  EXPECT_EQ(strategy.fit.samples, asked_.fit.samples);
  EXPECT_EQ(strategy.quantize.layers, asked_.quantize.layers);
  EXPECT_EQ(strategy.prune, asked_.prune);
  EXPECT_NE(strategy.fit.weights, fitted.value().fit.weights);
  // Steps of integers learn, too.
  EXPECT_NE(strategy.quantize.activations, fitted.value().quantize.activations);
  EXPECT_EQ(Fit(plan).value(), strategy) << "equal bits";
  EXPECT_NE(Fit({.epochs = 8, .batch = 16, .rate = 0.001, .lp = 1}).value().fit.weights,
            strategy.fit.weights);
}

TEST_F(Training, OfFewerSamplesThanABatchTakesThemAll) {
  const Result<Strategy> trained = Fit({.epochs = 1, .batch = 1000});
  ASSERT_TRUE(trained.ok());
  EXPECT_NE(trained.value().fit.weights, Fit({}).value().fit.weights);
}

TEST_F(Training, WhoseLossIsNotFiniteIsAFailure) {
  const Result<Strategy> trained = Fit({.epochs = 20, .batch = 16, .rate = 1e6, .lp = 1e9});
  ASSERT_FALSE(trained.ok());
  EXPECT_EQ(trained.failure().kind, FailureKind::kWrongOutput);
}

TEST_F(Training, WantsOneInputAndOperatorsThatCanBeTrainedThrough) {
  const auto refusal = [](const char* text) -> std::string {
    Graph graph = ParseGraph(text);
    InferTypes(graph);
    try {
      CheckTrainable(graph);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal("graph g { input %x : f32[n,4]\n input %z : f32[n,4]\n"
                    "%y = Add(%x, %z) @sum\n output %y }"),
            "a model that is trained has one input, of f32 and of known rank");
  EXPECT_NE(refusal("graph g { input %x : f32[n,4]\n %y = Sinh(%x) @odd\n output %y }").find("odd"),
            std::string::npos);
  EXPECT_NO_THROW(CheckTrainable(graph_));
}

TEST(TrainPlan, IsInTheJsonOfAStrategyWhereItHasEpochs) {
  Strategy strategy;
  strategy.fit.samples = std::string(64, 'a');
  EXPECT_EQ(ToJson(strategy).find("train"), std::string::npos);
  const std::string before = StrategyHash(strategy);
  strategy.fit.train = {.epochs = 2, .rate = 0.5};
  EXPECT_EQ(StrategyFromJson(ToJson(strategy), "it"), strategy);
  EXPECT_NE(StrategyHash(strategy), before);
}

}  // namespace
}  // namespace msc
