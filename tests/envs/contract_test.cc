#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/partition/problem.h"
#include "cost/model/evaluator.h"
#include "envs/common/bounds.h"
#include "envs/compress/compress_env.h"
#include "envs/distill/distill_env.h"
#include "envs/partition/partition_env.h"
#include "envs/prune/prune_env.h"
#include "envs/quantize/quantize_env.h"
#include "envs/register.h"
#include "envs/schedule/schedule_env.h"
#include "gym/core/decision_env.h"
#include "gym/core/env_checker.h"
#include "gym/core/playthrough.h"
#include "gym/search/calibration.h"
#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/prepare.h"
#include "gym/search/run_paths.h"
#include "gym/search/task_registry.h"
#include "gym/study/time_budget.h"
#include "tests/support/quality.h"

// Every registered env is enrolled by itself. MSC_UPDATE_GOLDEN=1 in the environment rewrites the
// golden playthroughs instead of comparing with them.

namespace msc::envs {
namespace {

/// A model of two layers, with the weights of two seeds.
Graph SmallModel(int first, int second) {
  Graph graph = ParseGraph(
      "graph small {\n  input %x : f32[batch,4]\n  const %w : f32[3,4] = random " +
      std::to_string(first) + "\n  const %v : f32[2,3] = random " + std::to_string(second) + R"(
    %a = Gemm(%x, %w) @first {transB = 1}
    %b = Relu(%a) @relu
    %y = Gemm(%b, %v) @second {transB = 1}
    output %y
  })");
  InferTypes(graph);
  return graph;
}

cost::Quality OfLoss(double loss) {
  return cost::QualityOf({{"distill_loss", {loss, 0}}, {"disagreement", {0, 0}}});
}

/// Judges a strategy by counting: every int8 layer, every unit that is removed, every region of a
/// target of its own and every kernel that is written otherwise saves time and costs closeness.
class CountingEvaluator final : public cost::Evaluator {
  void DoEvaluate(std::span<const cost::Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !(stop && stop()); ++i) {
      double narrow = 0;
      for (const auto& [layer, precision] : batch[i].strategy.quantize.layers) {
        narrow += precision == Precision::kInt8 ? 1.0 : 0.0;
      }
      for (const auto& [group, choice] : batch[i].strategy.prune.groups) {
        narrow += static_cast<double>(choice.units - std::ssize(choice.keep));
      }
      narrow += static_cast<double>(batch[i].strategy.partition.size());
      narrow += static_cast<double>(batch[i].strategy.schedules.size());
      cost::Outcome outcome;
      outcome.latency = cost::Latency{.median_ns = 1e6, .ratio = 1 / (1 + narrow)};
      outcome.quality = OfLoss(0.01 * narrow);
      outcome.weight_bytes =
          static_cast<std::int64_t>(LeastWeightBytes(SmallModel(1, 2), batch[i].strategy));
      done(i, outcome);
    }
  }
};

