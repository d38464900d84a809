#include <algorithm>
#include <limits>
#include <ostream>
#include <tuple>

#include <gtest/gtest.h>

#include "agents/register.h"
#include "compiler/base/rng.h"
#include "envs/toy/knapsack.h"
#include "envs/toy/one_max.h"
#include "gym/core/problem.h"

// Every registered agent is enrolled by itself, over every toy problem.

namespace msc::agents {
namespace {

using gym::Assignment;
using gym::Told;

AgentRegistry Registered() {
  AgentRegistry registry;
  RegisterAll(registry);
  return registry;
}

struct Toy {
  std::string label;
  std::unique_ptr<gym::Env> (*make)();
  std::string objective;
  std::string constrained;
  double limit;
  double optimum;
};

const std::vector<Toy>& Toys() {
  static const std::vector<Toy> toys = {
      {"OneMax", envs::MakeOneMaxEnv, "zeros", "switches", 10, 0},
      {"PrecisionKnapsack", envs::MakeKnapsackEnv, "latency_ratio", "accuracy_drop",
       envs::kKnapsackBudget, 0.395},
  };
  return toys;
}

/// Ten times the size of the largest toy: uniform draws miss one point of 1024 in so many trials
/// with a probability of 5e-5.
constexpr std::uint64_t kTrials = 10240;

struct Search {
  std::vector<Told> trials;
  double best = std::numeric_limits<double>::infinity();
};

/// What decides a search apart from agent and toy.
struct Plan {
  std::uint64_t seed = 1;
  std::uint64_t trials = kTrials;
  std::size_t batch = 16;
  std::uint64_t first = 0;
  double failing = 0;  ///< share of assignments that always fail
};

Told Evaluate(gym::SearchProblem& problem, const Toy& toy, const Plan& plan, Told told) {
  std::uint64_t key = 0;
  for (const std::int32_t choice : told.assignment) {
    key = MixSeed({key, static_cast<std::uint64_t>(choice)});
  }
  if (Rng(key).Uniform() < plan.failing) {
    told.failed = true;
    return told;
  }
  problem.Evaluate({&told.assignment, 1}, [&](std::size_t, const gym::Evaluation& result) {
    told.objectives = {result.metrics.at(toy.objective)};
    told.violation = std::max(0.0, result.metrics.at(toy.constrained) - toy.limit);
  });
  return told;
}

Search RunSearch(const std::string& name, const Toy& toy, const Plan& plan) {
  const auto env = toy.make();
  gym::SearchProblem& problem = *env->problem();
  const auto agent = Registered().Make(
      name, {.decisions = problem.decisions(), .seed = plan.seed, .first_trial = plan.first});
  Search search;
  while (search.trials.size() < plan.trials) {
    // As a study does: no more than a round without telling, no more than are left.
    const std::size_t count =
        std::min({plan.batch, agent->round().value_or(plan.batch),
                  static_cast<std::size_t>(plan.trials) - search.trials.size()});
    const std::uint64_t next = plan.first + search.trials.size();
    const std::vector<Assignment> proposals = agent->Ask(next, count);
    if (proposals.empty()) break;
    std::vector<Told> results;
    for (const Assignment& proposal : proposals) {
      Told told{.trial = next + results.size(), .assignment = proposal, .objectives = {}};
      results.push_back(Evaluate(problem, toy, plan, std::move(told)));
    }
    agent->Tell(results);
    for (Told& told : results) {
      if (!told.failed && told.violation == 0) {
        search.best = std::min(search.best, told.objectives[0]);
      }
      search.trials.push_back(std::move(told));
    }
  }
  return search;
}

std::vector<Assignment> Assignments(const Search& search) {
  std::vector<Assignment> assignments;
  for (const Told& told : search.trials) assignments.push_back(told.assignment);
  return assignments;
}

using AgentAndToy = std::tuple<std::string, std::size_t>;

class RegisteredAgent : public testing::TestWithParam<AgentAndToy> {
 protected:
  [[nodiscard]] static std::string Name() { return std::get<0>(GetParam()); }
  [[nodiscard]] static const Toy& ToyProblem() { return Toys()[std::get<1>(GetParam())]; }
};

TEST_P(RegisteredAgent, FindsTheOptimum) {
  EXPECT_EQ(RunSearch(Name(), ToyProblem(), {}).best, ToyProblem().optimum);
}

TEST_P(RegisteredAgent, ProposesTheSameFromTheSameSeed) {
  const Plan plan{.seed = 5, .trials = 200};
  EXPECT_EQ(Assignments(RunSearch(Name(), ToyProblem(), plan)),
            Assignments(RunSearch(Name(), ToyProblem(), plan)));
}

TEST_P(RegisteredAgent, ProposesTheSameInBatchesOfAnySize) {
  const auto one =
      Assignments(RunSearch(Name(), ToyProblem(), {.seed = 5, .trials = 200, .batch = 1}));
  for (const std::size_t batch : {7, 16, 200}) {
    EXPECT_EQ(
        Assignments(RunSearch(Name(), ToyProblem(), {.seed = 5, .trials = 200, .batch = batch})),
        one)
        << batch;
  }
}

TEST_P(RegisteredAgent, ProposesTheSameWhenAskedFromTheMiddle) {
  const Plan plan{.seed = 5, .trials = 100};
  const Search whole = RunSearch(Name(), ToyProblem(), plan);
  const auto env = ToyProblem().make();
  const auto agent =
      Registered().Make(Name(), {.decisions = env->problem()->decisions(), .seed = 5});
  // A resumed study: the first 50 are told, never asked.
  const std::size_t known = 50 / agent->round().value_or(1) * agent->round().value_or(1);
  agent->Tell(std::span(whole.trials).first(known));
  const auto rest = agent->Ask(known, agent->round().value_or(10));
  for (std::size_t i = 0; i < rest.size(); ++i) {
    EXPECT_EQ(rest[i], whole.trials[known + i].assignment);
  }
  EXPECT_FALSE(rest.empty());
}

TEST_P(RegisteredAgent, StaysWithinTheBudget) {
  EXPECT_EQ(RunSearch(Name(), ToyProblem(), {.trials = 37, .batch = 16}).trials.size(), 37U);
}

TEST_P(RegisteredAgent, ProposesNothingWhenAskedForNothing) {
  const auto env = ToyProblem().make();
  const auto agent = Registered().Make(Name(), {.decisions = env->problem()->decisions()});
  EXPECT_TRUE(agent->Ask(0, 0).empty());
}

TEST_P(RegisteredAgent, StartsFromItsFirstTrial) {
  const Search search = RunSearch(Name(), ToyProblem(), {.trials = 20, .first = 3});
  ASSERT_EQ(search.trials.size(), 20U);
  EXPECT_EQ(search.trials.front().trial, 3U);
}

TEST_P(RegisteredAgent, GoesOnWhenHalfOfTheCandidatesFail) {
  const Search search = RunSearch(Name(), ToyProblem(), {.trials = 400, .failing = 0.5});
  EXPECT_EQ(search.trials.size(), 400U);
  EXPECT_LT(search.best, std::numeric_limits<double>::infinity());
}

TEST_P(RegisteredAgent, GoesOnWhenAllCandidatesFail) {
  EXPECT_EQ(RunSearch(Name(), ToyProblem(), {.trials = 100, .failing = 1}).trials.size(), 100U);
}

INSTANTIATE_TEST_SUITE_P(All, RegisteredAgent,
                         testing::Combine(testing::ValuesIn(Registered().Names()),
                                          testing::Range<std::size_t>(0, Toys().size())),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" +
                                  Toys()[std::get<1>(test.param)].label;
                         });

class ToyProblems : public testing::TestWithParam<std::size_t> {};

TEST_P(ToyProblems, AreExhaustedByTheGridWhichThenProposesNothing) {
  const Toy& toy = Toys()[GetParam()];
  const auto env = toy.make();
  const Search search = RunSearch("grid", toy, {});
  EXPECT_EQ(static_cast<double>(search.trials.size()), gym::SpaceSize(env->problem()->decisions()));
  auto assignments = Assignments(search);
  EXPECT_TRUE(std::is_sorted(assignments.begin(), assignments.end()));
  EXPECT_EQ(std::adjacent_find(assignments.begin(), assignments.end()), assignments.end());
}

INSTANTIATE_TEST_SUITE_P(All, ToyProblems, testing::Range<std::size_t>(0, Toys().size()),
                         [](const auto& test) { return Toys()[test.param].label; });

}  // namespace
}  // namespace msc::agents
