#include "compiler/pipeline/prune.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/compress/distill/trainer.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/prune_budget.h"
#include "compiler/pipeline/samples.h"
#include "tests/support/counting_samples.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

// Convolutions, a residual sum, a depthwise layer, Gemm and a MatMul with its bias apart. Of the
// inner channels (conv1 and expand) the upper half repeats the lower one, so nothing need be lost.
constexpr const char* kNet = R"(graph net {
  input %x : f32[n,4,6,6]
  const %w1 : f32[8,4,3,3] = random 1
  const %b1 : f32[8] = random 2
  const %w2 : f32[4,8,3,3] = random 3
  const %b2 : f32[4] = random 4
  const %w3 : f32[8,4,1,1] = random 5
  const %b3 : f32[8] = random 6
  const %w4 : f32[8,1,3,3] = random 7
  const %b4 : f32[8] = random 8
  const %w5 : f32[6,8] = random 9
  const %b5 : f32[6] = random 10
  const %w6 : f32[6,3] = random 11
  const %b6 : f32[3] = random 12
  const %tokens : i64[3] = [0, 8, 36]
  %c1 = Conv(%x, %w1, %b1) @conv1 {pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2, %b2) @conv2 {pads = [1, 1, 1, 1]}
  %s = Add(%c2, %x) @sum
  %c3 = Conv(%s, %w3, %b3) @expand
  %r3 = Relu(%c3) @relu3
  %c4 = Conv(%r3, %w4, %b4) @depth {group = 8, pads = [1, 1, 1, 1]}
  %t = Reshape(%c4, %tokens) @flat
  %u = Transpose(%t) @turn {perm = [0, 2, 1]}
  %w5t = Transpose(%w5) @weights
  %m0 = MatMul(%u, %w5t) @fc1
  %m1 = Add(%m0, %b5) @fc1_bias
  %m2 = Tanh(%m1) @act
  %y0 = MatMul(%m2, %w6) @fc2
  %y = Add(%y0, %b6) @fc2_bias
  output %y
})";

void RepeatLowerHalf(Graph& graph, const char* constant) {
  const ValueId id = graph.FindValue(constant);
  Tensor tensor = *graph.constant(id);
  const auto values = tensor.MutableValues<float>();
  std::copy_n(values.begin(), values.size() / 2,
              values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  graph.SetConstant(id, std::make_shared<const Tensor>(std::move(tensor)));
}

Graph Net() {
  Graph graph = ParseGraph(kNet);
  for (const char* name : {"w1", "b1", "w3", "b3", "w4", "b4"}) RepeatLowerHalf(graph, name);
  // A constant [8, 6] for fc1: what folding makes of its Transpose.
  const ValueId w5 = graph.FindValue("w5");
  Tensor turned(DType::kF32, {8, 6});
  for (std::size_t i = 0; i < 48; ++i) {
    turned.MutableValues<float>()[i] = graph.constant(w5)->Values<float>()[i % 6 * 8 + i / 6];
  }
  const NodeId weights = graph.FindNode("weights");
  graph.SetInput(graph.FindNode("fc1"), 1, graph.AddConstant("w5_turned", std::move(turned)));
  graph.RemoveNode(weights);
  InferTypes(graph);
  return graph;
}

std::vector<Tensor> Samples(std::int64_t count, std::uint64_t seed) {
  Tensor tensor(DType::kF32, {count, 4, 6, 6});
  Rng rng(seed);
  for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  std::vector<Tensor> samples;
  samples.push_back(std::move(tensor));
  return samples;
}

double LargestDifference(const Graph& a, const Graph& b) {
  const std::vector<Tensor> inputs = Samples(3, 99);
  const std::vector<Tensor> want = Interpret(a, inputs);
  const std::vector<Tensor> got = Interpret(b, inputs);
  double most = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(want[0].size()); ++i) {
    most = std::max<double>(most, std::abs(want[0].Values<float>()[i] - got[0].Values<float>()[i]));
  }
  return most;
}

const PrunePlan kHalf = {{{"conv1", {.units = 8, .keep = {0, 1, 2, 3}}},
                          {"expand", {.units = 8, .keep = {0, 1, 2, 3}}}}};

