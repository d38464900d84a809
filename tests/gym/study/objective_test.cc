#include "gym/study/objective.h"

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "gym/study/describe.h"
#include "tests/support/error_of.h"

namespace msc::gym {
namespace {

TEST(Violation, IsTheSumOfRelativeExcesses) {
  const Objective objective{{"time"}, {{"drop", 0.5}, {"bytes", 100}, {"time", 10}}};
  const Evaluation evaluation{{{"drop", 0.75}, {"bytes", 150}, {"time", 9}}, {}, ""};
  EXPECT_DOUBLE_EQ(Violation(objective, evaluation), 0.5 + 0.5);
}

TEST(Reward, IsLessWhatIsMinimizedAndWhatIsAboveLimits) {
  const Objective objective{{"latency", "weight_bytes", "accuracy_drop"}, {{"accuracy_drop", 0.5}}};
  const auto reward = [&](double latency, double bytes, double drop) {
    return RewardOf(
        objective,
        {{{"latency", latency}, {"weight_bytes", bytes}, {"accuracy_drop", drop}}, {}, ""});
  };
  EXPECT_DOUBLE_EQ(reward(0.5, 2e6, 0.5), -0.5 - 2 - 0.005);
  EXPECT_DOUBLE_EQ(reward(0.5, 2e6, 1), -0.5 - 2 - 0.01 - 1);
  EXPECT_EQ(reward(0.5, 2e6, 100), -9);
  EXPECT_EQ(RewardOf(objective, {{}, Failure{FailureKind::kTimeout, "slow"}, ""}), -10);
  EXPECT_EQ(RewardOf({{"latency", "distill_loss"}, {}},
                     {{{"latency", 0.5}, {"distill_loss", 0.25}}, {}, ""}),
            -0.75);
}

TEST(Violation, IsZeroAtTheLimitItself) {
  const Objective objective{{"time"}, {{"drop", 0.003}}};
  EXPECT_EQ(Violation(objective, {{{"drop", 0.003}}, {}, ""}), 0.0);
}

TEST(Violation, OfALimitOfZeroIsFiniteAndPositive) {
  const Objective objective{{"time"}, {{"drop", 0}}};
  EXPECT_DOUBLE_EQ(Violation(objective, {{{"drop", 2e-9}}, {}, ""}), 2.0);
}

TEST(Violation, RefusesAMetricThatWasNotMeasured) {
  const Objective objective{{"time"}, {{"drop", 0}}};
  EXPECT_EQ(ErrorOf([&] {
              (void)Violation(objective, {{{"kl", 1}, {"time", 2}}, {}, ""});
            }),
            "no metric 'drop'; measured: kl, time");
}

TEST(ObjectiveValues, AreInTheOrderOfTheObjective) {
  const Evaluation evaluation{{{"a", 1}, {"b", 2}, {"c", 3}}, {}, ""};
  EXPECT_EQ(ObjectiveValues({{"c", "a"}, {}}, evaluation), (std::vector<double>{3, 1}));
}

TEST(ConstraintValues, AreSignedAndRelativeToTheLimit) {
  const Objective objective{{"time"}, {{"drop", 0.5}, {"bytes", 100}}};
  EXPECT_EQ(ConstraintValues(objective, {{{"drop", 0.75}, {"bytes", 50}}, {}, ""}),
            (std::vector<double>{0.5, -0.5}));
}

TEST(DescribeSpace, SaysWhatIsDecidedAndWhetherTheGoalIsRuledOut) {
  class Bounded final : public SearchProblem {
    [[nodiscard]] const std::vector<Decision>& DoDecisions() const override { return decisions_; }
    [[nodiscard]] std::vector<std::string> DoMetrics() const override {
      return {"cost", "size", "error"};
    }
    void DoEvaluate(std::span<const Assignment> /*batch*/, const Done& /*done*/,
                    const std::function<bool()>& /*stop*/) override {}
    [[nodiscard]] PriorKnowledge DoPrior() const override {
      const auto bounds = [] { return std::map<std::string, double>{{"size", 25}, {"error", 0}}; };
      return {.estimates = {{"cost",
                             {.offset = 9,
                              .effects = {{0, -1}, {0, 1, -2}, {0, 0}, {0, 0}, {0, 0}, {0, 0.5}}}},
                            // Below its bound, which nothing is.
                            {"size",
                             {.offset = 30,
                              .effects = {{0, -40}, {0, 0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}}}},
              .compute_bounds = bounds};
    }
    [[nodiscard]] std::vector<std::pair<std::string, Assignment>> DoAnchors() const override {
      return {{"plain", Assignment(6, 0)}};
    }
    [[nodiscard]] std::string DoDescribe(const Assignment& /*assignment*/) const override {
      return "{}";
    }
    [[nodiscard]] std::string DoHash() const override { return "bounded"; }
    std::vector<Decision> decisions_ = {{"a", {"x", "y"}}, {"b", {"1", "0.5", "0.25"}},
                                        {"c", {"x", "y"}}, {"d", {"x", "y"}},
                                        {"e", {"x", "y"}}, {"f", {"x", "y"}}};
  };
  const Objective objective = {{"cost", "error"}, {{"size", 24}, {"error", 0.5}, {"cost", 1}}};
  const Bounded problem;
  // Bounds that a caller knows beside count where they are higher.
  const DescribeOptions options = {.goal = {{"cost", 2}, {"size", 25}, {"size", 26}},
                                   .bounds = {{"size", 25.5}, {"error", -1}}};
  EXPECT_EQ(DescribeSpace(problem, objective, options),
            "6 decisions, 96 assignments\n"
            "  5 of x, y: a, c, d, and 2 more\n"
            "  1 of 1, 0.5, 0.25: b\n"
            "baselines, tried first: plain\n"
            "goal: minimize cost, then error\n"
            "  subject to size <= 24: CANNOT be met, no assignment is below 25.5\n"
            "  subject to error <= 0.5: not ruled out, no assignment is below 0\n"
            "  subject to cost <= 1: no bound known; only measuring can tell\n"
            "  ends at cost <= 2: no bound known; only measuring can tell\n"
            "  ends at size <= 25: CANNOT be met, no assignment is below 25.5\n"
            "  ends at size <= 26: not ruled out, no assignment is below 25.5\n"
            "expected from the effect of each decision alone: cost down to 6\n");
  EXPECT_EQ(DescribeSpace(problem, objective),
            "6 decisions, 96 assignments\n"
            "  5 of x, y: a, c, d, and 2 more\n"
            "  1 of 1, 0.5, 0.25: b\n"
            "baselines, tried first: plain\n"
            "goal: minimize cost, then error\n"
            "  subject to size <= 24: CANNOT be met, no assignment is below 25\n"
            "  subject to error <= 0.5: not ruled out, no assignment is below 0\n"
            "  subject to cost <= 1: no bound known; only measuring can tell\n"
            "expected from the effect of each decision alone: cost down to 6\n");
}

TEST(DescribeSpace, CountsWhatMasksLeaveWhereItCan) {
  /// So many decisions of two choices, of which no two neighbours are both the second.
  class Masked final : public SearchProblem {
   public:
    explicit Masked(std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        decisions_.push_back({"d" + std::to_string(i), {"x", "y"}});
      }
    }

   private:
    [[nodiscard]] const std::vector<Decision>& DoDecisions() const override { return decisions_; }
    [[nodiscard]] bool DoMasked() const override { return true; }
    [[nodiscard]] std::vector<bool> DoMask(std::span<const std::int32_t> prefix) const override {
      return {true, prefix.empty() || prefix.back() == 0};
    }
    [[nodiscard]] std::vector<std::string> DoMetrics() const override { return {"cost"}; }
    void DoEvaluate(std::span<const Assignment> /*batch*/, const Done& /*done*/,
                    const std::function<bool()>& /*stop*/) override {}
    [[nodiscard]] std::string DoDescribe(const Assignment& /*assignment*/) const override {
      return "{}";
    }
    [[nodiscard]] std::string DoHash() const override { return "masked"; }
    std::vector<Decision> decisions_;
  };
  const auto first_line = [](std::size_t count) {
    const std::string text = DescribeSpace(Masked(count), {{"cost"}, {}});
    return text.substr(0, text.find('\n'));
  };
  // Fibonacci numbers.
  EXPECT_EQ(first_line(4), "4 decisions, 8 assignments, of 16 that masks rule some of out");
  EXPECT_EQ(first_line(40), "40 decisions, at most 1.09951e+12 assignments: masks rule some out");
}

TEST(AgentSetupFor, TellsWhatIsEstimatedAndKnown) {
  class Known final : public SearchProblem {
    [[nodiscard]] const std::vector<Decision>& DoDecisions() const override { return decisions_; }
    [[nodiscard]] std::vector<std::string> DoMetrics() const override { return {"cost", "size"}; }
    void DoEvaluate(std::span<const Assignment> /*batch*/, const Done& /*done*/,
                    const std::function<bool()>& /*stop*/) override {}
    [[nodiscard]] PriorKnowledge DoPrior() const override {
      const AdditiveCost size = {.offset = 8, .effects = {{0, -4}}};
      return {.costs = {{"size", size}},
              .estimates = {{"size", size}},
              .features = {{0.5}},
              .relevance = {12}};
    }
    [[nodiscard]] std::string DoDescribe(const Assignment& /*assignment*/) const override {
      return "{}";
    }
    [[nodiscard]] std::string DoHash() const override { return "known"; }
    std::vector<Decision> decisions_ = {{"a", {"x", "y"}}};
  };
  const Known problem;
  const AgentSetup setup = AgentSetupFor(problem, {{"cost"}, {{"size", 2}}}, 0);
  EXPECT_TRUE(setup.costs.empty()) << "not all that matters is a sum";
  EXPECT_EQ(setup.prior.features, (std::vector<std::vector<double>>{{0.5}}));
  EXPECT_EQ(setup.prior.relevance, std::vector<double>{12});
  // Nothing is expected of the cost; the limit is told as constraints are: relative to it.
  EXPECT_EQ(setup.estimates, (std::vector<AdditiveCost>{{.offset = 0, .effects = {{0, 0}}},
                                                        {.offset = 3, .effects = {{0, -2}}}}));
  EXPECT_EQ(AgentSetupFor(problem, {{"size"}, {}}, 0).costs.size(), 1U);
  EXPECT_TRUE(AgentSetupFor(problem, {{"cost"}, {}}, 0).estimates.empty());
}

}  // namespace
}  // namespace msc::gym
