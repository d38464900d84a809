#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/pipeline/compile.h"
#include "envs/compress/compress_env.h"
#include "envs/partition/place_choices.h"
#include "gym/core/problem.h"
#include "tests/envs/compress_context.h"

// What a joint search decides besides channels and precisions.

namespace msc::envs {
namespace {

// Of the multiply-adds conv1 has 18 %, conv2 73 %, last 9 %.
constexpr const char* kChain = R"(graph net {
  input %x : f32[n,4,6,6]
  const %w1 : f32[16,4,3,3] = random 1
  const %w2 : f32[16,16,3,3] = random 2
  const %w3 : f32[18,16,1,1] = random 3
  %p = Relu(%x) @before
  %c1 = Conv(%p, %w1) @conv1 {pads = [1, 1, 1, 1]}
  %r1 = Relu(%c1) @relu1
  %c2 = Conv(%r1, %w2) @conv2 {pads = [1, 1, 1, 1]}
  %s = Add(%c2, %r1) @sum
  %y = Conv(%s, %w3) @last
  output %y
})";

CompressContext Context() {
  return ContextOfGraph(kChain, {"p", "r1", "s", "y"});
}

CompressContext Placed(std::int64_t pieces) {
  CompressContext context = Context();
  context.compress.targets = {"native", "onednn"};
  context.compress.pieces = pieces;
  return context;
}

std::vector<std::string> NamesOf(const std::vector<gym::Decision>& decisions) {
  std::vector<std::string> names;
  for (const gym::Decision& decision : decisions) names.push_back(decision.name);
  return names;
}

TEST(CompressTargets, AreDecidedInFrontOfTheirLayers) {
  const std::vector<std::string> targets = {"native", "onednn"};
  const auto one = MakeCompressProblem(Placed(1));
  EXPECT_EQ(NamesOf(one->decisions()),
            (std::vector<std::string>{"target", "conv1 channels", "conv1", "conv2", "last"}));
  EXPECT_EQ(one->decisions()[0].choices, targets);
  const auto all = MakeCompressProblem(Placed(0));
  EXPECT_EQ(NamesOf(all->decisions()),
            (std::vector<std::string>{"conv1 target", "conv1 channels", "conv1", "conv2 target",
                                      "conv2", "last target", "last"}));
  // The target of the config comes first, wherever it is listed.
  CompressContext other = Placed(1);
  other.compress.targets = {"onednn", "xnnpack", "native"};
  EXPECT_EQ(MakeCompressProblem(other)->decisions()[0].choices,
            (std::vector<std::string>{"native", "onednn", "xnnpack"}));
  // Of one target there is nothing to decide.
  other.compress.targets = {"native"};
  EXPECT_EQ(MakeCompressProblem(other)->Hash(), MakeCompressProblem(Context())->Hash());
}

TEST(CompressTargets, TakePiecesOfEqualWork) {
  const auto names = [](std::int64_t pieces) {
    return NamesOf(PlaceChoices(Placed(pieces).graph, PlacesOf(Placed(pieces))).decisions());
  };
  // The middles of the layers lie at 9, 54 and 95 % of the work.
  EXPECT_EQ(names(2), (std::vector<std::string>{"conv1 target", "conv2 target"}));
  EXPECT_EQ(names(3), (std::vector<std::string>{"conv1 target", "conv2 target", "last target"}));
  EXPECT_EQ(names(100), (std::vector<std::string>{"conv1 target", "conv2 target", "last target"}));
  const PlaceChoices two(Placed(2).graph, PlacesOf(Placed(2)));
  EXPECT_EQ(two.PieceOf(0), 0U);
  EXPECT_EQ(two.PieceOf(1), 1U);
  EXPECT_EQ(two.PieceOf(2), 1U);
}

TEST(CompressTargets, BecomeRegionsOfTheModelAsItIsPruned) {
  const auto made = MakeCompressProblem(Placed(0));
  // conv1 target, channels, conv1, conv2 target, conv2, last target, last
  const Strategy mixed = made->StrategyOf({0, 1, 2, 1, 2, 0, 0});
  EXPECT_EQ(mixed.target, "native");
  ASSERT_EQ(mixed.partition.size(), 3U);
  EXPECT_EQ(mixed.partition[0],
            (PartitionRegion{.nodes = {"before", "conv1", "relu1"}, .target = "native"}));
  EXPECT_EQ(mixed.partition[1], (PartitionRegion{.nodes = {"conv2", "sum"}, .target = "onednn"}));
  EXPECT_EQ(mixed.partition[2], (PartitionRegion{.nodes = {"last"}, .target = "native"}));
  EXPECT_EQ(mixed.prune.groups.at("conv1").keep.size(), 8U);
  EXPECT_EQ(mixed.quantize.layers.at("conv2"), Precision::kInt8);
  // Every region names nodes of what is lowered.
  Graph pruned = *Context().graph;
  Strategy channels;
  channels.prune = mixed.prune;
  const Graph bound = BindSizes(ApplyStrategy(pruned, channels), {});
  for (const PartitionRegion& region : mixed.partition) {
    for (const std::string& node : region.nodes) EXPECT_NE(bound.FindNode(node), kNoNode) << node;
  }
  // Neighbours on one target are one region, and one region is none.
  EXPECT_EQ(made->StrategyOf({0, 0, 0, 1, 0, 1, 0}).partition.size(), 2U);
  const Strategy whole = made->StrategyOf({1, 0, 0, 1, 0, 1, 0});
  EXPECT_EQ(whole.target, "onednn");
  EXPECT_TRUE(whole.partition.empty());
}