TEST(PruneReconstruct, RestoresWhatIsRedundantInEveryKindOfLayer) {
  const Graph graph = Net();
  Graph pruned = graph;
  ApplyPrunePlan(kHalf, pruned);
  EXPECT_GT(LargestDifference(graph, pruned), 0.1);
  const PruneCalibration options{.run = {.batch = 16}, .positions = 12, .ridge = 1e-7};
  const std::vector<ReconstructedLayer> layers =
      Reconstruct(graph, kHalf, TensorSamples(Samples(64, 1)), options, Targets(), pruned);
  std::vector<std::string> names;
  for (const ReconstructedLayer& layer : layers) {
    names.push_back(layer.layer);
    EXPECT_LT(layer.error_after, 1e-5) << layer.layer;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"conv2", "expand", "depth", "fc1", "fc2"}));
  EXPECT_GT(layers[0].error_before, 0.1);
  EXPECT_LT(LargestDifference(graph, pruned), 2e-2);
}

TEST(PruneReconstruct, FitsASumOfBranches) {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[n,4,6,6]
    const %w0 : f32[6,4,1,1] = random 1
    const %b0 : f32[6] = random 2
    const %w1 : f32[5,6,1,1] = random 3
    const %b1 : f32[5] = random 4
    const %w2 : f32[5,4,1,1] = random 5
    const %b2 : f32[5] = random 6
    %a = Conv(%x, %w0, %b0) @first
    %b = Conv(%a, %w1, %b1) @second
    %c = Conv(%x, %w2, %b2) @shortcut
    %y = Add(%b, %c) @sum
    output %y
  })");
  InferTypes(graph);
  // 6 linear channels of 4 inputs: 4 of them hold everything.
  const PrunePlan plan{{{"first", {.units = 6, .keep = {0, 2, 3, 5}}}}};
  Graph pruned = graph;
  ApplyPrunePlan(plan, pruned);
  const auto layers =
      Reconstruct(graph, plan, TensorSamples(Samples(32, 3)),
                  {.run = {.batch = 8}, .positions = 20, .ridge = 1e-7}, Targets(), pruned);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].layer, "second");
  EXPECT_LT(LargestDifference(graph, pruned), 1e-2);
}

// A recogniser of sequences: the batch is the second axis from the first Transpose on. The upper
// half of the hidden units repeats the lower one, and nobody but the last layer reads it.
Graph SequenceNet() {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[n,9,6]
    const %w : f32[2,32,6] = random 1
    const %r : f32[2,32,8] = random 2
    const %b : f32[2,64] = splat 0.1
    const %f : f32[16,5] = random 3
    const %g : f32[5] = random 4
    const %s : i64[3] = [0, 0, 16]
    %t = Transpose(%x) @time {perm = [1, 0, 2]}
    %a = LSTM(%t, %w, %r, %b) @lstm {direction = "bidirectional", hidden_size = 8}
    %u = Transpose(%a) @turn {perm = [0, 2, 1, 3]}
    %v = Reshape(%u, %s) @join
    %m = MatMul(%v, %f) @fc
    %o = Add(%m, %g) @fc_bias
    %y = Transpose(%o) @back {perm = [1, 0, 2]}
    output %y
  })");
  for (const char* name : {"w", "r"}) {
    Tensor tensor = *graph.constant(graph.FindValue(name));
    const auto columns = static_cast<std::size_t>(tensor.dims()[2]);
    const auto values = tensor.MutableValues<float>();
    for (std::size_t row = 0; row < 64; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        float& value = values[row * columns + column];
        if (row % 8 >= 4) value = values[(row - 4) * columns + column];
        if (*name == 'r' && column >= 4) value = 0;
      }
    }
    graph.SetConstant(graph.FindValue(name), std::make_shared<const Tensor>(std::move(tensor)));
  }
  InferTypes(graph);
  return graph;
}

TEST(PruneReconstruct, RefitsWhatReadsAnLstm) {
  const Graph graph = SequenceNet();
  const PrunePlan plan = {{{"lstm", {.units = 8, .keep = {0, 1, 2, 3}}}}};
  Graph pruned = graph;
  ApplyPrunePlan(plan, pruned);
  const auto random = [](std::int64_t count, std::uint64_t seed) {
    std::vector<Tensor> samples = {Tensor(DType::kF32, {count, 9, 6})};
    Rng rng(seed);
    for (float& x : samples[0].MutableValues<float>()) x = static_cast<float>(rng.Normal());
    return samples;
  };
  const PruneCalibration options{.run = {.batch = 16}, .positions = 3, .ridge = 1e-7};
  const auto layers =
      Reconstruct(graph, plan, TensorSamples(random(64, 1)), options, Targets(), pruned);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].layer, "fc");
  EXPECT_GT(layers[0].error_before, 0.1);
  EXPECT_LT(layers[0].error_after, 1e-5);
  const std::vector<Tensor> want = Interpret(graph, random(3, 2));
  const std::vector<Tensor> got = Interpret(pruned, random(3, 2));
  for (std::size_t i = 0; i < static_cast<std::size_t>(want[0].size()); ++i) {
    ASSERT_NEAR(got[0].Values<float>()[i], want[0].Values<float>()[i], 2e-2);
  }
  // One of each pair may go for nothing.
  const PruneSpace space(graph);
  const UnitScores obs = ScoreByCalibration(graph, space, ScoreMethod::kObs,
                                            TensorSamples(random(64, 3)), options, Targets());
  ASSERT_EQ(obs.of_unit.size(), 8U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_LT(std::min(obs.of_unit[i], obs.of_unit[i + 4]), 1e-2);
    EXPECT_GT(std::max(obs.of_unit[i], obs.of_unit[i + 4]), 1e-2);
  }
}

