#include "compiler/pipeline/distill.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/distill_state.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/quantize.h"
#include "compiler/pipeline/samples.h"
#include "tests/support/pipeline.h"

namespace msc {
namespace {

Graph Net() {
  Graph graph = ParseGraph(R"(graph net {
    input %x : f32[n,3,6,6]
    const %w1 : f32[8,3,3,3] = random 1
    const %b1 : f32[8] = random 2
    const %w2 : f32[8,8,3,3] = random 3
    const %b2 : f32[8] = random 4
    const %w3 : f32[8,5] = random 5
    const %b3 : f32[5] = random 6
    %c1 = Conv(%x, %w1, %b1) @conv1 {pads = [1, 1, 1, 1]}
    %r1 = Relu(%c1) @relu1
    %c2 = Conv(%r1, %w2, %b2) @conv2 {pads = [1, 1, 1, 1]}
    %s = Add(%c2, %r1) @sum
    %r2 = Relu(%s) @relu2
    %p = GlobalAveragePool(%r2) @pool
    %f = Flatten(%p) @flat
    %y = Gemm(%f, %w3, %b3) @head
    output %y
  })");
  InferTypes(graph);
  return graph;
}

std::string Folder() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  std::string folder = testing::TempDir() + "pipeline_distill_" + info->name();
  std::filesystem::remove_all(folder);
  MakeFolders(folder);
  return folder + "/";
}

class Distill : public testing::Test {
 protected:
  Distill() : graph_(Net()), samples_({RandomTensor({64, 3, 6, 6}, 7)}), targets_(Targets()) {
    settings_.epochs = 8;
    settings_.batch = 16;
    settings_.rate = 0.02;
    settings_.kl = 0;
    settings_.lp = 1;
  }
  void SetUp() override {
    if (!TrainerProblem().empty()) GTEST_SKIP() << TrainerProblem();
  }
  [[nodiscard]] Student Make(const Strategy& strategy, std::int64_t bits) const {
    return MakeStudent(graph_, strategy, bits, TensorSamples(samples_),
                       {.target = "reference", .batch = 16}, targets_);
  }
  [[nodiscard]] Strategy TrainFor(const Student& student,
                                  const std::vector<DistillFeature>& features = {}) const {
    const TrainProgram teacher = MakeTrainProgram(graph_);
    TrainJob job;
    job.student = &student.program;
    job.teacher = &teacher;
    job.settings = settings_;
    job.features = MatchFeatures(features, graph_, student, teacher);
    job.train.inputs = samples_.data();
    TrainState state;
    const TrainResult result = Train(job, {}, state);
    EXPECT_FALSE(result.stopped);
    return TrainedStrategy(graph_, student, result,
                           DistillHash(graph_, student, settings_, features, {}, job.train));
  }
  [[nodiscard]] double Lost(const Strategy& strategy) const {
    return Distance(Interpret(graph_, samples_)[0],
                    Interpret(ApplyStrategy(graph_, strategy), samples_)[0]);
  }
  [[nodiscard]] Tensor ValueIn(const Graph& graph, const std::string& name) const {
    std::optional<Tensor> found;
    (void)Interpret(graph, samples_, [&](ValueId value, const Tensor& tensor) {
      if (graph.value(value).name == name) found = tensor;
    });
    return found.value();
  }
  static double Distance(const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(a.size()); ++i) {
      sum += std::pow(a.Values<float>()[i] - b.Values<float>()[i], 2);
    }
    return sum / static_cast<double>(a.size());
  }

  Graph graph_;
  std::vector<Tensor> samples_;
  TargetRegistry targets_;
  TrainSettings settings_;
};