TEST(CompressTargets, RuleOutThePrecisionsThatTheyLack) {
  CompressContext context = Placed(0);
  context.unsupported = {{"conv1", {Precision::kBF16}}, {"last", {Precision::kBF16}}};
  context.unsupported_on["onednn"] = {{"conv1", {Precision::kBF16}}, {"conv2", {Precision::kInt8}}};
  const auto made = MakeCompressProblem(context);
  gym::SearchProblem& problem = *made;
  // What none has is not offered.
  EXPECT_EQ(problem.decisions()[2].choices, (std::vector<std::string>{"f32", "int8"}));
  EXPECT_EQ(problem.decisions()[6].choices, (std::vector<std::string>{"f32", "bf16", "int8"}));
  ASSERT_TRUE(problem.masked());
  const auto mask = [&](const gym::Assignment& prefix) { return problem.Mask(prefix); };
  EXPECT_EQ(mask({0, 0, 0, 0}), (std::vector<bool>{true, true, true})) << "conv2 on native";
  EXPECT_EQ(mask({0, 0, 0, 1}), (std::vector<bool>{true, true, false})) << "conv2 on onednn";
  EXPECT_EQ(mask({0, 0, 0, 0, 0, 0}), (std::vector<bool>{true, false, true})) << "last on native";
  EXPECT_EQ(mask({0, 0, 0, 0, 0}), (std::vector<bool>{true, true})) << "targets are free";
  EXPECT_THROW((void)made->StrategyOf({0, 0, 0, 1, 2, 0, 0}), UserError);
  // Baselines keep to that.
  const auto anchors = problem.Anchors();
  const auto last = anchors.back();
  EXPECT_EQ(last.first, "int8 on onednn");
  EXPECT_EQ(last.second, (gym::Assignment{1, 0, 1, 1, 0, 1, 2}));
}

TEST(CompressTargets, HaveBaselinesOfTheirOwnBehindTheOthers) {
  const auto names = [](const CompressContext& context) {
    std::vector<std::string> all;
    const auto made = MakeCompressProblem(context);
    for (const auto& [name, assignment] : made->Anchors()) all.push_back(name);
    return all;
  };
  std::vector<std::string> before = names(Context());
  before.insert(before.end(), {"f32 on onednn", "int8 on onednn"});
  EXPECT_EQ(names(Placed(2)), before);
  // A target that has f32 alone has one.
  CompressContext f32 = Placed(1);
  for (const char* layer : {"conv1", "conv2", "last"}) {
    f32.unsupported_on["onednn"][layer] = {Precision::kBF16, Precision::kInt8};
  }
  before.pop_back();
  EXPECT_EQ(names(f32), before);
}

TEST(CompressTargets, ShowThemselvesInTheFeatures) {
  const PlaceChoices two(Placed(2).graph, PlacesOf(Placed(2)));
  const auto rows = two.Features();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0][0], 0);
  EXPECT_NEAR(rows[0][1] + rows[1][1], 1, 1e-9);
  EXPECT_LT(rows[0][1], rows[1][1]);
  EXPECT_NEAR(rows[1][2], 2.0 / 3, 1e-9);
}

TEST(CompressTargets, AreAsRelevantAsThePrecisionsOfTheirLayers) {
  const auto made = MakeCompressProblem(Placed(0));
  // conv1 target, channels, conv1, conv2 target, conv2, last target, last
  const std::vector<double> work = made->Prior().relevance;
  ASSERT_EQ(work.size(), 7U);
  EXPECT_GT(work[1], 0);
  for (const std::size_t target : {0U, 3U, 5U}) {
    const std::size_t precision = target == 0 ? 2 : target + 1;
    EXPECT_NEAR(work[target], work[precision], 0.02) << target;
  }
  EXPECT_NEAR(work[2] + work[4] + work[6], 1, 1e-9);
}