/// One model to be trained after another. Judged by counting, since what training gives in bits
/// differs between machines.
TrainingTask SmallTask() {
  TrainingTask task{.student = MakeTrainProgram(SmallModel(3, 4)),
                    .teacher = MakeTrainProgram(SmallModel(1, 2)),
                    .inputs = Tensor(DType::kF32, {26, 4}),  // three batches and two samples
                    .labels = std::vector<std::int32_t>(26, 1),
                    .settings = {},
                    .judge = {},
                    .hash = "small"};
  task.settings.batch = 8;
  Rng rng(6);
  for (float& x : task.inputs.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  task.judge = [](const TrainResult& result, const std::function<bool()>& /*stop*/) {
    return OfLoss(1 / (1 + static_cast<double>(result.epochs.size())));
  };
  return task;
}

std::shared_ptr<const Graph> SharedModel() {
  return std::make_shared<const Graph>(SmallModel(1, 2));
}

gym::EnvRegistry<> Toys() {
  EnvRegistry registry;
  RegisterToys(registry);
  return registry;
}

/// Fills in the part of a context that all problems share.
template <class Context>
Context OfSmallModel() {
  static CountingEvaluator evaluator;
  Context context;
  context.graph = SharedModel();
  context.evaluator = &evaluator;
  context.target = "reference";
  context.losses = {"distill_loss", "disagreement"};
  return context;
}

std::map<std::string, TensorScale> SmallScales() {
  std::map<std::string, TensorScale> scales;
  for (const char* tensor : {"x", "a", "b", "y"}) scales[tensor] = {.scale = 0.125};
  return scales;
}

std::shared_ptr<const CoverProblem> SmallCover() {
  CoverProblem cover{.flow = DataflowGraph(*SharedModel())};
  for (const char* target : {"reference", "other"}) {
    for (std::size_t i = 0; i < cover.flow.size(); ++i) {
      cover.candidates.push_back({.nodes = IndexSet::Range(cover.flow.size(), i, i + 1),
                                  .target = target,
                                  .cost = Cost::Micros(2 + static_cast<double>(i))});
    }
    cover.candidates.push_back({.nodes = IndexSet::Range(cover.flow.size(), 0, cover.flow.size()),
                                .target = target,
                                .cost = Cost::Micros(8)});
  }
  return std::make_shared<const CoverProblem>(std::move(cover));
}

std::shared_ptr<const std::vector<ScheduledKernel>> SmallKernels() {
  const std::vector<KernelSchedule> schedules = {{}, {.columns = 2}, {.columns = 2, .unroll = 2}};
  return std::make_shared<const std::vector<ScheduledKernel>>(
      std::vector<ScheduledKernel>{{"small", {"first"}, 24, schedules},
                                   {"smaller", {"second"}, 12, {schedules[0], schedules[1]}}});
}

CompressContext SmallCompress() {
  auto context = OfSmallModel<CompressContext>();
  context.scales = SmallScales();
  context.kernels = SmallKernels();
  return context;
}

using MakeProblem = std::function<std::unique_ptr<gym::SearchProblem>()>;

/// Problems of tasks whose preparation measures or needs samples, as it would leave them for a
/// small model. Other tasks are prepared for it.
std::map<std::string, MakeProblem> PreparedProblems() {
  std::map<std::string, MakeProblem> problems;
  problems["Quantize-v0"] = [] {
    auto context = OfSmallModel<QuantizeContext>();
    context.scales = SmallScales();
    return MakeQuantizeProblem(context);
  };
  problems["Prune-v0"] = [] { return MakePruneProblem(OfSmallModel<PruneContext>()); };
  problems["Compress-v0"] = [] { return MakeCompressProblem(SmallCompress()); };
  problems["Partition-v0"] = [] {
    auto context = OfSmallModel<PartitionContext>();
    context.cover = SmallCover();
    return MakePartitionProblem(context);
  };
  problems["Schedule-v0"] = [] {
    auto context = OfSmallModel<ScheduleContext>();
    context.kernels = SmallKernels();
    return MakeScheduleProblem(context);
  };
  problems["Distill-v0"] = [] {
    return MakeDistillProblem(std::make_shared<const TrainingTask>(SmallTask()));
  };
  return problems;
}

std::unique_ptr<gym::SearchProblem> ProblemOf(const gym::SearchTask& task) {
  const auto problems = PreparedProblems();
  if (const auto it = problems.find(task.spec().id); it != problems.end()) return it->second();
  gym::SearchListener listener;
  const gym::SearchHost host{.program = "", .listener = listener};
  const gym::SearchConfig config;
  gym::Prepared prepared;
  prepared.graph = SharedModel();
  gym::CalibrationSamples samples(config.calibration, *prepared.graph);
  const auto make = task.Prepare({.host = host,
                                  .config = config,
                                  .paths = {},
                                  .time = gym::TimeBudget(0),
                                  .calibration = samples,
                                  .prepared = prepared});
  return make(OfSmallModel<ModelContext>());
}

/// Rewards speed and closeness to the original, or closeness alone if speed is not measured.
double Reward(const gym::Evaluation& evaluation) {
  constexpr double kFailure = -10.0;
  if (evaluation.failure) return kFailure;
  const auto latency = evaluation.metrics.find("latency");
  return -(latency == evaluation.metrics.end() ? 0 : latency->second) -
         evaluation.metrics.at("distill_loss");
}

std::unique_ptr<gym::Env> MakeMeasured(const gym::EnvSpec& spec,
                                       std::unique_ptr<gym::SearchProblem> problem) {
  return gym::MakeDecisionEnv(
      std::move(problem),
      {.facts = {.id = spec.id, .nondeterministic = spec.nondeterministic}, .reward = Reward});
}

std::unique_ptr<gym::Env> MakeCompress(const CompressContext& context) {
  return MakeMeasured({.id = "Compress-v0", .summary = "", .nondeterministic = true},
                      MakeCompressProblem(context));
}

std::vector<std::string> Ids() {
  std::vector<std::string> ids;
  for (const gym::EnvSpec& spec : gym::AllEnvSpecs()) ids.push_back(spec.id);
  return ids;
}

class RegisteredEnv : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() != "Distill-v0" || TrainerProblem().empty()) return;
    EXPECT_THROW((void)Make(), SystemError);
    GTEST_SKIP() << TrainerProblem();
  }
  [[nodiscard]] static std::unique_ptr<gym::Env> Make() {
    const gym::SearchTask* task = gym::BuiltInTasks().Find(GetParam());
    if (task == nullptr) return Toys().Make(GetParam());
    return MakeMeasured(task->spec(), ProblemOf(*task));
  }
};