TEST(PruneScoreByCalibration, SeesWhatIsRedundant) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const PruneCalibration options{.run = {.batch = 16}, .positions = 12};
  const UnitScores obs = ScoreByCalibration(graph, space, ScoreMethod::kObs,
                                            TensorSamples(Samples(64, 1)), options, Targets());
  EXPECT_TRUE(obs.are_errors);
  for (const char* name : {"conv1", "expand"}) {
    const PruneGroup& group = *space.Find(name);
    int free = 0;
    for (std::size_t i = 0; i < group.units; ++i) {
      free += obs.of_unit[group.first_unit + i] < 1e-2 ? 1 : 0;
    }
    EXPECT_EQ(free, 4) << name;
    // One of each pair.
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_LT(std::min(obs.of_unit[group.first_unit + i], obs.of_unit[group.first_unit + i + 4]),
                1e-2);
    }
  }
  const UnitScores energy = ScoreByCalibration(graph, space, ScoreMethod::kEnergy,
                                               TensorSamples(Samples(64, 1)), options, Targets());
  for (const double score : energy.of_unit) EXPECT_GT(score, 0);
}

TEST(PruneScoreByCalibration, TakesUnitsWhoseReadersNeverVaryForFree) {
  // The bias keeps the second Relu at 0 on all samples.
  Graph graph = ParseGraph(R"(graph main {
    input %x : f32[n,4,6,6]
    const %w1 : f32[6,4,1,1] = random 1
    const %b1 : f32[6] = splat -1e6
    const %w2 : f32[5,6,1,1] = random 2
    const %wy : f32[3,5] = random 3
    %a = Conv(%x, %w1, %b1) @dead
    %r = Relu(%a) @act
    %b = Conv(%r, %w2) @conv2
    %p = GlobalAveragePool(%b) @pool
    %f = Flatten(%p) @flat
    %y = Gemm(%f, %wy) @fc {transB = 1}
    output %y
  })");
  InferTypes(graph);
  const PruneSpace space(graph);
  const UnitScores obs = ScoreByCalibration(graph, space, ScoreMethod::kObs,
                                            TensorSamples(Samples(16, 1)), {}, Targets());
  EXPECT_TRUE(obs.by_weights.empty());
  const PruneGroup& dead = *space.Find("dead");
  for (std::size_t i = 0; i < dead.units; ++i) EXPECT_EQ(obs.of_unit[dead.first_unit + i], 0);
}

/// Mean cross entropy of rows of classes; with the largest of `likely` where there are no labels.
double CrossEntropy(const Tensor& logits, const Tensor& likely, const std::vector<int>& labels) {
  const auto classes = static_cast<std::size_t>(logits.dims().back());
  const auto rows = static_cast<std::size_t>(logits.size()) / classes;
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto own = logits.Values<float>().subspan(row * classes, classes);
    const auto other = likely.Values<float>().subspan(row * classes, classes);
    const auto best = std::max_element(other.begin(), other.end()) - other.begin();
    double all = 0;
    for (const float value : own) all += std::exp(static_cast<double>(value));
    const auto label = labels.empty() ? best : labels[row];
    sum += std::log(all) - own[static_cast<std::size_t>(label)];
  }
  return sum / static_cast<double>(rows);
}