TEST(CompressTargets, AreInTheHashWithAllThatTheyLack) {
  const auto hash = [](const CompressContext& context) {
    return MakeCompressProblem(context)->Hash();
  };
  const std::string before = hash(Placed(1));
  CompressContext other = Placed(1);
  other.unsupported_on["onednn"] = {{"conv2", {Precision::kInt8}}};
  EXPECT_NE(hash(other), before);
  EXPECT_NE(hash(Placed(2)), hash(Placed(0)));
  other = Placed(1);
  other.compress.targets = {"onednn", "onednn"};
  EXPECT_EQ(hash(other), before) << "each once";
}

// --- schedules -----------------------------------------------------------------------------------

const KernelSchedule kOwn = {.columns = 1};
const KernelSchedule kWide = {.columns = 2};
const KernelSchedule kDeep = {.columns = 3};

/// Kernels that are written wide by themselves in int8, and never deep where channels are gone.
std::vector<ScheduledKernel> KernelsOf(const Strategy& strategy) {
  const auto& layers = strategy.quantize.layers;
  std::vector<ScheduledKernel> kernels;
  for (const char* layer : {"conv1", "conv2"}) {
    ScheduledKernel kernel{.kernel = layer, .layers = {layer}, .flops = 1, .choices = {}};
    kernel.choices = {kOwn, kWide, kDeep};
    if (layers.at(layer) == Precision::kInt8) std::swap(kernel.choices[0], kernel.choices[1]);
    if (!strategy.prune.groups.empty()) kernel.choices.pop_back();
    kernels.push_back(kernel);
  }
  return kernels;
}

CompressContext Scheduled() {
  CompressContext context = Context();
  context.kernels =
      std::make_shared<const std::vector<ScheduledKernel>>(std::vector<ScheduledKernel>{
          {"3x3", {"conv1", "conv2"}, 24, {kOwn, kWide, kDeep}}, {"1x1", {"last"}, 12, {kOwn}}});
  context.kernels_of = KernelsOf;
  return context;
}

TEST(CompressSchedules, AreWishedForBehindTheirFirstLayer) {
  const auto made = MakeCompressProblem(Scheduled());
  const auto& decisions = made->decisions();
  EXPECT_EQ(NamesOf(decisions), (std::vector<std::string>{"conv1 channels", "conv1",
                                                          "conv1 schedule", "conv2", "last"}));
  EXPECT_EQ(decisions[2].choices, (std::vector<std::string>{"default", Name(kWide), Name(kDeep)}));
  const std::map<std::string, KernelSchedule> deep = {{"conv1", kDeep}, {"conv2", kDeep}};
  EXPECT_EQ(made->StrategyOf({0, 0, 2, 0, 0}).schedules, deep);
  EXPECT_TRUE(made->StrategyOf({0, 0, 0, 0, 0}).schedules.empty());
}

TEST(CompressSchedules, StayAwayWhereALayerCannotHaveThemOrHasThemByItself) {
  const auto made = MakeCompressProblem(Scheduled());
  EXPECT_TRUE(made->StrategyOf({1, 0, 2, 0, 0}).schedules.empty()) << "pruned";
  const std::map<std::string, KernelSchedule> wide = {{"conv2", kWide}};
  EXPECT_EQ(made->StrategyOf({0, 2, 1, 0, 0}).schedules, wide) << "conv1 in int8";
  // Then it is the strategy of one that wished for nothing: it is measured once.
  EXPECT_EQ(made->StrategyOf({1, 2, 2, 2, 0}), made->StrategyOf({1, 2, 0, 2, 0}));
}

TEST(CompressSchedules, AreLookedUpWithScalesThatSamplesHaveYetToGive) {
  CompressContext context = Scheduled();
  std::size_t asked = 0;
  context.kernels_of = [&](const Strategy& strategy) {
    ++asked;
    EXPECT_EQ(strategy.prune.groups.size(), 1U);
    EXPECT_TRUE(strategy.quantize.activations.contains("r1"));
    EXPECT_EQ(strategy.fit, FitPlan{});
    return KernelsOf(strategy);
  };
  const auto made = MakeCompressProblem(context);
  const Strategy wished = made->StrategyOf({1, 2, 1, 0, 0});
  EXPECT_TRUE(wished.quantize.activations.empty());
  EXPECT_EQ(wished.fit.samples, context.fit_hash);
  EXPECT_EQ(asked, 1U);
  // Nobody is asked where nothing is wished for.
  (void)made->StrategyOf({1, 2, 0, 0, 0});
  EXPECT_EQ(asked, 1U);
}

