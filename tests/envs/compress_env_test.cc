#include "envs/compress/compress_env.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "gym/core/problem.h"
#include "tests/envs/compress_context.h"

namespace msc::envs {
namespace {

/// Of f32, bf16 and int8.
const std::vector<double> kBitsOfEach = {32, 16, 8};

constexpr const char* kResidual = R"(graph net {
  input %x : f32[n,4,6,6]
  const %w1 : f32[16,4,3,3] = random 1
  const %w2 : f32[16,16,3,3] = random 2
  const %w3 : f32[5,16,1,1] = random 3
  %c1 = Conv(%x, %w1) @conv1 {pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2) @conv2 {pads = [1, 1, 1, 1]}
  %s = Add(%c2, %r1) @sum
  %y = Conv(%s, %w3) @last
  output %y
})";

CompressContext Context(const char* text = kResidual) {
  return ContextOfGraph(text, {"x", "r1", "s", "y"});
}

TEST(CompressEnv, DecidesTheAlignmentLast) {
  CompressContext context = Context();
  const std::size_t said = MakeCompressProblem(context)->decisions().size();
  context.align = 0;
  const auto made = MakeCompressProblem(context);
  const auto& decisions = made->decisions();
  ASSERT_EQ(decisions.size(), said + 1);
  EXPECT_EQ(decisions.back(), (gym::Decision{"align", {"x8", "x16", "x1"}, "align", {8, 16, 1}}));
  gym::Assignment assignment(decisions.size(), 0);
  assignment[0] = 3;  // 0.625 of conv1's 16 channels
  EXPECT_EQ(made->StrategyOf(assignment).prune.groups.at("conv1").keep.size(), 8U);
  assignment.back() = 2;
  EXPECT_EQ(made->StrategyOf(assignment).prune.groups.at("conv1").keep.size(), 10U);
}

TEST(CompressEnv, DecidesChannelsOfGroupsAndPrecisionsOfLayers) {
  const auto made = MakeCompressProblem(Context());
  const std::vector<std::string> precisions = {"f32", "bf16", "int8"};
  // conv1 and conv2 are tied by the sum: one group. Of 16 units, 8 and 16 are multiples of 8.
  EXPECT_EQ(made->decisions(),
            (std::vector<gym::Decision>{{"conv1 channels", {"1", "0.5"}, "density", {1, 0.5}},
                                        {"conv1", precisions, "bits", kBitsOfEach},
                                        {"conv2", precisions, "bits", kBitsOfEach},
                                        {"last", precisions, "bits", kBitsOfEach}}));
  const Strategy strategy = made->StrategyOf({1, 0, 2, 1});
  EXPECT_EQ(strategy.prune.groups.at("conv1").keep.size(), 8U);
  const PrecisionByLayer layers = {
      {"conv1", Precision::kF32}, {"conv2", Precision::kInt8}, {"last", Precision::kBF16}};
  EXPECT_EQ(strategy.quantize.layers, layers);
  EXPECT_EQ(strategy.target, "native");
}

TEST(CompressEnv, LeavesLayersBehindTheFirstAsTheyAre) {
  CompressContext context = Context();
  context.quantize.first_layers = 2;
  const auto made = MakeCompressProblem(context);
  const std::vector<std::string> precisions = {"f32", "bf16", "int8"};
  EXPECT_EQ(made->decisions(),
            (std::vector<gym::Decision>{{"conv1 channels", {"1", "0.5"}, "density", {1, 0.5}},
                                        {"conv1", precisions, "bits", kBitsOfEach},
                                        {"conv2", precisions, "bits", kBitsOfEach}}));
  const PrecisionByLayer layers = {
      {"conv1", Precision::kBF16}, {"conv2", Precision::kInt8}, {"last", Precision::kF32}};
  EXPECT_EQ(made->StrategyOf({1, 1, 2}).quantize.layers, layers);
  EXPECT_EQ(made->Anchors()[3].second, (gym::Assignment{1, 2, 2}));
}

