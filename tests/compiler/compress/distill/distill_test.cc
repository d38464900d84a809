#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/compress/distill/trainer.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "tests/contract/op_cases.h"

namespace msc {
namespace {

template <class Call>
std::string MessageOf(const Call& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

Graph Parse(const std::string& text) {
  Graph graph = ParseGraph(text);
  InferTypes(graph);
  return graph;
}

Tensor Normal(const Dims& dims, std::uint64_t seed) {
  Tensor tensor(DType::kF32, dims);
  Rng rng(seed);
  for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  return tensor;
}

class WithTrainer : public testing::Test {
 protected:
  void SetUp() override {
    if (!TrainerProblem().empty()) GTEST_SKIP() << TrainerProblem();
  }
};

/// The first input is the graph's, what follows are constants; nullopt unless all is f32.
std::optional<Graph> GraphOf(const OpCase& op_case) {
  if (op_case.inputs.empty() || !op_case.inputs[0]) return std::nullopt;
  Graph graph;
  Node node;
  node.name = "node";
  node.op = op_case.op;
  node.attrs = op_case.attrs;
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    const auto& input = op_case.inputs[i];
    const std::string name = "in" + std::to_string(i);
    if (!input) {
      node.inputs.push_back(kNoValue);
    } else if (i == 0) {
      ValueType type;
      type.dtype = input->dtype();
      type.shape = ToShape(input->dims());
      node.inputs.push_back(graph.AddInput(name, type));
    } else {
      node.inputs.push_back(graph.AddConstant(name, *input));
    }
  }
  if (op_case.inputs[0]->dtype() != DType::kF32) return std::nullopt;
  // The others of a normalisation cannot be trained through.
  const std::size_t count = op_case.op == "LayerNormalization" ? 1 : op_case.outputs;
  for (std::size_t i = 0; i < count; ++i) {
    node.outputs.push_back(graph.AddValue("out" + std::to_string(i), {}));
  }
  const std::vector<ValueId> outputs = node.outputs;
  graph.AddNode(std::move(node));
  for (const ValueId id : outputs) graph.AddOutput(id);
  InferTypes(graph);
  for (const ValueId id : outputs) {
    if (graph.type(id).dtype != DType::kF32) return std::nullopt;
  }
  return graph;
}

TEST_F(WithTrainer, ComputesEveryOperatorAsTheReferenceDoes) {
  std::set<std::string> computed;
  std::set<std::string> refused;
  for (const OpCase& op_case : OpCases()) {
    if (!op_case.domain.empty()) continue;
    const auto graph = GraphOf(op_case);
    if (!graph) continue;
    TrainProgram program;
    try {
      program = MakeTrainProgram(*graph);
    } catch (const UserError& error) {
      const std::string text = error.what();
      if (text.find("cannot be trained through") == std::string::npos) {
        refused.insert(op_case.label);
      }
      continue;
    }
    computed.insert(op_case.op);
    SCOPED_TRACE(op_case.label);
    const std::vector<Tensor> inputs = {*op_case.inputs[0]};
    const std::vector<Tensor> want = Interpret(*graph, inputs);
    const std::vector<Tensor> got = RunProgram(program, inputs);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      ASSERT_EQ(got[k].dims(), want[k].dims());
      for (std::size_t i = 0; i < static_cast<std::size_t>(want[k].size()); ++i) {
        const float wanted = want[k].Values<float>()[i];
        EXPECT_NEAR(got[k].Values<float>()[i], wanted, 2e-5F * (1 + std::abs(wanted)));
      }
    }
  }
  EXPECT_GE(computed.size(), 46U);
  // Uneven padding that does not count, dilated means, reflection, wrapping, steps backward.
  EXPECT_EQ(refused,
            (std::set<std::string>{"AveragePool", "AveragePoolDilated", "AveragePoolDilatedInside",
                                   "PadReflect", "PadWrap", "Slice"}));
}

TEST(TrainProgram, TrainsWeightsAndNothingElse) {
  const Graph graph = Parse(R"(graph net {
    input %x : f32[n,2,4,4]
    const %w : f32[3,2,1,1] = random 1
    const %b : f32[3] = random 2
    const %s : f32[3] = random 3
    const %m : f32[3] = splat 0.0
    const %v : f32[3] = splat 1.0
    const %half : f32[1] = [0.5]
    const %bias : f32[1,3,1,1] = random 4
    %c = Conv(%x, %w, %b) @conv
    %d = Conv(%x, %w) @twin
    %e = BatchNormalization(%c, %s, %b, %m, %v) @norm
    %f = Add(%e, %half) @formula
    %g = Add(%f, %bias) @bias
    %y = Add(%g, %d) @sum
    output %y
  })");
  const TrainProgram program = MakeTrainProgram(graph);
  std::vector<std::vector<std::pair<std::string, std::int64_t>>> names;
  for (const TrainParameter& parameter : program.parameters) names.push_back(parameter.names);
  using Names = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(
      names,
      (std::vector<Names>{
          {{"conv", 1}, {"twin", 1}}, {{"conv", 2}, {"norm", 2}}, {{"norm", 1}}, {{"bias", 1}}}));
}

