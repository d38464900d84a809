#include "gym/app/summary.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

std::string Net(int width) {
  const std::string n = std::to_string(width);
  return "graph net {\n  input %x : f32[n,64]\n  const %w : f32[64," + n +
         "] = random 1\n  const %v : f32[" + n +
         ",64] = random 2\n"
         "  %h = MatMul(%x, %w) @a\n  %y = MatMul(%h, %v) @b\n  output %y\n}";
}

class Summaries : public testing::Test {
 protected:
  Summaries() : targets_(MakeTargets()) {}

  Graph Made(int width) const {
    Graph graph = ParseGraph(Net(width));
    InferTypes(graph);
    return graph;
  }

  /// Summarizes a change of the width, which the strategy calls pruning or does not. `low` to
  /// `high`: interval of its time relative to f32; nothing is known of it if they are 0.
  Summary From(bool pruned, double low = 0, double high = 0) {
    const Graph f32 = Made(64);
    const Graph compressed = Made(8);
    Speed speed{.target = "reference"};
    if (low > 0) speed.latency = {.ratio = (low + high) / 2, .ratio_low = low, .ratio_high = high};
    Strategy strategy;
    if (pruned) strategy.prune.groups["a"] = {.units = 2, .keep = {0}};
    SummaryInput input{.model = "net.onnx",
                       .shapes = {},
                       .f32 = &f32,
                       .compressed = &compressed,
                       .strategy = &strategy,
                       .run = {.target = "reference"},
                       .targets = &targets_,
                       .quality = quality_,
                       .judged = &judged_};
    AppContext context;
    context.words = {"mscgym", "prune", "net.onnx"};
    return Summarize(input, speed, context);
  }

  TargetRegistry targets_;
  JudgeOptions judged_;
  std::optional<cost::Quality> quality_;
};

TEST_F(Summaries, CallWhatIsSlowerAProblemWhereItShouldBeFaster) {
  EXPECT_EQ(
      From(true, 1.01, 1.03).problems,
      std::vector<std::string>{"slower: on reference, 1 thread: 1.020 of the time of f32 (95 % "
                               "interval 1.010 to 1.030), 0.000 ms instead of 0.000"});
  EXPECT_TRUE(From(false, 1.01, 1.03).problems.empty());
  EXPECT_TRUE(From(true, 0.99, 1.03).problems.empty());
  const Summary faster = From(true, 0.5, 0.6);
  EXPECT_TRUE(faster.problems.empty());
  EXPECT_EQ(faster.weight_bytes * 8, faster.f32_weight_bytes);
}

TEST_F(Summaries, SayWhyThereIsNoTime) {
  const Graph graph = Made(64);
  Summary summary = From(true);
  summary.speed = MeasureSpeed(
      {.f32 = &graph, .compressed = &graph, .run = {.target = "reference"}, .targets = &targets_},
      {.skip = true});
  EXPECT_TRUE(summary.problems.empty());
  nlohmann::json json;
  AddSummaryJson(summary, json);
  EXPECT_EQ(json.at("no_latency"), "not measured, because of --no-speed");
  EXPECT_FALSE(json.contains("latency"));
  EXPECT_FALSE(json.contains("quality"));
}

TEST_F(Summaries, GiveEveryProblemItsKind) {
  quality_.emplace().outputs = {
      {.name = "y",
       .kind = OutputKind::kLogits,
       .losses = {{"disagreement", {.value = 5}}, {"relative_error", {.value = 0.01}}}}};
  judged_.limits = {{"relative_error", 0.005}, {"disagreement", 5}};
  const Summary summary = From(true);
  // Three times the limit of 5 % may change.
  EXPECT_EQ(summary.problems,
            std::vector<std::string>{"limit: relative error 0.01, more than the limit 0.005"});
  judged_.limits = {};
  EXPECT_EQ(From(true).problems,
            std::vector<std::string>{
                "suspicious: output 'y' changes its decisions by 5 %, more than 2 %"});
  AppContext context;
  ReportProblems(summary, context);
  EXPECT_EQ(context.exit_code, kExitInfeasible);
}

}  // namespace
}  // namespace msc::gym