TEST_F(Distill, TrainsWhatPruningLeft) {
  Strategy strategy;
  strategy.prune.groups["conv1"] = {.units = 8, .keep = {0, 2, 5, 7}};
  const Student student = Make(strategy, 0);
  const Strategy trained = TrainFor(student);
  EXPECT_LT(Lost(trained), 0.2 * Lost(student.strategy));
  EXPECT_EQ(trained, TrainFor(student));

  // The strategy's files bring back the same bits, in a graph with the smaller shapes.
  const std::string file = Folder() + "trained.json";
  SaveStrategy(trained, file);
  const Strategy read = LoadStrategy(file);
  EXPECT_EQ(read, trained);
  const Graph graph = ApplyStrategy(graph_, read);
  EXPECT_TRUE(SameGraph(graph, ApplyStrategy(graph_, trained)));
  const Node& conv = graph.node(graph.FindNode("conv1"));
  EXPECT_EQ(graph.constant(conv.inputs[1])->dims(), (Dims{4, 3, 3, 3}));
  // They are the trainer's own: it computes the same from them.
  const Student again = Make(read, 0);
  EXPECT_LT(Distance(RunProgram(again.program, samples_)[0], Interpret(graph, samples_)[0]), 1e-9);
  for (const FittedWeight& weight : read.fit.values->weights) {
    bool found = false;
    for (const TrainConstant& constant : again.program.constants) {
      const auto values = weight.values.Values<float>();
      found = found || std::equal(values.begin(), values.end(), constant.values.begin(),
                                  constant.values.end());
    }
    EXPECT_TRUE(found) << weight.node;
  }

  // Channels that stay are matched with those of the teacher, layer by layer.
  const std::vector<DistillFeature> layers = LayerwiseFeatures(student);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_EQ(layers[0].student, "r1");
  EXPECT_EQ(layers[1].student, "r2");
  const auto terms = MatchFeatures(layers, graph_, student, MakeTrainProgram(graph_));
  EXPECT_EQ(terms[1].keep, (std::vector<std::int64_t>{0, 2, 5, 7}));
  EXPECT_LT(Lost(TrainFor(student, layers)), 0.8 * Lost(student.strategy));
  EXPECT_EQ(Refusal([&] {
              (void)MatchFeatures(std::vector<DistillFeature>{{"r1", "z"}}, graph_, student,
                                  student.program);
            }),
            "the model computes no value 'z' in 32-bit floats");
}

std::vector<std::string> Ends(const std::string& text) {
  Student student;
  student.plain = ParseGraph(text);
  InferTypes(student.plain);
  std::vector<std::string> names;
  for (const DistillFeature& feature : BlockwiseFeatures(student)) {
    EXPECT_EQ(feature.teacher, feature.student);
    EXPECT_TRUE(feature.replace);
    names.push_back(feature.student);
  }
  return names;
}

TEST(BlockwiseFeatures, AreWhereOneValueIsAllThatFollowsDependsOn) {
  // A residual block of two layers, one of three with a layer on its shortcut, and what is left.
  EXPECT_EQ(Ends(R"(graph net {
    input %x : f32[n,4,6,6]
    const %w : f32[4,4,1,1] = random 1
    const %h : f32[4,2] = random 2
    %a1 = Conv(%x, %w) @a1
    %a2 = Conv(%a1, %w) @a2
    %a = Add(%a2, %x) @a
    %ra = Relu(%a) @ra
    %shortcut = Conv(%ra, %w) @shortcut
    %b1 = Conv(%ra, %w) @b1
    %b2 = Conv(%b1, %w) @b2
    %b = Add(%b2, %shortcut) @b
    %rb = Relu(%b) @rb
    %p = GlobalAveragePool(%rb) @pool
    %f = Flatten(%p) @flat
    %y = Gemm(%f, %h) @head
    output %y
  })"),
            (std::vector<std::string>{"ra", "rb"}));
  // A chain: pairs. The last layer gives the output, which has losses of its own.
  EXPECT_EQ(Ends(R"(graph chain {
    input %x : f32[n,4]
    const %w : f32[4,4] = random 1
    %a = Gemm(%x, %w) @a
    %b = Gemm(%a, %w) @b
    %c = Gemm(%b, %w) @c
    %y = Gemm(%c, %w) @d
    output %y
  })"),
            (std::vector<std::string>{"b"}));
  // Something that the end reads, too, keeps all of it together.
  EXPECT_EQ(Ends(R"(graph held {
    input %x : f32[n,4]
    const %w : f32[4,4] = random 1
    %a = Gemm(%x, %w) @a
    %b = Gemm(%a, %w) @b
    %c = Gemm(%b, %w) @c
    %y = Add(%c, %x) @sum
    output %y
  })"),
            std::vector<std::string>{});
}