TEST(TrainProgram, RefusesByName) {
  const auto message = [](const std::string& node) {
    return MessageOf([&] {
      (void)MakeTrainProgram(Parse("graph g {\n input %x : f32[a,b]\n const %k : i64[1] = [2]\n" +
                                   node + "\n output %y\n}"));
    });
  };
  EXPECT_EQ(message("%y, %i = TopK(%x, %k) @top"),
            "node 'top' (TopK): this operator cannot be trained through");
  EXPECT_EQ(
      message("%y = Unsqueeze(%x, %k) @wide"),
      "node 'wide' (Unsqueeze): makes a shape [a,b,1] of which more than the batch is unknown; "
      "give the model its sizes with --shape");
}

TEST(TrainSettings, GiveARateAndAnOrder) {
  TrainSettings settings;
  settings.rate = 2;
  settings.warmup = 0.1;
  EXPECT_DOUBLE_EQ(RateAt(settings, 0, 100, 10), 2.0 / 11);
  EXPECT_DOUBLE_EQ(RateAt(settings, 9, 100, 10), 20.0 / 11);
  EXPECT_DOUBLE_EQ(RateAt(settings, 10, 100, 10), 2);
  EXPECT_DOUBLE_EQ(RateAt(settings, 55, 100, 10), 1);
  settings.schedule = "step";
  settings.step_epochs = 2;
  EXPECT_DOUBLE_EQ(RateAt(settings, 19, 100, 10), 2);
  EXPECT_DOUBLE_EQ(RateAt(settings, 20, 100, 10), 0.2);
  EXPECT_NEAR(RateAt(settings, 45, 100, 10), 0.02, 1e-12);
  settings.schedule = "constant";
  EXPECT_DOUBLE_EQ(RateAt(settings, 99, 100, 10), 2);

  std::vector<std::int64_t> order = EpochOrder(1, 0, 1000);
  EXPECT_EQ(order, EpochOrder(1, 0, 1000));
  EXPECT_NE(order, EpochOrder(1, 1, 1000));
  EXPECT_NE(order, EpochOrder(2, 0, 1000));
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

/// y = x w with one number.
TrainProgram OneWeight(float weight) {
  Graph graph;
  ValueType type;
  type.dtype = DType::kF32;
  type.shape = Shape{Dim::Symbol("n"), 1};
  Node node;
  node.name = "layer";
  node.op = "MatMul";
  const std::vector<float> values = {weight};
  node.inputs = {graph.AddInput("x", type),
                 graph.AddConstant("w", Tensor::From<float>(DType::kF32, {1, 1}, values))};
  node.outputs = {graph.AddValue("y", type)};
  const ValueId y = node.outputs[0];
  graph.AddNode(std::move(node));
  graph.AddOutput(y);
  return MakeTrainProgram(graph);
}

/// One step on one sample, x = 2.
TrainResult StepOnce(const TrainProgram& student, const TrainProgram& teacher,
                     const std::string& optimizer) {
  const std::vector<float> x = {2};
  const Tensor inputs = Tensor::From<float>(DType::kF32, {1, 1}, x);
  TrainJob job;
  job.student = &student;
  job.teacher = &teacher;
  job.train.inputs = &inputs;
  job.settings.epochs = 1;
  job.settings.batch = 1;
  job.settings.warmup = 0;
  job.settings.schedule = "constant";
  job.settings.optimizer = optimizer;
  job.settings.momentum = 0.5;
  job.settings.rate = 0.01;
  job.settings.kl = 0;
  job.settings.lp = 1;
  TrainState state;
  return Train(job, {}, state);
}

TEST_F(WithTrainer, TakesTheStepsOfTheBook) {
  // Loss (2 w - 2 t)^2 with w = 3, t = 1: 16, and its gradient 8 (w - t) = 16.
  const TrainResult sgd = StepOnce(OneWeight(3), OneWeight(1), "sgd");
  EXPECT_FLOAT_EQ(sgd.values.at(0).at(0), 3 - 0.01F * (16 + 0.5F * 16));
  EXPECT_FLOAT_EQ(static_cast<float>(sgd.epochs.at(0).loss), 16);
  const TrainResult adam = StepOnce(OneWeight(3), OneWeight(1), "adam");
  EXPECT_NEAR(adam.values.at(0).at(0), 3 - 0.01, 1e-6);

  // The same with w rounded to steps of s = 0.8 (4 steps: 3.2) and clamped to 7 of them.
  for (const float weight : {3.0F, 9.0F}) {
    TrainProgram student = OneWeight(weight);
    student.constants.push_back({student.slots++, {1}, {0.8F}});
    TrainOp round;
    round.op = "QuantizeWeights";
    round.node = "round";
    round.in = {student.constants[0].slot, student.constants[1].slot};
    round.ints = {1, -7, 7, 1};
    round.out = {student.slots++};
    student.ops[0].in[1] = round.out[0];
    student.ops.insert(student.ops.begin(), round);
    student.parameters.push_back({ParameterKind::kWeightStep, 1, {{"layer", 0}}});
    const TrainResult result = StepOnce(student, OneWeight(1), "sgd");
    const double steps = std::min(7.0, std::nearbyint(weight / 0.8));
    const double gradient = 8 * (steps * 0.8 - 1);
    const bool inside = weight < 7 * 0.8;
    EXPECT_NEAR(result.values.at(0).at(0), weight - (inside ? 0.015 * gradient : 0.0), 1e-5);
    // Equations 1 to 3 of LSQ, by the logarithm of the step.
    const double slope = (inside ? steps - weight / 0.8 : 7.0) / std::sqrt(7.0);
    const double step = 0.8 * std::exp(-0.015 * 0.8 * slope * gradient);
    EXPECT_NEAR(result.values.at(1).at(0), step, 1e-5);
  }
}

const char* const kNet = R"(graph net {
    input %x : f32[n,3,6,6]
    const %w1 : f32[4,3,3,3] = random SEED1
    const %b1 : f32[4] = random SEED2
    const %w2 : f32[4,5] = random SEED3
    const %b2 : f32[5] = random SEED4
    %c = Conv(%x, %w1, %b1) @conv
    %r = Relu(%c) @relu
    %p = GlobalAveragePool(%r) @pool
    %f = Flatten(%p) @flat
    %y = Gemm(%f, %w2, %b2) @head
    output %y
  })";

