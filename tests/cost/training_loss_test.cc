// What a training minimizes is the distill_loss by which its result is judged.

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/compress/distill/trainer.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "cost/model/loss.h"
#include "cost/quality/quality.h"

namespace msc::cost {
namespace {

constexpr std::int64_t kSamples = 24;

/// A network with one layer of weights whose output has a certain form.
struct Case {
  const char* name;
  Dims sample;       ///< dims of the input behind that of the samples
  const char* body;  ///< computes %y from %x and %w
  Dims weight;
  OutputForm form;
};

void PrintTo(const Case& of, std::ostream* out) {
  *out << of.name;
}

Tensor Normal(const Dims& dims, std::uint64_t seed) {
  Tensor tensor(DType::kF32, dims);
  Rng rng(seed);
  for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  return tensor;
}

std::string DimsText(const Dims& dims) {
  std::string text;
  for (const std::int64_t dim : dims) text += (text.empty() ? "" : ",") + std::to_string(dim);
  return text;
}

/// Returns the network of a case with weights of a seed.
TrainProgram ProgramOf(const Case& of, int seed) {
  Graph graph = ParseGraph("graph net {\n  input %x : f32[n," + DimsText(of.sample) +
                           "]\n  const %w : f32[" + DimsText(of.weight) + "] = random " +
                           std::to_string(seed) + "\n  " + of.body + "\n  output %y\n}");
  InferTypes(graph);
  return MakeTrainProgram(graph);
}

Tensor InputsOf(const Case& of) {
  Dims dims = of.sample;
  dims.insert(dims.begin(), kSamples);
  return Normal(dims, 7);
}

/// Returns the loss of the first step, which is that before any training.
double TrainingLoss(const Case& of, const TrainProgram& teacher, const TrainProgram& student) {
  const Tensor inputs = InputsOf(of);
  TrainJob job;
  job.teacher = &teacher;
  job.student = &student;
  job.settings = {.epochs = 1, .batch = kSamples, .temperature = 1};
  job.forms = {{"y", of.form}};
  job.train = {.inputs = &inputs};
  TrainState state;
  return Train(job, {}, state).epochs.at(0).loss;
}

class WithTrainer : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string problem = TrainerProblem(); !problem.empty()) GTEST_SKIP() << problem;
  }
};

class TrainingLossTest : public WithTrainer, public testing::WithParamInterface<Case> {};

TEST_P(TrainingLossTest, IsTheLossThatOutputsAreJudgedBy) {
  const Case& of = GetParam();
  const TrainProgram teacher = ProgramOf(of, 1);
  const TrainProgram student = ProgramOf(of, 2);
  const std::vector<Tensor> inputs = {InputsOf(of)};
  QualityMeter meter({{"y", of.form}});
  ASSERT_FALSE(meter.Add(RunProgram(teacher, inputs), RunProgram(student, inputs), {}));
  const double judged = meter.Total().Loss(kDistillLoss).value().value;
  EXPECT_GT(judged, 1e-3);
  EXPECT_NEAR(TrainingLoss(of, teacher, student), judged, 2e-4 * judged);
  EXPECT_NEAR(TrainingLoss(of, teacher, teacher), 0, 1e-6);
}