TEST_P(RegisteredEnv, KeepsTheContract) {
  // What measures here counts: nothing may differ from one time to the next.
  EXPECT_EQ(gym::CheckEnv(Make, gym::Repeats::kAlways), std::vector<std::string>());
}

TEST_P(RegisteredEnv, PlaysAsItsGoldenFileSays) {
  std::string name = GetParam();
  std::replace(name.begin(), name.end(), '/', '.');
  const std::string path = "tests/golden/playthrough/" + name + ".txt";
  const std::string played = gym::Playthrough(*Make(), 1, 2);
  if (std::getenv("MSC_UPDATE_GOLDEN") != nullptr) WriteFileAtomic(path, played);
  EXPECT_EQ(ReadFile(path), played);
}

TEST_P(RegisteredEnv, HasASummary) {
  const auto specs = gym::AllEnvSpecs();
  const auto spec = std::find_if(specs.begin(), specs.end(),
                                 [](const gym::EnvSpec& item) { return item.id == GetParam(); });
  ASSERT_NE(spec, specs.end());
  EXPECT_FALSE(spec->summary.empty());
  EXPECT_EQ(spec->summary.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, RegisteredEnv, testing::ValuesIn(Ids()), [](const auto& test) {
  std::string label;
  for (const char c : test.param)
    label += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return label;
});

// --- Compress-v0 ---------------------------------------------------------------------------------

/// With all that a joint search can decide.
CompressContext FullContext() {
  CompressContext context = SmallCompress();
  context.fit_hash = std::string(64, 'a');
  context.compress.targets = {"other"};
  context.compress.pieces = 0;
  context.unsupported_on["other"] = {{"second", {Precision::kInt8}}};
  context.compress.distill = {.epochs = {1}, .rate = {0.001, 0.01}};
  context.kernels_of = [kernels = context.kernels](const Strategy& /*strategy*/) {
    return *kernels;
  };
  return context;
}

TEST(CompressEnv, KeepsTheContractWithEveryKindOfDecision) {
  const auto make = [] { return MakeCompress(FullContext()); };
  EXPECT_TRUE(make()->problem()->masked());
  EXPECT_EQ(gym::CheckEnv(make, gym::Repeats::kAlways), std::vector<std::string>());
}

TEST(CompressEnv, GivesTiedLayersThePrecisionsThatAllTargetsSupport) {
  CompressContext context = FullContext();
  context.quantize.tie = {{"first", "second"}};
  const auto make = [&] { return MakeCompress(context); };
  const auto env = make();
  const std::vector<gym::Decision>& decisions = env->problem()->decisions();
  // "other" lacks the second layer in int8, and who runs that is decided after the first layer is.
  ASSERT_EQ(decisions.size(), 8U);
  EXPECT_EQ(decisions[2], (gym::Decision{"first", {"f32", "bf16"}, "bits", {32, 16}}));
  EXPECT_EQ(decisions[4].name, "second target");
  EXPECT_EQ(decisions[5].name, "second schedule");
  EXPECT_EQ(gym::CheckEnv(make, gym::Repeats::kAlways), std::vector<std::string>());
}

TEST(CompressEnv, PlaysWithEveryKindOfDecisionAsItsGoldenFileSays) {
  const std::string path = "tests/golden/playthrough/Compress-v0.offered.txt";
  const auto env = MakeCompress(FullContext());
  const std::string played = gym::Playthrough(*env, 1, 2);
  if (std::getenv("MSC_UPDATE_GOLDEN") != nullptr) WriteFileAtomic(path, played);
  EXPECT_EQ(ReadFile(path), played);
}

// --- Distill-v0 ----------------------------------------------------------------------------------

/// Mean squared distance from the teacher of a student with these values.
double Distance(const TrainingTask& task, const TrainResult& result) {
  TrainProgram student = task.student;
  for (std::size_t i = 0; i < student.parameters.size(); ++i) {
    student.constants.at(student.parameters[i].constant).values = result.values.at(i);
  }
  const std::vector<Tensor> wanted = RunProgram(task.teacher, {&task.inputs, 1});
  const std::vector<Tensor> got = RunProgram(student, {&task.inputs, 1});
  double sum = 0;
  for (std::size_t i = 0; i < got[0].Values<float>().size(); ++i) {
    const double off = got[0].Values<float>()[i] - wanted[0].Values<float>()[i];
    sum += off * off;
  }
  return sum;
}

TEST(DistillEnv, TrainsByTheRecipeThatTheChoicesStandFor) {
  if (!TrainerProblem().empty()) GTEST_SKIP() << TrainerProblem();
  TrainingTask task = SmallTask();
  task.judge = [task](const TrainResult& result, const std::function<bool()>& /*stop*/) {
    return OfLoss(Distance(task, result));
  };
  const auto made = MakeDistillProblem(std::make_shared<const TrainingTask>(task));
  gym::SearchProblem& problem = *made;
  EXPECT_EQ(problem.metrics(), (std::vector<std::string>{"distill_loss", "train_steps"}));
  const auto try_recipe = [&](const gym::Assignment& recipe) {
    gym::Evaluation heard;
    problem.Evaluate({&recipe, 1}, [&](std::size_t, const gym::Evaluation& e) { heard = e; });
    return heard;
  };
  // epochs, rate, temperature, lp, schedule, hard
  const gym::Evaluation little = try_recipe({0, 0, 0, 2, 0, 0});
  const gym::Evaluation much = try_recipe({3, 3, 0, 2, 0, 0});
  EXPECT_LT(much.metrics.at("distill_loss"), little.metrics.at("distill_loss"));
  EXPECT_EQ(little.metrics.at("train_steps"), 3);
  EXPECT_EQ(much.metrics.at("train_steps"), 24);
  EXPECT_EQ(problem.Prior().costs.at("train_steps").effects.at(0).at(3), 24);
  const std::string recipe = problem.Describe({3, 3, 1, 0, 1, 2});
  for (const char* part : {"\"epochs\":8", "\"rate\":0.003", "\"temperature\":2.0",
                           "\"schedule\":\"cosine\"", "\"hard\":0.5", "\"batch\":8"}) {
    EXPECT_NE(recipe.find(part), std::string::npos) << part << " in " << recipe;
  }
  EXPECT_EQ(ToJsonText(made->RecipeOf({3, 3, 1, 0, 1, 2})), recipe);
  // Without labels no recipe looks at them; what cannot be trained is a failure.
  task.labels.clear();
  task.inputs.MutableValues<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const auto broken = MakeDistillProblem(std::make_shared<const TrainingTask>(task));
  ASSERT_EQ(broken->decisions().size(), 5U);
  const gym::Assignment first(5, 0);
  bool failed = false;
  broken->Evaluate({&first, 1}, [&](std::size_t, const gym::Evaluation& evaluation) {
    failed = evaluation.failure.has_value();
  });
  EXPECT_TRUE(failed);
}

TEST(DistillEnv, TakesAsManyStepsAsItsSumsSay) {
  if (!TrainerProblem().empty()) GTEST_SKIP() << TrainerProblem();
  TrainingTask task = SmallTask();
  task.judge = [](const TrainResult& /*result*/, const std::function<bool()>& /*stop*/) {
    return OfLoss(0);
  };
  const auto made = MakeDistillProblem(std::make_shared<const TrainingTask>(task));
  gym::SearchProblem& problem = *made;
  const gym::AdditiveCost cost = problem.Prior().costs.at("train_steps");
  const std::vector<gym::Decision>& decisions = problem.decisions();
  std::size_t count = 1;
  for (const gym::Decision& decision : decisions) count *= decision.choices.size();
  constexpr std::size_t kEvery = 29;  // prime to all list lengths
  for (std::size_t number = 0; number < count; number += kEvery) {
    gym::Assignment recipe;
    double sum = cost.offset;
    std::size_t rest = number;
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      const std::size_t choices = decisions[i].choices.size();
      recipe.push_back(static_cast<std::int32_t>(rest % choices));
      sum += cost.effects[i][rest % choices];
      rest /= choices;
    }
    problem.Evaluate({&recipe, 1}, [&](std::size_t, const gym::Evaluation& evaluation) {
      EXPECT_EQ(evaluation.metrics.at("train_steps"), sum) << number;
    });
  }
}

TEST(DistillEnv, TellsDecisionsApartByFeatures) {
  if (!TrainerProblem().empty()) GTEST_SKIP() << TrainerProblem();
  const auto env = MakeDistillProblem(std::make_shared<const TrainingTask>(SmallTask()));
  const std::vector<std::vector<double>> rows = env->Prior().features;
  ASSERT_EQ(rows.size(), 6U);
  const auto expect = [&](std::size_t row, const std::vector<double>& wanted) {
    ASSERT_EQ(rows[row].size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(rows[row][i], wanted[i], 1e-12) << env->decisions()[row].name;
    }
  };
  // choices, decades, share of steps; how long, how fast, what is learned
  expect(0, {2, std::log10(8), 7.0 / 8, 1, 0, 0});
  expect(1, {2, std::log10(30), 0, 0, 1, 0});
  expect(2, {2, std::log10(8), 0, 0, 0, 1});
  expect(3, {std::log2(3), 1, 0, 0, 0, 1});  // 0 is no end of a span
  expect(4, {1, 0, 0, 0, 1, 0});
  expect(5, {std::log2(3), std::log10(5), 0, 0, 0, 1});
}

}  // namespace
}  // namespace msc::envs