TEST(PruneTaylor, IsTheSlopeOfTheLossSquared) {
  if (const std::string problem = TrainerProblem(); !problem.empty()) GTEST_SKIP() << problem;
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[n,4,6,6]
    const %w1 : f32[6,4,3,3] = random 1
    const %b1 : f32[6] = random 2
    const %wd : f32[6,1,3,3] = random 3
    const %w2 : f32[5,6,1,1] = random 4
    const %w3 : f32[5,3] = random 5
    %c1 = Conv(%x, %w1, %b1) @conv1
    %r1 = Relu(%c1) @relu
    %cd = Conv(%r1, %wd) @depth {group = 6}
    %c2 = Conv(%cd, %w2) @conv2
    %p = GlobalAveragePool(%c2) @pool
    %f = Flatten(%p) @flat
    %y = Gemm(%f, %w3) @head
    output %y
  })");
  InferTypes(graph);
  const PruneSpace space(graph);
  const std::vector<Tensor> samples = Samples(7, 1);
  const std::vector<std::int32_t> labels = {0, 1, 2, 0, 1, 2, 0};
  const PruneGroup& group = *space.Find("conv1");
  ASSERT_EQ(group.units, 6U);
  for (const bool labelled : {false, true}) {
    PruneCalibration options{.run = {.batch = 4}};
    if (labelled) options.labels = labels;
    const UnitScores scores = ScoreByCalibration(graph, space, ScoreMethod::kTaylor,
                                                 TensorSamples(samples), options, Targets());
    EXPECT_TRUE(scores.are_errors);
    for (std::size_t unit = 0; unit < group.units; ++unit) {
      double wanted = 0;  // by differences of the loss, the weights that read the unit being scaled
      for (const std::int64_t first : {0, 4}) {
        const std::int64_t size =
            std::min<std::int64_t>(4, 7 - first);  // a rest counts, by its size
        const std::vector<Tensor> batch = {Rows(samples[0], first, size)};
        const std::vector<int> own(labels.begin() + first, labels.begin() + first + size);
        const Tensor likely = Interpret(graph, batch)[0];
        const auto loss = [&](float factor) {
          Graph scaled = graph;
          Tensor weights = *graph.constant(graph.FindValue("w2"));
          for (std::size_t out = 0; out < 5; ++out) {
            weights.MutableValues<float>()[out * 6 + unit] *= factor;
          }
          scaled.SetConstant(scaled.FindValue("w2"), std::make_shared<const Tensor>(weights));
          return CrossEntropy(Interpret(scaled, batch)[0], likely,
                              labelled ? own : std::vector<int>());
        };
        const double slope = (loss(1.01F) - loss(0.99F)) / 0.02;
        wanted += slope * slope * static_cast<double>(size) / 7;
      }
      EXPECT_NEAR(scores.of_unit[group.first_unit + unit], wanted, 0.02 * wanted + 1e-6) << unit;
    }
  }
  PruneCalibration few{.run = {.batch = 4}, .labels = std::span(labels).first(5)};
  EXPECT_EQ(Refusal([&] {
              (void)ScoreByCalibration(graph, space, ScoreMethod::kTaylor, TensorSamples(samples),
                                       few, Targets());
            }),
            "there are 5 labels for 7 samples");
}

TEST(PruneReconstruct, PutsZerosWhereTheyCostLeastAndMakesUpForThem) {
  const Graph graph = Net();
  PruneCalibration options{.run = {.batch = 16}, .positions = 12, .ridge = 1e-7};
  const std::vector<Tensor> samples = Samples(64, 1);
  for (const char* pattern : {"2:4", "0.5"}) {
    options.sparsity = ParseSparsity(pattern);
    Graph sparse = graph;
    const auto layers = Reconstruct(graph, {}, TensorSamples(samples), options, Targets(), sparse);
    std::vector<std::string> names;
    for (const ReconstructedLayer& layer : layers) {
      if (!layer.zeros) continue;
      names.push_back(layer.layer);
      EXPECT_NEAR(*layer.zeros, 0.5, 0.06) << layer.layer;
    }
    // fc2 has 6 inputs and depth one channel a group: neither can be counted off by four.
    const bool counted = options.sparsity->keep > 0;
    EXPECT_EQ(names, counted ? (std::vector<std::string>{"conv1", "conv2", "expand", "fc1"})
                             : (std::vector<std::string>{"conv1", "conv2", "expand", "depth", "fc1",
                                                         "fc2"}));
    // Half of conv1's channels say what the other half does: there is much to make up with.
    EXPECT_LT(layers[1].error_after, 0.5 * layers[1].error_before + 0.2) << pattern;
    Strategy strategy;
    SetFitted(ChangedConstants(graph, sparse), strategy);
    Graph again = graph;
    ApplyFitted(strategy.fit, again);
    EXPECT_TRUE(SameGraph(again, sparse));
  }
}