TrainProgram Net(int seed) {
  std::string text = kNet;
  for (int i = 1; i <= 4; ++i) {
    const std::string mark = "SEED" + std::to_string(i);
    text.replace(text.find(mark), mark.size(), std::to_string(seed * 10 + i));
  }
  return MakeTrainProgram(Parse(text));
}

struct NetJob {
  TrainProgram student = Net(1);
  TrainProgram teacher = Net(2);
  Tensor inputs = Normal({40, 3, 6, 6}, 5);
  Tensor validation = Normal({16, 3, 6, 6}, 6);
  TrainJob job;

  NetJob() {
    job.student = &student;
    job.teacher = &teacher;
    job.train.inputs = &inputs;
    job.settings.batch = 8;
    job.settings.epochs = 6;
    job.settings.rate = 0.02;
    job.settings.lp = 1;
    job.settings.seed = 3;
  }
};

double LastOverFirst(const TrainResult& result) {
  return result.epochs.back().loss / result.epochs.front().loss;
}

TEST_F(WithTrainer, GoesOnWhereItStoppedBitForBit) {
  NetJob net;
  net.job.validation.inputs = &net.validation;
  net.job.settings.clip = 5;
  net.job.settings.decay = 0.01;
  TrainState whole;
  const TrainResult wanted = Train(net.job, {}, whole);
  EXPECT_FALSE(wanted.stopped);
  EXPECT_EQ(wanted.epochs.size(), 6U);
  EXPECT_LT(LastOverFirst(wanted), 0.7);
  TrainState again;
  EXPECT_EQ(Train(net.job, {}, again).values, wanted.values);

  // Stopped after the teacher has run, in the middle of an epoch, at its end; then by a hook that
  // fails.
  TrainState state;
  for (const std::int64_t stop_at : {0, 7, 10, 23}) {
    TrainHooks hooks;
    std::int64_t saved = -1;
    hooks.progress = [&](const TrainProgress& progress) {
      const bool trains = std::string(progress.phase) == "train";
      return stop_at == 0 ? false : !trains || progress.done < stop_at;
    };
    hooks.checkpoint = [&](const TrainState& reached) { saved = reached.step; };
    const TrainResult part = Train(net.job, hooks, state);
    EXPECT_TRUE(part.stopped);
    EXPECT_EQ(state.step, stop_at);
    EXPECT_EQ(saved, stop_at);
  }
  TrainHooks failing;
  failing.checkpoint = [](const TrainState&) { throw SystemError("disk full"); };
  EXPECT_EQ(MessageOf([&] { (void)Train(net.job, failing, state); }), "disk full");
  const TrainResult rest = Train(net.job, {}, state);
  EXPECT_EQ(rest.values, wanted.values);
  EXPECT_EQ(state.parameters, whole.parameters);
  ASSERT_EQ(rest.epochs.size(), wanted.epochs.size());
  for (std::size_t i = 0; i < rest.epochs.size(); ++i) {
    EXPECT_EQ(rest.epochs[i].loss, wanted.epochs[i].loss);
    EXPECT_EQ(rest.epochs[i].validation, wanted.epochs[i].validation);
  }
  // An epoch that makes it worse is not what is handed over, and none of them ends it early.
  net.job.settings.rate = 3;
  net.job.settings.schedule = "constant";
  net.job.settings.patience = 1;
  TrainState wild;
  const TrainResult stale = Train(net.job, {}, wild);
  EXPECT_LT(stale.epochs.size(), 6U);
  EXPECT_EQ(wild.stale, 1);
  EXPECT_NE(stale.values[0], wild.parameters[0]);
  EXPECT_EQ(stale.values[0], wild.best[0]);
}