TEST(CompressSchedules, AreInTheHash) {
  const std::string before = MakeCompressProblem(Scheduled())->Hash();
  EXPECT_NE(MakeCompressProblem(Context())->Hash(), before);
  CompressContext other = Scheduled();
  other.kernels = std::make_shared<const std::vector<ScheduledKernel>>(
      std::vector<ScheduledKernel>{{"3x3", {"conv1"}, 24, {kOwn, kWide, kDeep}}});
  EXPECT_NE(MakeCompressProblem(other)->Hash(), before);
}

// --- recipes -------------------------------------------------------------------------------------

CompressContext Trained() {
  CompressContext context = Context();
  context.compress.distill = {.epochs = {4, 1}, .rate = {0.001, 0.01}, .batch = 8};
  return context;
}

TEST(CompressRecipes, AreDecidedBehindAllLayers) {
  CompressContext context = Trained();
  context.align = 0;
  const auto made = MakeCompressProblem(context);
  const auto& decisions = made->decisions();
  EXPECT_EQ(NamesOf(decisions),
            (std::vector<std::string>{"conv1 channels", "conv1", "conv2", "last", "distill epochs",
                                      "distill rate", "align"}));
  EXPECT_EQ(decisions[4].choices, (std::vector<std::string>{"epochs 0", "epochs 1", "epochs 4"}));
  EXPECT_EQ(decisions[5].choices, (std::vector<std::string>{"rate 0.001", "rate 0.01"}));
  // Without epochs there is nothing to decide.
  context = Context();
  context.compress.distill = {.epochs = {0}, .rate = {0.001, 0.01}};
  EXPECT_EQ(MakeCompressProblem(context)->Hash(), MakeCompressProblem(Context())->Hash());
}

TEST(CompressRecipes, AreInTheStrategyOfWhatCanLearn) {
  const CompressContext context = Trained();
  const auto made = MakeCompressProblem(context);
  const TrainPlan plan{.epochs = 4, .batch = 8, .rate = 0.01};
  // Trained after it was pruned, or after it was quantized, whose scales the samples give then.
  for (const gym::Assignment& assignment :
       {gym::Assignment{1, 0, 0, 0, 2, 1}, {0, 2, 0, 0, 2, 1}}) {
    const Strategy strategy = made->StrategyOf(assignment);
    EXPECT_EQ(strategy.fit.train, plan);
    EXPECT_EQ(strategy.fit.samples, context.fit_hash);
    EXPECT_TRUE(strategy.quantize.activations.empty());
  }
  // The whole model has nothing to learn from itself, nor have those who are not trained.
  EXPECT_EQ(made->StrategyOf({0, 1, 0, 0, 2, 1}), made->StrategyOf({0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(made->StrategyOf({1, 2, 0, 0, 0, 0}).fit.train, TrainPlan{});
}

TEST(CompressRecipes, OfNoEpochsAreOne) {
  const auto made = MakeCompressProblem(Trained());
  gym::SearchProblem& problem = *made;
  ASSERT_TRUE(problem.masked());
  const auto mask = [&](const gym::Assignment& prefix) { return problem.Mask(prefix); };
  EXPECT_EQ(mask({0, 0, 0, 0, 0}), (std::vector<bool>{true, false}));
  EXPECT_EQ(mask({0, 0, 0, 0, 1}), (std::vector<bool>{true, true}));
  const auto anchors = problem.Anchors();
  EXPECT_EQ(anchors.back().first, "0.5 int8, epochs 4");
  EXPECT_EQ(anchors.back().second, (gym::Assignment{1, 2, 2, 2, 2, 0}));
}

TEST(CompressRecipes, AreInTheHashWithWhatIsNoDecision) {
  const auto hash = [](const CompressContext& context) {
    return MakeCompressProblem(context)->Hash();
  };
  const std::string before = hash(Trained());
  CompressContext other = Trained();
  other.compress.distill.lp = {1};
  EXPECT_NE(hash(other), before);
  other = Trained();
  other.compress.distill.batch = 16;
  EXPECT_NE(hash(other), before);
}

TEST(CompressRecipes, RefuseWhatTheyCannotBeMadeOf) {
  const auto refusal = [](const CompressContext& context) -> std::string {
    try {
      (void)MakeCompressProblem(context);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  };
  CompressContext context = Trained();
  context.fit_hash.clear();
  EXPECT_EQ(refusal(context), "'compress.distill' needs calibration samples to train on");
  context = Trained();
  context.compress.distill.rate = {};
  EXPECT_EQ(refusal(context), "'compress.distill.rate' is empty");
  context = Trained();
  context.compress.distill.lp = {1, 1};
  EXPECT_EQ(refusal(context), "a recipe's 'lp' lists a value twice");
}

}  // namespace
}  // namespace msc::envs