TEST(PruneByTime, FindsTheLargestPlanThatIsFastEnough) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const UnitScores scores = ScoreWeights(graph, space, ScoreMethod::kL2, 0);
  const double whole = TotalMacs(graph, space, std::vector<bool>(space.units(), true));
  std::vector<TimedPrunePlan> tried;
  const auto share = [&](const PrunePlan& plan) {
    return TotalMacs(graph, space, KeptUnits(space, plan)) / whole;
  };
  for (const double wanted : {0.3, 0.55, 0.9}) {
    tried.clear();
    const PrunePlan plan =
        ChoosePlanByTime(graph, space, scores, {.least = 0.01}, wanted, share, 20, tried);
    EXPECT_LE(share(plan), wanted);
    for (const TimedPrunePlan& each : tried) {
      EXPECT_TRUE(each.time > wanted || each.time <= share(plan));
    }
    // No plan between the two: of all that the budget of multiply-adds can give, the largest.
    for (double macs = 0.2; macs < 1; macs += 0.01) {
      const double other = share(ChoosePlan(graph, space, scores, {.macs = macs, .least = 0.01}));
      EXPECT_TRUE(other > wanted || other <= share(plan) + 1e-9) << macs;
    }
  }
  tried.clear();
  (void)ChoosePlanByTime(graph, space, scores, {.least = 0.01}, 0.5, share, 3, tried);
  EXPECT_LE(tried.size(), 3U);
  const auto refusal = [&](double wanted, const std::function<double(const PrunePlan&)>& time) {
    return Refusal([&] {
      (void)ChoosePlanByTime(graph, space, scores, {.least = 0.5}, wanted, time, 8, tried);
    });
  };
  EXPECT_NE(refusal(0.5, [](const PrunePlan&) { return 0.9; }).find("takes 0.900000"),
            std::string::npos);
  EXPECT_EQ(refusal(1.5, share), "the share of the time must be above 0 and below 1, not 1.500000");
}

TEST(PruneCalibration, TakesAsMuchMemoryForManySamplesAsForFew) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const PruneCalibration options{
      .run = {.target = "reference", .batch = 16, .calls = 1, .cached_bytes = 0}};
  const CountingSamples first(48, {4, 6, 6});
  const CountingSamples few(48, {4, 6, 6});
  const CountingSamples many(768, {4, 6, 6});
  for (const CountingSamples* samples : {&first, &few, &many}) {  // the first run fills caches
    (void)ScoreByCalibration(graph, space, ScoreMethod::kObs, *samples, options, Targets());
    Graph pruned = graph;
    ApplyPrunePlan(kHalf, pruned);
    (void)Reconstruct(graph, kHalf, *samples, options, Targets(), pruned);
    EXPECT_EQ(samples->most(), 16);
  }
  constexpr double kPlaces = 16384;  // where rows of each batch are kept: 16 bytes a layer
  EXPECT_LE(static_cast<double>(many.grown()), 1.1 * static_cast<double>(few.grown()) + kPlaces);
}

TEST(PruneScoreByCalibration, RefusesBadSamples) {
  const Graph graph = Net();
  const PruneSpace space(graph);
  const auto error = [&](const std::vector<Tensor>& samples) -> std::string {
    try {
      (void)ScoreByCalibration(graph, space, ScoreMethod::kObs, TensorSamples(samples), {},
                               Targets());
    } catch (const UserError& caught) {
      return caught.what();
    }
    return "nothing was thrown";
  };
  std::vector<Tensor> samples = Samples(5, 1);
  samples[0].MutableValues<float>()[3 * 144 + 7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error(samples), "calibration sample 3 of input 'x' holds a value that is not finite");
  EXPECT_EQ(error({}), "the model has 1 inputs but calibration data has 0");
  EXPECT_EQ(error({Tensor(DType::kF32, {0, 4, 6, 6})}), "there is no calibration sample");
  EXPECT_NE(error({Tensor(DType::kF32, {2, 4, 5, 6})}).find("[2,4,5,6]"), std::string::npos)
      << error({Tensor(DType::kF32, {2, 4, 5, 6})});
}

TEST(PruneStrategy, IsAppliedBeforeQuantization) {
  const Graph graph = Net();
  Strategy strategy;
  strategy.target = "reference";
  strategy.prune = kHalf;
  strategy.quantize.layers = {{"conv1", Precision::kBF16}, {"conv2", Precision::kBF16}};
  Graph wanted = graph;
  ApplyPrunePlan(kHalf, wanted);
  const Graph pruned = wanted;
  ApplyQuantizePlan(strategy.quantize, wanted);
  const Graph applied = ApplyStrategy(graph, strategy);
  EXPECT_TRUE(SameGraph(applied, wanted));
  EXPECT_FALSE(SameGraph(applied, pruned));
  Result<Executable> built = Compile(graph, strategy, Targets(), {});
  ASSERT_TRUE(built.ok()) << built.failure().detail;
  EXPECT_EQ(built.value().Run(Samples(1, 5))[0].dims(), (Dims{1, 36, 3}));
}

}  // namespace
}  // namespace msc