TEST_F(WithTrainer, KeepsZerosOfWeightsWhereAskedTo) {
  for (const std::string optimizer : {"adam", "sgd"}) {
    NetJob net;
    for (TrainConstant& constant : net.student.constants) {
      for (std::size_t i = 0; i < constant.values.size(); i += 3) constant.values[i] = 0;
    }
    net.job.settings.optimizer = optimizer;
    net.job.settings.epochs = 2;
    net.job.settings.decay = 0.01;
    const auto trained_zeros = [&](bool keep) {
      net.job.settings.keep_zeros = keep;
      TrainState state;
      const TrainResult result = Train(net.job, {}, state);
      std::size_t zeros = 0;
      for (std::size_t p = 0; p < net.student.parameters.size(); ++p) {
        const TrainConstant& before = net.student.constants[net.student.parameters[p].constant];
        bool moved = false;
        for (std::size_t i = 0; i < before.values.size(); ++i) {
          const bool zero = result.values[p][i] == 0;
          if (before.dims.size() > 1 && before.values[i] == 0) zeros += zero ? 1 : 0;
          moved = moved || result.values[p][i] != before.values[i];
        }
        EXPECT_TRUE(moved) << p;
      }
      return zeros;
    };
    EXPECT_EQ(trained_zeros(true), 36U + 7U) << optimizer;  // a third of 108 and of 20
    EXPECT_LT(trained_zeros(false), 5U) << optimizer;
  }
}