TEST_F(Distill, TrainsBlocksByThemselves) {
  settings_.lp = 0;  // what is learned is what leaves the block
  settings_.rate = 0.003;
  settings_.epochs = 30;
  const Student student = Make({}, 4);
  const std::vector<DistillFeature> blocks = BlockwiseFeatures(student);
  ASSERT_EQ(blocks.size(), 1U);
  EXPECT_EQ(blocks[0].student, "r2");
  const Strategy trained = TrainFor(student, blocks);
  const auto lost_behind_block = [&](const Strategy& strategy) {
    return Distance(ValueIn(graph_, "r2"), ValueIn(ApplyStrategy(graph_, strategy), "r2"));
  };
  EXPECT_LT(lost_behind_block(trained), 0.9 * lost_behind_block(student.strategy));
  // The head is fed by the teacher, and nothing is asked of it.
  const std::vector<double>& before = student.strategy.quantize.weights.at("head").scales;
  const std::vector<double>& after = trained.quantize.weights.at("head").scales;
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6 * before[i]);
}

TEST_F(Distill, TrainsWithTheRoundingOfFewBits) {
  for (const std::int64_t bits : {8, 4}) {
    const Student student = Make({}, bits);
    EXPECT_EQ(student.strategy.quantize.weights.size(), bits == 8 ? 0U : 3U);
    // The student computes as the graph that is deployed, before and after.
    const auto both = [&](const Student& of) {
      return Distance(RunProgram(of.program, samples_)[0],
                      Interpret(ApplyStrategy(graph_, of.strategy), samples_)[0]);
    };
    EXPECT_LT(both(student), 1e-3 * Lost(student.strategy));
    settings_.rate = 0.003;
    settings_.epochs = 12;
    const Strategy trained = TrainFor(student);
    EXPECT_LT(Lost(trained), 0.7 * Lost(student.strategy)) << bits;
    EXPECT_NE(trained.quantize.activations, student.strategy.quantize.activations);
    ASSERT_EQ(trained.quantize.weights.size(), 3U);
    const std::string file = Folder() + "trained.json";
    SaveStrategy(trained, file);
    const Strategy read = LoadStrategy(file);
    EXPECT_EQ(read, trained);
    EXPECT_LT(both(Make(read, 0)), 1e-3 * Lost(trained));
    const Graph graph = ApplyStrategy(graph_, read);
    std::int8_t most = 0;
    for (const ValueId id : graph.constants()) {
      if (graph.constant(id)->dtype() != DType::kI8) continue;
      for (const std::int8_t q : graph.constant(id)->Values<std::int8_t>()) {
        most = std::max(most, static_cast<std::int8_t>(std::abs(q)));
      }
    }
    EXPECT_LE(most, bits == 8 ? 127 : 7);
    EXPECT_GE(most, bits == 8 ? 100 : 7);
  }
  Strategy broken;
  broken.quantize = Make({}, 8).strategy.quantize;
  broken.quantize.weights["conv1"] = {.bits = 4, .scales = {1.0}};
  EXPECT_EQ(Refusal([&] { (void)ApplyStrategy(graph_, broken); }),
            "quantize plan: the weight grid of layer 'conv1' has 1 scales for 8 output channels");
}

TEST_F(Distill, TrainsWithZeroPoints) {
  QuantizeOptions options;
  options.bits = 4;
  options.scales = {.method = "minmax", .affine = true};
  const Strategy strategy =
      QuantizeModel(graph_, {}, TensorSamples(samples_), options, {.target = "reference"}, targets_)
          .strategy;
  const auto zero_point = [](const Strategy& of) {
    return of.quantize.activations.at("x").zero_point;
  };
  EXPECT_GT(zero_point(strategy), 64);
  EXPECT_LT(zero_point(strategy), 192);
  const auto both = [&](const Student& of) {
    return Distance(RunProgram(of.program, samples_)[0],
                    Interpret(ApplyStrategy(graph_, of.strategy), samples_)[0]);
  };
  EXPECT_LT(both(Make(strategy, 0)), 1e-3 * Lost(strategy));
  settings_.rate = 0.003;
  const Strategy trained = TrainFor(Make(strategy, 0));
  EXPECT_LT(Lost(trained), 0.7 * Lost(strategy));
  EXPECT_NE(trained.quantize.activations.at("x").scale,
            strategy.quantize.activations.at("x").scale);
  EXPECT_EQ(zero_point(trained), zero_point(strategy));
  EXPECT_LT(both(Make(trained, 0)), 1e-3 * Lost(trained));
}

