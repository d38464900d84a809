#include <functional>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "envs/common/strategy_problem.h"
#include "envs/toy/knapsack.h"
#include "envs/toy/one_max.h"
#include "gym/core/problem.h"

namespace msc::envs {
namespace {

/// Every assignment of the decisions with what came of it.
void ForEach(gym::SearchProblem& problem,
             const std::function<void(const gym::Assignment&, const gym::Evaluation&)>& visit) {
  const auto& decisions = problem.decisions();
  gym::Assignment digits(decisions.size(), 0);
  while (true) {
    if (gym::IsLegal(problem.MaskFunction(), digits)) {
      problem.Evaluate({&digits, 1},
                       [&](std::size_t, const gym::Evaluation& result) { visit(digits, result); });
    }
    std::size_t place = 0;
    while (place < digits.size() &&
           ++digits[place] == static_cast<std::int32_t>(decisions[place].choices.size())) {
      digits[place++] = 0;
    }
    if (place == digits.size()) return;
  }
}

TEST(OneMax, HasItsOptimumWhereAllAreOnAndNowhereElse) {
  const auto env = MakeOneMaxEnv();
  gym::SearchProblem& problem = *env->problem();
  int optima = 0;
  ForEach(problem, [&](const gym::Assignment& bits, const gym::Evaluation& result) {
    if (result.metrics.at("zeros") > 0) return;
    ++optima;
    EXPECT_EQ(bits, gym::Assignment(10, 1));
    EXPECT_EQ(result.metrics.at("switches"), 0);
  });
  EXPECT_EQ(optima, 1);
}

TEST(OneMax, CountsZerosAndSwitches) {
  const auto env = MakeOneMaxEnv();
  const gym::Assignment bits = {1, 0, 0, 1, 1, 1, 0, 1, 1, 1};
  env->problem()->Evaluate({&bits, 1}, [](std::size_t, const gym::Evaluation& result) {
    EXPECT_EQ(result.metrics, (std::map<std::string, double>{{"switches", 4}, {"zeros", 3}}));
  });
}

/// Least time for each total loss, layer by layer: the exact answer, found another way than by
/// trying assignments.
std::int64_t LeastLatencyUs(std::int64_t budget_milli) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 2;
  std::vector<std::int64_t> least(static_cast<std::size_t>(budget_milli) + 1, 0);
  for (const KnapsackLayer& layer : KnapsackLayers()) {
    std::vector<std::int64_t> next(least.size(), kNever);
    for (std::size_t spent = 0; spent < least.size(); ++spent) {
      for (std::size_t choice = 0; choice < 3; ++choice) {
        const auto drop = static_cast<std::size_t>(layer.drop_milli[choice]);
        if (drop > spent) continue;
        next[spent] = std::min(next[spent], least[spent - drop] + layer.latency_us[choice]);
      }
    }
    least = std::move(next);
  }
  return least.back();
}

TEST(PrecisionKnapsack, HasTheOptimumThatItsHeaderStates) {
  const auto env = MakeKnapsackEnv();
  double best = std::numeric_limits<double>::infinity();
  std::vector<gym::Assignment> optima;
  ForEach(*env->problem(), [&](const gym::Assignment& choices, const gym::Evaluation& result) {
    if (result.metrics.at("accuracy_drop") > kKnapsackBudget) return;
    const double latency = result.metrics.at("latency_ratio");
    if (latency < best) optima.clear();
    if (latency <= best) optima.push_back(choices);
    best = std::min(best, latency);
  });
  EXPECT_EQ(best, 0.395);
  EXPECT_EQ(optima, (std::vector<gym::Assignment>{{1, 2, 1, 2, 2, 1}}));
}

TEST(MaskedKnapsack, LeavesWhatItsHeaderSaysWithItsOptimum) {
  const auto env = MakeMaskedKnapsackEnv();
  double best = std::numeric_limits<double>::infinity();
  int count = 0;
  ForEach(*env->problem(), [&](const gym::Assignment& choices, const gym::Evaluation& result) {
    ++count;
    for (std::size_t i = 1; i < choices.size(); ++i) {
      EXPECT_NE(choices[i] * choices[i - 1], 2) << "bf16 beside int8";
    }
    if (result.metrics.at("accuracy_drop") > kKnapsackBudget) return;
    best = std::min(best, result.metrics.at("latency_ratio"));
  });
  EXPECT_EQ(count, 239);
  EXPECT_EQ(best, 0.49);
}

TEST(PrecisionKnapsack, HasTheOptimumThatDynamicProgrammingFinds) {
  std::int64_t all_f32 = 0;
  for (const KnapsackLayer& layer : KnapsackLayers()) all_f32 += layer.latency_us[0];
  const auto budget_milli = static_cast<std::int64_t>(kKnapsackBudget * 1000);
  EXPECT_EQ(LeastLatencyUs(budget_milli), 395);
  EXPECT_EQ(all_f32, 1000);
}

TEST(PrecisionKnapsack, DoesNotAllowAllInt8) {
  const auto env = MakeKnapsackEnv();
  const gym::Assignment int8(6, 2);
  env->problem()->Evaluate({&int8, 1}, [](std::size_t, const gym::Evaluation& result) {
    EXPECT_EQ(result.metrics,
              (std::map<std::string, double>{{"accuracy_drop", 1.4}, {"latency_ratio", 0.34}}));
  });
}

TEST(PrecisionKnapsack, EarnsLessBeyondTheBudgetThanAtTheOptimum) {
  const auto env = MakeKnapsackEnv();
  env->Reset();
  gym::StepResult last;
  for (int i = 0; i < 6; ++i) last = env->Step(gym::Point{2});
  EXPECT_DOUBLE_EQ(last.reward, -0.34 - 10 * 0.9);
}

TEST(AsStrategyProblem, RejectsAProblemWhoseCandidatesAreNoStrategies) {
  EXPECT_THROW((void)AsStrategyProblem(*MakeOneMaxEnv()->problem()), InternalError);
}

}  // namespace
}  // namespace msc::envs