const Case kCases[] = {
    {"logits", {6}, "%y = MatMul(%x, %w) @layer", {6, 5}, {.kind = OutputKind::kLogits}},
    {"probabilities",
     {6},
     "%l = MatMul(%x, %w) @layer\n  %y = Softmax(%l) @end {axis = 1}",
     {6, 5},
     {.kind = OutputKind::kProbabilities, .axis = 1}},
    {"map_of_classes",
     {3, 4, 5},
     "%y = Conv(%x, %w) @layer",
     {4, 3, 1, 1},
     {.kind = OutputKind::kLogits, .axis = 1}},
    {"logit", {6}, "%y = MatMul(%x, %w) @layer", {6, 1}, {.kind = OutputKind::kLogit}},
    {"binary",
     {3, 4, 5},
     "%l = Conv(%x, %w) @layer\n  %y = Sigmoid(%l) @end",
     {1, 3, 1, 1},
     {.kind = OutputKind::kBinary}},
    {"ctc",
     {7, 6},
     "%l = MatMul(%x, %w) @layer\n  %y = Softmax(%l) @end {axis = 2}",
     {6, 5},
     {.kind = OutputKind::kCtc, .axis = 2}},
    {"ctc_logits",
     {7, 6},
     "%y = MatMul(%x, %w) @layer",
     {6, 5},
     {.kind = OutputKind::kCtc, .axis = 2, .logits = true}},
    {"regression", {6}, "%y = MatMul(%x, %w) @layer", {6, 3}, {.kind = OutputKind::kRegression}},
    {"map_of_numbers",
     {3, 4, 5},
     "%y = Conv(%x, %w) @layer",
     {1, 3, 1, 1},
     {.kind = OutputKind::kRegression}},
    {"series", {7, 6}, "%y = MatMul(%x, %w) @layer", {6, 3}, {.kind = OutputKind::kSeries}},
    {"embedding", {6}, "%y = MatMul(%x, %w) @layer", {6, 8}, {.kind = OutputKind::kEmbedding}},
};
INSTANTIATE_TEST_SUITE_P(Kinds, TrainingLossTest, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

const Case kBoxes = {"boxes",
                     {6, 10},
                     "%y = Conv(%x, %w) @layer",
                     {7, 6, 1},
                     {.kind = OutputKind::kBoxes, .axis = 1, .logits = true}};

TEST_F(WithTrainer, LossOfBoxesIsZeroForEqualBoxesAndFallsInTraining) {
  const TrainProgram teacher = ProgramOf(kBoxes, 1);
  const TrainProgram student = ProgramOf(kBoxes, 2);
  EXPECT_NEAR(TrainingLoss(kBoxes, teacher, teacher), 0, 1e-6);
  const Tensor inputs = InputsOf(kBoxes);
  TrainJob job;
  job.teacher = &teacher;
  job.student = &student;
  job.settings = {.epochs = 200, .batch = 8, .rate = 0.01};
  job.forms = {{"y", kBoxes.form}};
  job.train = {.inputs = &inputs};
  TrainState state;
  const TrainResult result = Train(job, {}, state);
  EXPECT_LT(result.epochs.back().loss, 0.1 * result.epochs.front().loss);
}

TEST_F(WithTrainer, OutputsWithoutGradientAreRejectedByName) {
  Case of = kBoxes;
  const TrainProgram program = ProgramOf(of, 1);
  const auto message = [&] {
    try {
      (void)TrainingLoss(of, program, program);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  of.form.selected = true;
  EXPECT_EQ(message(),
            "output 'y' has no gradient: it holds boxes that the model selected; train the model "
            "without the operators that select");
  of.form = {.kind = OutputKind::kIntegers};
  EXPECT_EQ(message().substr(0, 48), "output 'y' has no gradient: it holds integers; t");
  of.form = {.kind = OutputKind::kLogits, .axis = 3};
  EXPECT_EQ(message(), "output 'y' has no axis 3 beside that of samples");
}

/// Returns the change of the loss of Gradients if the weights change in the direction of `step`.
double ChangeOf(const TrainProgram& program, const OutputForms& forms, const Tensor& inputs,
                std::uint64_t seed, const std::vector<float>& step) {
  const auto gradients =
      Gradients({.program = &program, .forms = forms, .inputs = &inputs, .seed = seed});
  double change = 0;
  for (std::size_t i = 0; i < step.size(); ++i) change += gradients.at(0).at(i) * step[i];
  return change;
}

TEST_F(WithTrainer, SquaredChangeWithRandomSignsIsTheSquaredErrorInTheMean) {
  const Case of = {
      "numbers", {6}, "%y = MatMul(%x, %w) @layer", {6, 3}, {.kind = OutputKind::kRegression}};
  const TrainProgram program = ProgramOf(of, 1);
  const Tensor inputs = InputsOf(of);
  // A step of the weights changes the numbers of a linear layer by what that layer makes of it.
  const Tensor step = Normal({6, 3}, 3);
  TrainProgram other = program;
  std::vector<float>& weights = other.constants.at(other.parameters.at(0).constant).values;
  const std::vector<float> by(step.Values<float>().begin(), step.Values<float>().end());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += 0.01F * by[i];
  QualityMeter meter({{"y", of.form}});
  const std::vector<Tensor> list = {inputs};
  ASSERT_FALSE(meter.Add(RunProgram(program, list), RunProgram(other, list), {}));
  const double wanted = 2 * meter.Total().Loss(kDistillLoss).value().value / (0.01 * 0.01);
  double sum = 0;
  constexpr int kSeeds = 2000;
  for (int seed = 0; seed < kSeeds; ++seed) {
    sum += std::pow(
        ChangeOf(program, {{"y", of.form}}, inputs, static_cast<std::uint64_t>(seed) * 1000003, by),
        2);
  }
  EXPECT_NEAR(sum / kSeeds, wanted, 0.15 * wanted);  // a squared normal number varies by 1.4
}

}  // namespace
}  // namespace msc::cost
