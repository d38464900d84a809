#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "compiler/base/file.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/partition/problem.h"
#include "cost/model/evaluator.h"
#include "envs/register.h"
#include "gym/core/env_checker.h"
#include "gym/core/playthrough.h"

// Every registered env is enrolled by itself. MSC_UPDATE_GOLDEN=1 in the environment rewrites the
// golden playthroughs instead of comparing with them.

namespace msc::envs {
namespace {

EnvRegistry Registered() {
  EnvRegistry registry;
  RegisterAll(registry);
  return registry;
}

std::vector<std::string> Ids() {
  std::vector<std::string> ids;
  for (const gym::EnvSpec& spec : Registered().Specs()) ids.push_back(spec.id);
  return ids;
}

/// Judges a strategy by counting: every int8 layer, every unit that is removed, every region of a
/// target of its own and every kernel that is written otherwise saves time and costs closeness.
class CountingEvaluator final : public cost::Evaluator {
  void DoEvaluate(std::span<const cost::Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !(stop && stop()); ++i) {
      double narrow = 0;
      for (const auto& [layer, precision] : batch[i].strategy.quantize.layers) {
        narrow += precision == "int8" ? 1.0 : 0.0;
      }
      for (const auto& [group, choice] : batch[i].strategy.prune.groups) {
        narrow += static_cast<double>(choice.units - std::ssize(choice.keep));
      }
      narrow += static_cast<double>(batch[i].strategy.partition.size());
      narrow += static_cast<double>(batch[i].strategy.schedules.size());
      cost::Outcome outcome;
      outcome.latency = cost::Latency{.median_ns = 1e6, .ratio = 1 / (1 + narrow)};
      outcome.quality.kl = 0.01 * narrow;
      outcome.weight_bytes = static_cast<std::int64_t>(100 / (1 + narrow));
      done(i, outcome);
    }
  }
};

/// A model of two layers for the envs that want one.
EnvContext SmallContext() {
  static CountingEvaluator evaluator;
  Graph graph = ParseGraph(R"(graph small {
    input %x : f32[batch,4]
    const %w : f32[3,4] = random 1
    const %v : f32[2,3] = random 2
    %a = Gemm(%x, %w) @first {transB = 1}
    %b = Relu(%a) @relu
    %y = Gemm(%b, %v) @second {transB = 1}
    output %y
  })");
  InferTypes(graph);
  EnvContext context;
  CoverProblem cover{.flow = DataflowGraph(graph)};
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
  context.cover = std::make_shared<const CoverProblem>(std::move(cover));
  context.graph = std::make_shared<const Graph>(std::move(graph));
  context.evaluator = &evaluator;
  context.target = "reference";
  for (const char* tensor : {"x", "a", "b", "y"}) context.scales[tensor] = {.scale = 0.125};
  const std::vector<KernelSchedule> schedules = {{}, {.columns = 2}, {.columns = 2, .unroll = 2}};
  context.kernels = std::make_shared<const std::vector<ScheduledKernel>>(
      std::vector<ScheduledKernel>{{"small", {"first"}, 24, schedules},
                                   {"smaller", {"second"}, 12, {schedules[0], schedules[1]}}});
  return context;
}

class RegisteredEnv : public testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static std::unique_ptr<gym::Env> Make() {
    return Registered().Make(GetParam(), SmallContext());
  }
};

TEST_P(RegisteredEnv, KeepsTheContract) {
  EXPECT_EQ(gym::CheckEnv(Make), std::vector<std::string>());
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
  const auto specs = Registered().Specs();
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

}  // namespace
}  // namespace msc::envs