TEST_F(Distill, TrainsWeightsWithAScaleForEveryGroup) {
  QuantizeOptions options;
  options.activations = Precision::kF32;
  options.bits = 2;
  options.group = 4;
  const Strategy strategy =
      QuantizeModel(graph_, {}, TensorSamples(samples_), options, {.target = "reference"}, targets_)
          .strategy;
  // Of an image layer, of one whose channels are the last axis, and one that 4 does not divide.
  EXPECT_EQ(strategy.quantize.weights.at("conv2").group, 4);
  EXPECT_EQ(strategy.quantize.weights.at("head").group, 4);
  EXPECT_EQ(strategy.quantize.weights.at("conv1").group, 0);
  const auto both = [&](const Student& of) {
    return Distance(RunProgram(of.program, samples_)[0],
                    Interpret(ApplyStrategy(graph_, of.strategy), samples_)[0]);
  };
  const Student student = Make(strategy, 0);
  EXPECT_LT(both(student), 1e-6 * Lost(strategy));
  const Strategy trained = TrainFor(student);
  EXPECT_LT(Lost(trained), 0.7 * Lost(strategy));
  for (const auto& [layer, grid] : trained.quantize.weights) {
    const WeightGrid& before = strategy.quantize.weights.at(layer);
    EXPECT_EQ(grid.group, before.group) << layer;
    EXPECT_EQ(grid.scales.size(), before.scales.size()) << layer;
    EXPECT_NE(grid.scales, before.scales) << layer;
  }
  EXPECT_LT(both(Make(trained, 0)), 1e-6 * Lost(strategy));

  // Weights that were narrow before the plan stay as they are.
  Strategy first;
  first.quantize.weights["head"] = strategy.quantize.weights.at("head");
  const Graph narrow = ApplyStrategy(graph_, first);
  Strategy second;
  second.quantize.weights["conv2"] = strategy.quantize.weights.at("conv2");
  const Student mixed = MakeStudent(narrow, second, 0, TensorSamples(samples_),
                                    {.target = "reference", .batch = 16}, targets_);
  for (const TrainParameter& parameter : mixed.program.parameters) {
    const bool is_head = parameter.names[0] == std::pair<std::string, std::int64_t>("head", 1);
    EXPECT_FALSE(is_head);
  }
}

TEST(TrainStateFile, HoldsEveryBitAndShowsDamage) {
  TrainState state;
  state.step = 12;
  state.running_loss = 1.0 / 3;
  state.parameters = {{1.5F, -0.0F}, {}, {3e-40F}};
  state.first = {{1, 2}, {}, {3}};
  state.best = {{4, 5}, {}, {6}};
  state.best_validation = 0.1;
  state.stale = 2;
  state.epochs = {{0.5, 0.25}, {0.1, 0.2}};
  const std::string hash(64, 'a');
  const std::string file = Folder() + "state";
  SaveTrainState(file, state, hash);
  const TrainState read = LoadTrainState(file, hash);
  EXPECT_EQ(read.step, state.step);
  EXPECT_EQ(read.running_loss, state.running_loss);
  EXPECT_EQ(read.parameters, state.parameters);
  EXPECT_TRUE(std::signbit(read.parameters[0][1]));
  EXPECT_EQ(read.first, state.first);
  EXPECT_TRUE(read.second.empty());
  EXPECT_EQ(read.best, state.best);
  EXPECT_EQ(read.best_validation, state.best_validation);
  EXPECT_EQ(read.stale, state.stale);
  ASSERT_EQ(read.epochs.size(), 2U);
  EXPECT_EQ(read.epochs[1].validation, 0.2);

  EXPECT_EQ(Refusal([&] { (void)LoadTrainState(file, std::string(64, 'b')); }),
            "'" + file +
                "': it belongs to a training of another model, on other samples or with "
                "other settings");
  const std::string bytes = ReadFile(file);
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x04);
    WriteFileAtomic(file, damaged);
    EXPECT_NE(Refusal([&] { (void)LoadTrainState(file, hash); }), "accepted") << i;
    WriteFileAtomic(file, bytes.substr(0, i));
    EXPECT_NE(Refusal([&] { (void)LoadTrainState(file, hash); }), "accepted") << i;
  }
}

}  // namespace
}  // namespace msc