TEST_F(WithTrainer, TakesAsManyStepsAsAnEpochIsSaidToHave) {
  NetJob net;
  net.inputs = Normal({43, 3, 6, 6}, 5);
  net.job.settings.epochs = 2;
  TrainState state;
  (void)Train(net.job, {}, state);
  EXPECT_EQ(StepsAnEpoch(43, 8), 5);
  EXPECT_EQ(state.step, 2 * StepsAnEpoch(43, 8));
}

TEST_F(WithTrainer, LearnsFromFeaturesToo) {
  const auto feature = [](const NetJob& net, bool attention, bool replace) {
    FeatureTerm term;
    term.student = SlotOf(net.student, "r");
    term.teacher = SlotOf(net.teacher, "r");
    term.attention = attention;
    term.replace = replace;
    return term;
  };
  const auto run = [](NetJob& net) {
    TrainState state;
    return Train(net.job, {}, state);
  };
  for (const bool attention : {false, true}) {
    NetJob net;
    net.job.settings.kl = net.job.settings.lp = 0;
    net.job.settings.epochs = 20;
    net.job.features = {feature(net, attention, false)};
    EXPECT_LT(LastOverFirst(run(net)), 0.6) << attention;
  }
  // Layer by layer: the head gets what the teacher's has, and so becomes what the teacher's is.
  NetJob layers;
  layers.job.settings.kl = 0;
  layers.job.settings.epochs = 150;
  layers.job.settings.rate = 0.05;
  layers.job.features = {feature(layers, false, true)};
  const TrainResult result = run(layers);
  EXPECT_LT(LastOverFirst(result), 0.05);

  // A student without channel 1 is compared with the others.
  NetJob pruned;
  pruned.student = MakeTrainProgram(Parse(R"(graph net {
    input %x : f32[n,3,6,6]
    const %w1 : f32[3,3,3,3] = random 1
    const %w2 : f32[3,5] = random 3
    %c = Conv(%x, %w1) @conv
    %r = Relu(%c) @relu
    %p = GlobalAveragePool(%r) @pool
    %f = Flatten(%p) @flat
    %y = Gemm(%f, %w2) @head
    output %y
  })"));
  pruned.job.features = {feature(pruned, false, false)};
  EXPECT_EQ(MessageOf([&] { (void)run(pruned); }),
            "a feature is [8,3,4,4] in the student and [8,4,4,4] in the teacher");
  pruned.job.features[0].keep = {0, 2, 3};
  EXPECT_LT(LastOverFirst(run(pruned)), 0.9);
}

TEST_F(WithTrainer, RefusesWhatDoesNotFit) {
  const auto message = [](const std::function<void(NetJob&)>& change) {
    NetJob net;
    change(net);
    TrainState state;
    return MessageOf([&] { (void)Train(net.job, {}, state); });
  };
  EXPECT_EQ(message([](NetJob& net) { net.job.settings.batch = 41; }),
            "the samples for training are 40, fewer than a batch of 41");
  EXPECT_EQ(message([](NetJob& net) { net.job.settings.kl = net.job.settings.lp = 0; }),
            "every loss has weight 0: nothing would be learned");
  EXPECT_EQ(message([](NetJob& net) { net.job.settings.hard = 1; }),
            "the samples for training need as many labels, for the loss 'hard'");
  EXPECT_EQ(message([](NetJob& net) { net.job.settings.patience = 1; }),
            "'patience' needs samples for validation");
  const std::vector<std::int32_t> labels(40, 5);
  EXPECT_EQ(message([&](NetJob& net) {
              net.job.settings.hard = 1;
              net.job.train.labels = labels;
            }),
            "a label is 5; the model tells 5 classes apart");
  EXPECT_EQ(message([](NetJob& net) { net.job.settings.rate = 1e30; }).substr(0, 30),
            "the loss stopped being finite ");
  EXPECT_EQ(message([](NetJob& net) { net.student = OneWeight(1); }).substr(0, 9), "libtorch:");
  NetJob net;
  TrainState state;
  state.parameters = {{1.0F}};
  EXPECT_EQ(MessageOf([&] { (void)Train(net.job, {}, state); }),
            "the state belongs to another student");
}

}  // namespace
}  // namespace msc