TEST(CompressEnv, LeavesTheScalesOfPrunedModelsToTheSamples) {
  const CompressContext context = Context();
  const auto made = MakeCompressProblem(context);
  const Strategy pruned = made->StrategyOf({1, 2, 2, 2});
  EXPECT_EQ(pruned.fit.samples, context.fit_hash);
  EXPECT_TRUE(pruned.fit.weights.empty());
  EXPECT_TRUE(pruned.quantize.activations.empty());
  // A whole model needs no fit: the strategy is that of Quantize-v0, and so are cached outcomes.
  const Strategy whole = made->StrategyOf({0, 2, 0, 0});
  EXPECT_TRUE(whole.fit.samples.empty());
  EXPECT_EQ(whole.quantize.activations.size(), 2U);
  // Without samples the scales of the whole model have to do.
  CompressContext without = Context();
  without.fit_hash.clear();
  EXPECT_FALSE(MakeCompressProblem(without)->StrategyOf({1, 2, 2, 2}).quantize.activations.empty());
}

TEST(CompressEnv, DecidesAboutInt8LayersWhatQuantizeDoes) {
  CompressContext context = Context();
  context.align = 0;
  context.quantize = {.bits = {8, 2}, .rounding = {"nearest", "reconstruct"}};
  const auto made = MakeCompressProblem(context);
  const auto& decisions = made->decisions();
  ASSERT_EQ(decisions.size(), 6U);
  EXPECT_EQ(decisions[1].choices, (std::vector<std::string>{"f32", "bf16", "int8", "w2a8"}));
  EXPECT_EQ(decisions[4], (gym::Decision{"rounding", {"nearest", "reconstruct"}}));
  EXPECT_EQ(decisions[5].name, "align");
  const Strategy both = made->StrategyOf({3, 3, 2, 0, 1, 0});
  EXPECT_EQ(both.quantize.weights.at("conv1").bits, 2);
  EXPECT_EQ(both.quantize.rounding, "reconstruct");
  EXPECT_EQ(both.prune.groups.at("conv1").keep.size(), 8U);
  EXPECT_EQ(both.fit.samples, context.fit_hash);
  // Rounding alone is fitted, too; without integers there is nothing to round.
  EXPECT_EQ(made->StrategyOf({0, 0, 0, 2, 1, 0}).fit.samples, context.fit_hash);
  EXPECT_TRUE(made->StrategyOf({0, 0, 0, 1, 1, 0}).fit.samples.empty());
  std::vector<std::string> anchors;
  for (const auto& [name, assignment] : made->Anchors()) anchors.push_back(name);
  EXPECT_EQ(anchors, (std::vector<std::string>{"f32", "int8", "0.75 int8", "0.5 int8", "w2a8",
                                               "0.75 w2a8", "0.5 w2a8"}));
}

TEST(CompressEnv, HasUniformBaselines) {
  const auto made = MakeCompressProblem(Context());
  const std::vector<std::pair<std::string, gym::Assignment>> anchors = {{"f32", {0, 0, 0, 0}},
                                                                        {"int8", {0, 2, 2, 2}},
                                                                        {"0.75 int8", {0, 2, 2, 2}},
                                                                        {"0.5 int8", {1, 2, 2, 2}}};
  EXPECT_EQ(made->Anchors(), anchors);
}

TEST(CompressEnv, KnowsThatNothingIsSmallerThanAllChoicesTogether) {
  CompressContext context = Context();
  context.losses = {"distill_loss", "disagreement", "accuracy_drop"};
  const auto bounds = MakeCompressProblem(context)->Prior().LowerBounds();
  EXPECT_EQ(bounds.at("weight_bytes"), 8 * 4 * 9 + 8 * 8 * 9 + 5 * 8);
  for (const char* metric : {"distill_loss", "disagreement"}) {
    EXPECT_EQ(bounds.at(metric), 0) << metric;
  }
  EXPECT_FALSE(bounds.contains("accuracy_drop")) << "compression may add to accuracy";
  for (const char* unknown : {"latency", "latency_ms", "peak_bytes"}) {
    EXPECT_FALSE(bounds.contains(unknown)) << unknown << ": nothing is known of the machine";
  }
  // Where the alignment is decided, too, a group has the least that any of them leaves: 4 of 16.
  CompressContext open = Context();
  open.align = 0;
  EXPECT_EQ(MakeCompressProblem(open)->Prior().LowerBounds().at("weight_bytes"),
            4 * 4 * 9 + 4 * 4 * 9 + 5 * 4);
}

TEST(CompressEnv, KnowsWhatMultiplyingTakesAtLeast) {
  CompressContext context = Context();
  context.roof = [] {
    return ComputeRoof{
        .of_thread = {.f32 = {1e6, ""}, .bf16 = {2e6, ""}, .int8 = {8e6, ""}, .complete = true},
        .threads = 2};
  };
  // Of 6x6 places, a convolution of 3x3 with padding has 16 * 16 of 36 * 9 taps in the image; of
  // these, Winograd multiplies a quarter.
  const auto conv = [](double in, double out) { return 2 * in * out * 16 * 16 / 4; };
  const auto last = [](double in) { return 2 * in * 5 * 36; };
  const double margin = 2;
  EXPECT_DOUBLE_EQ(MakeCompressProblem(context)->Prior().LowerBounds().at("latency_ms"),
                   1e3 * (conv(4, 8) + conv(8, 8) + last(8)) / 8e6 / margin / 2);
  // What cannot be narrow is multiplied in f32.
  context.unsupported["last"] = {Precision::kInt8, Precision::kBF16};
  context.unsupported["conv2"] = {Precision::kInt8};
  EXPECT_DOUBLE_EQ(MakeCompressProblem(context)->Prior().LowerBounds().at("latency_ms"),
                   1e3 * (conv(4, 8) / 8e6 + conv(8, 8) / 2e6 + last(8) / 1e6) / margin / 2);
  // But for what a target is asked to narrow.
  context.target = "native:precision=bf16";
  EXPECT_DOUBLE_EQ(MakeCompressProblem(context)->Prior().LowerBounds().at("latency_ms"),
                   1e3 * (conv(4, 8) / 8e6 + conv(8, 8) / 2e6 + last(8) / 2e6) / margin / 2);
  context.roof = [] { return ComputeRoof{}; };
  EXPECT_FALSE(MakeCompressProblem(context)->Prior().LowerBounds().contains("latency_ms"))
      << "a CPU with faster instructions than were tried";
}

TEST(CompressEnv, BoundsTheTimeOfWhatDependsOnItsInputsAlone) {
  // A product of constants is a constant; one of two inputs may take them as narrow as any layer.
  CompressContext context = Context(R"(graph net {
    input %x : f32[4,4]
    const %w : f32[16,4] = random 1
    const %v : f32[4,16] = random 2
    const %c : f32[64,64] = random 3
    const %d : f32[64,4] = random 4
    %a = Gemm(%x, %w) @first {transB = 1}
    %b = Gemm(%a, %v) @second {transB = 1}
    %p = MatMul(%x, %b) @both
    %q = MatMul(%c, %d) @constants
    output %p
    output %q
  })");
  context.roof = [] {
    return ComputeRoof{
        .of_thread = {.f32 = {1e6, ""}, .bf16 = {1e6, ""}, .int8 = {4e6, ""}, .complete = true}};
  };
  EXPECT_DOUBLE_EQ(MakeCompressProblem(context)->Prior().LowerBounds().at("latency_ms"),
                   1e3 * 2 * (4 * 4 * 8 + 4 * 8 * 4 + 4 * 4 * 4) / 4e6 / 2);
}

TEST(CompressEnv, HasAnotherHashForAllThatChangesTheMeaningOfAChoice) {
  const auto hash = [](const CompressContext& context) {
    return MakeCompressProblem(context)->Hash();
  };
  const std::string before = hash(Context());
  EXPECT_EQ(hash(Context()), before);
  CompressContext other = Context();
  other.fit_hash = std::string(64, 'b');
  EXPECT_NE(hash(other), before) << "samples";
  other = Context();
  other.scales["x"].scale = 0.25;
  EXPECT_NE(hash(other), before) << "scales";
  other = Context();
  other.unit_scores.assign(16, 1.0);
  EXPECT_NE(hash(other), before) << "scores of channels";
  other = Context();
  other.align = 4;
  EXPECT_NE(hash(other), before) << "alignment";
}

TEST(CompressEnv, RefusesWhatHasOnlyOneKindOfDecision) {
  const auto refusal = [](const CompressContext& context) -> std::string {
    try {
      (void)MakeCompressProblem(context);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(Context("graph g { input %x : f32[n,4]\n const %w : f32[2,4] = random 1\n"
                            "%y = Gemm(%x, %w) @fc {transB = 1}\n output %y }")),
            "the model has no channels to prune; search with the env quantize or prune alone");
  EXPECT_EQ(refusal(Context("graph g { input %x : f32[n,4]\n %y = Relu(%x)\n output %y }")),
            "the model has no layer to quantize; search with the env quantize or prune alone");
  CompressContext context = Context();
  context.unit_scores = {1, 2};
  EXPECT_EQ(refusal(context), "there are 2 scores for a model with 16 units to prune");
}

}  // namespace
}  // namespace msc::envs
