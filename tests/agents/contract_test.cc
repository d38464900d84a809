#include <algorithm>
#include <limits>
#include <ostream>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "agents/register.h"
#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "envs/toy/knapsack.h"
#include "envs/toy/one_max.h"
#include "gym/core/problem.h"
#include "gym/study/ask_tell.h"
#include "gym/study/objective.h"
#include "tests/gym/study/sim_file.h"
#include "tests/support/seeds.h"

// Every registered agent is enrolled by itself, over every toy problem.

namespace msc::agents {
namespace {

using gym::Assignment;
using gym::TrialResult;

AgentRegistry Registered() {
  AgentRegistry registry;
  RegisterAll(registry);
  return registry;
}

struct Toy {
  std::string label;
  std::unique_ptr<gym::Env> (*make)();
  gym::Objective objective;
  double optimum;
};

const std::vector<Toy>& Toys() {
  static const std::vector<Toy> toys = {
      {"OneMax", envs::MakeOneMaxEnv, {{"zeros"}, {{"switches", 10}}}, 0},
      {"PrecisionKnapsack",
       envs::MakeKnapsackEnv,
       {{"latency_ratio"}, {{"accuracy_drop", envs::kKnapsackBudget}}},
       0.395},
      {"MaskedKnapsack",
       envs::MakeMaskedKnapsackEnv,
       {{"latency_ratio"}, {{"accuracy_drop", envs::kKnapsackBudget}}},
       0.49},
  };
  return toys;
}

/// What decides a search apart from agent and toy.
struct Plan {
  std::uint64_t seed = 5;
  std::uint64_t trials = 48;
  std::size_t batch = 16;
  std::vector<TrialResult> before = {};  ///< results to start from, with their own trial numbers
  double failing = 0;                    ///< share of assignments that always fail
  double unknown = 0;                    ///< share of trials that nobody could measure
  double stop_at = -1;                   ///< objective at which the search may end
};

struct Search {
  std::vector<TrialResult> trials;
  double best = std::numeric_limits<double>::infinity();
};

bool IsFeasible(const TrialResult& told) {
  return told.Complete() && told.violation == 0;
}

TrialResult Evaluate(gym::SearchProblem& problem, const gym::Objective& objective, double failing,
                     TrialResult told) {
  std::uint64_t key = 0;
  for (const std::int32_t choice : told.assignment) {
    key = MixSeed({key, static_cast<std::uint64_t>(choice)});
  }
  if (Rng(key).Uniform() < failing) {
    told.failed = true;
    return told;
  }
  problem.Evaluate({&told.assignment, 1}, [&](std::size_t, const gym::Evaluation& result) {
    told.objectives = gym::ObjectiveValues(objective, result);
    told.constraints = gym::ConstraintValues(objective, result);
    told.violation = gym::Violation(objective, result);
  });
  return told;
}

std::unique_ptr<gym::Agent> MakeAgent(const std::string& name, const gym::SearchProblem& problem,
                                      const gym::Objective& objective, const Plan& plan) {
  gym::AgentSetup setup = gym::AgentSetupFor(problem, objective, plan.seed);
  setup.first_trial = plan.before.empty() ? 0 : plan.before.back().trial + 1;
  setup.anchors.clear();
  for (const TrialResult& told : plan.before) setup.anchors.push_back(told.assignment);
  setup.costs.clear();  // to be found out; declared ones have a test of their own
  return Registered().Make(name, setup);
}

Search RunSearch(const std::string& name, const Toy& toy, const Plan& plan) {
  const auto env = toy.make();
  gym::SearchProblem& problem = *env->problem();
  const auto agent = MakeAgent(name, problem, toy.objective, plan);
  agent->Tell(plan.before);
  const std::uint64_t first = plan.before.empty() ? 0 : plan.before.back().trial + 1;
  Search search;
  while (search.trials.size() < plan.trials && search.best > plan.stop_at) {
    // As a study does: no more than a round without telling, no more than are left.
    const std::size_t count =
        std::min({plan.batch, agent->round().value_or(plan.batch),
                  static_cast<std::size_t>(plan.trials) - search.trials.size()});
    const std::uint64_t next = first + search.trials.size();
    const std::vector<Assignment> proposals = agent->Ask(next, count);
    if (proposals.empty()) break;
    std::vector<TrialResult> results;
    for (const Assignment& proposal : proposals) {
      TrialResult told{.trial = next + results.size(), .assignment = proposal, .objectives = {}};
      if (Rng(MixSeed({17, told.trial})).Uniform() < plan.unknown) {
        told.unknown = true;
        results.push_back(std::move(told));
        continue;
      }
      results.push_back(Evaluate(problem, toy.objective, plan.failing, std::move(told)));
    }
    agent->Tell(results);
    for (TrialResult& told : results) {
      if (IsFeasible(told)) search.best = std::min(search.best, told.objectives[0]);
      search.trials.push_back(std::move(told));
    }
  }
  return search;
}

std::vector<Assignment> Assignments(const Search& search) {
  std::vector<Assignment> assignments;
  for (const TrialResult& told : search.trials) assignments.push_back(told.assignment);
  return assignments;
}

class RegisteredAgent : public testing::TestWithParam<std::string> {};

// --- What it finds -------------------------------------------------------------------------------

TEST_P(RegisteredAgent, FindsTheOptimum) {
  for (const Toy& toy : Toys()) {
    const Search search =
        RunSearch(GetParam(), toy, {.trials = 1024, .stop_at = toy.optimum + 1e-12});
    EXPECT_NEAR(search.best, toy.optimum, 1e-12) << toy.label;
  }
}

TEST_P(RegisteredAgent, ProposesNothingTwice) {
  for (const Toy& toy : Toys()) {
    const auto assignments = Assignments(RunSearch(GetParam(), toy, {.trials = 64}));
    EXPECT_EQ(std::set(assignments.begin(), assignments.end()).size(), 64U) << toy.label;
  }
}

TEST_P(RegisteredAgent, EndsWhenTheSpaceIsUsedUp) {
  const std::vector<gym::Decision> decisions = {
      {"a", {"x", "y"}}, {"only", {"x"}}, {"b", {"x", "y", "z"}}};
  const auto agent = Registered().Make(GetParam(), {.decisions = decisions, .seed = 3});
  std::set<Assignment> seen;
  for (std::uint64_t trial = 0; trial < 10; ++trial) {
    const auto proposals = agent->Ask(trial, 1);
    if (proposals.empty()) break;
    EXPECT_TRUE(seen.insert(proposals[0]).second);
    const double value = proposals[0][0] + proposals[0][2];
    agent->Tell(std::vector<TrialResult>{
        {.trial = trial, .assignment = proposals[0], .objectives = {value}}});
  }
  EXPECT_EQ(seen.size(), 6U);
}

TEST_P(RegisteredAgent, SearchesForSeveralObjectivesToo) {
  Toy toy = Toys()[1];
  toy.objective = {{"latency_ratio", "accuracy_drop"}, {}};
  const Search search = RunSearch(GetParam(), toy, {.trials = 64});
  EXPECT_EQ(search.trials.size(), 64U);
}

// --- That it is the same whatever the way --------------------------------------------------------

TEST_P(RegisteredAgent, ProposesTheSameFromTheSameSeed) {
  for (const Toy& toy : Toys()) {
    EXPECT_EQ(Assignments(RunSearch(GetParam(), toy, {})),
              Assignments(RunSearch(GetParam(), toy, {})))
        << toy.label;
  }
}

TEST_P(RegisteredAgent, ProposesTheSameInBatchesOfAnySize) {
  for (const Toy& toy : Toys()) {
    const auto one = Assignments(RunSearch(GetParam(), toy, {.batch = 1}));
    for (const std::size_t batch :
         Sampled() ? std::vector<std::size_t>{7} : std::vector<std::size_t>{7, 48}) {
      EXPECT_EQ(Assignments(RunSearch(GetParam(), toy, {.batch = batch})), one)
          << toy.label << " " << batch;
    }
  }
}

TEST_P(RegisteredAgent, ProposesTheSameWhenItIsResumed) {
  for (const Toy& toy : Toys()) {
    const Plan plan;
    const Search whole = RunSearch(GetParam(), toy, plan);
    const auto env = toy.make();
    // Interrupted anywhere, also within a round: what was finished is told, never asked for.
    for (const std::size_t known :
         Sampled() ? std::vector<std::size_t>{0, 13} : std::vector<std::size_t>{0, 1, 13, 20, 30}) {
      const auto agent = MakeAgent(GetParam(), *env->problem(), toy.objective, plan);
      agent->Tell(std::span(whole.trials).first(known));
      const auto rest = agent->Ask(known, agent->round().value_or(10));
      ASSERT_FALSE(rest.empty());
      for (std::size_t i = 0; i < std::min(rest.size(), whole.trials.size() - known); ++i) {
        EXPECT_EQ(rest[i], whole.trials[known + i].assignment) << toy.label << " " << known;
      }
    }
  }
}

TEST_P(RegisteredAgent, StartsFromWhatItIsToldBefore) {
  for (const Toy& toy : Toys()) {
    Plan plan{.trials = 20};
    plan.before = RunSearch("random", toy, {.seed = 9, .trials = 12}).trials;
    const Search search = RunSearch(GetParam(), toy, plan);
    ASSERT_EQ(search.trials.size(), 20U) << toy.label;
    EXPECT_EQ(search.trials.front().trial, 12U);
    if (GetParam() == "grid") continue;  // counts, and looks at nothing
    for (const TrialResult& told : search.trials) {
      const bool known = std::any_of(
          plan.before.begin(), plan.before.end(),
          [&](const TrialResult& earlier) { return earlier.assignment == told.assignment; });
      EXPECT_FALSE(known) << toy.label;
    }
  }
}

gym::Evaluation Measured(gym::SearchProblem& problem, const Assignment& assignment) {
  gym::Evaluation result;
  problem.Evaluate({&assignment, 1},
                   [&](std::size_t, const gym::Evaluation& evaluation) { result = evaluation; });
  return result;
}

/// "3 anchor:f32 [0, 0]" for each trial of a study, fewer than `count` if it ends before.
std::vector<std::string> Lines(const std::vector<gym::Trial>& trials, std::size_t count) {
  std::vector<std::string> lines;
  for (const gym::Trial& trial : trials) {
    std::string line = std::to_string(trial.number) + " " + trial.source;
    for (const std::int32_t choice : trial.assignment) line += " " + std::to_string(choice);
    if (lines.size() < count) lines.push_back(line + (trial.repeated ? " repeated" : ""));
  }
  return lines;
}

TEST_P(RegisteredAgent, ProposesTheSameThroughAskAndTellAsInAStudy) {
  constexpr std::size_t kTrials = 40;
  constexpr std::size_t kAtOnce = 64;
  for (const Toy& toy : Toys()) {
    const auto env = toy.make();
    gym::SearchProblem& problem = *env->problem();
    const gym::AgentSetup setup = gym::AgentSetupFor(problem, toy.objective, 5);
    gym::testing::SimDisk disk;
    gym::Journal journal(std::make_unique<gym::testing::SimFile>(disk));
    gym::StudyOptions options;
    options.seed = 5;
    options.trials = kTrials;
    options.agent = GetParam();
    options.objective = toy.objective;
    const auto studied = Registered().Make(GetParam(), setup);
    const gym::StudyResult study = RunStudy(problem, *studied, journal, options);

    const auto agent = Registered().Make(GetParam(), setup);
    gym::AskTell asked({.anchors = problem.Anchors()}, *agent, GetParam(), toy.objective);
    // As many at once as the agent allows, told in the wrong order.
    for (bool more = true; more && asked.Result().trials.size() < kTrials;) {
      std::vector<gym::Trial> out;
      try {
        while (out.size() < kAtOnce && more) {
          auto trial = asked.Ask();
          more = trial.has_value();
          if (more) out.push_back(*std::move(trial));
        }
      } catch (const UserError&) {
        ASSERT_FALSE(out.empty());
      }
      EXPECT_EQ(asked.Waiting().size(), out.size());
      for (auto trial = out.rbegin(); trial != out.rend(); ++trial) {
        asked.Tell(trial->number, Measured(problem, trial->assignment));
      }
    }
    EXPECT_EQ(Lines(asked.Result().trials, kTrials), Lines(study.trials, kTrials)) << toy.label;
  }
}

TEST(AskTell, TakesOneResultForEachTrialItHandedOutAndCopiesRepeats) {
  const Toy& toy = Toys()[0];
  const auto env = toy.make();
  gym::SearchProblem& problem = *env->problem();
  const Assignment none(problem.decisions().size(), 0);
  gym::AgentSetup setup = gym::AgentSetupFor(problem, toy.objective, 5);
  setup.anchors = {none, none};
  setup.first_trial = 2;
  const auto agent = Registered().Make("evolution", setup);
  gym::AskTell study({.anchors = {{"a", none}, {"b", none}}}, *agent, "evolution", toy.objective);
  EXPECT_THROW(study.Tell(0, {}), UserError);  // not asked for
  ASSERT_EQ(study.Ask()->number, 0U);
  EXPECT_THROW((void)study.Ask(), UserError);  // b is a once more, and evolution wants to know
  EXPECT_EQ(study.Waiting(), std::vector<std::uint64_t>{0});
  EXPECT_THROW(study.Tell(0, {}), UserError);  // without metrics
  gym::Evaluation broken = Measured(problem, none);
  broken.metrics["zeros"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(study.Tell(0, broken), UserError);
  study.Tell(0, Measured(problem, none));
  EXPECT_THROW(study.Tell(0, Measured(problem, none)), UserError);  // told already
  const gym::StudyResult result = study.Result();
  ASSERT_EQ(result.trials.size(), 2U);
  EXPECT_TRUE(result.trials[1].repeated);
  EXPECT_EQ(result.trials[1].evaluation, result.trials[0].evaluation);
  const auto next = study.Ask();
  ASSERT_TRUE(next);
  gym::Evaluation failed;
  failed.failure = Failure{FailureKind::kTimeout, "slow"};
  study.Tell(next->number, failed);
  EXPECT_TRUE(study.Result().trials.back().evaluation.failure);
  EXPECT_EQ(study.Result().best, 0U);
}

TEST(AskTell, BeginsWithWhatIsKnown) {
  const Toy& toy = Toys()[0];
  const auto env = toy.make();
  gym::SearchProblem& problem = *env->problem();
  const Assignment none(problem.decisions().size(), 0);
  const Assignment all(problem.decisions().size(), 1);
  const std::vector<Assignment> first = {none, all, none};
  gym::AgentSetup setup = gym::AgentSetupFor(problem, toy.objective, 5, first);
  setup.anchors = {none, all, none, all};
  setup.first_trial = 4;
  const auto agent = Registered().Make("evolution", setup);
  gym::Evaluation failed;
  failed.failure = Failure{FailureKind::kTimeout, "slow"};
  gym::AskTell study({.known = {{none, Measured(problem, none)}, {all, failed}, {none, failed}},
                      .anchors = {{"all", all}}},
                     *agent, "evolution", toy.objective);
  EXPECT_EQ(study.Result().trials.size(), 3U);
  EXPECT_EQ(study.Result().best, 0U);
  std::set<Assignment> asked;
  for (int i = 0; i < 100; ++i) {
    const auto trial = study.Ask();
    ASSERT_TRUE(trial);
    EXPECT_EQ(trial->source, "evolution");
    EXPECT_TRUE(asked.insert(trial->assignment).second);
    study.Tell(trial->number, Measured(problem, trial->assignment));
  }
  EXPECT_FALSE(asked.contains(none));
  EXPECT_FALSE(asked.contains(all));
  const gym::StudyResult result = study.Result();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(result.trials[i].number, i);
    EXPECT_EQ(result.trials[i].source, i < 3 ? "known" : "anchor:all");
    EXPECT_EQ(result.trials[i].assignment, setup.anchors[i]);
    EXPECT_TRUE(result.trials[i].repeated);
    // Of two results, the first.
    EXPECT_EQ(result.trials[i].evaluation.failure.has_value(), i % 2 == 1);
  }
  EXPECT_THROW(gym::AskTell({.known = {{none, {}}}}, *agent, "evolution", toy.objective),
               UserError);
}

// --- What it bears -------------------------------------------------------------------------------

TEST_P(RegisteredAgent, StaysWithinTheBudget) {
  EXPECT_EQ(RunSearch(GetParam(), Toys()[0], {.trials = 37, .batch = 16}).trials.size(), 37U);
}

TEST_P(RegisteredAgent, ProposesNothingWhenAskedForNothing) {
  const auto env = Toys()[0].make();
  EXPECT_TRUE(MakeAgent(GetParam(), *env->problem(), Toys()[0].objective, {})->Ask(0, 0).empty());
}

TEST_P(RegisteredAgent, GoesOnWhenHalfOfTheCandidatesFail) {
  for (const Toy& toy : Toys()) {
    const Search search = RunSearch(GetParam(), toy, {.trials = 100, .failing = 0.5});
    EXPECT_EQ(search.trials.size(), 100U) << toy.label;
    EXPECT_LT(search.best, std::numeric_limits<double>::infinity()) << toy.label;
  }
}

TEST_P(RegisteredAgent, GoesOnWhenAllCandidatesFail) {
  EXPECT_EQ(RunSearch(GetParam(), Toys()[0], {.trials = 60, .failing = 1}).trials.size(), 60U);
}

TEST_P(RegisteredAgent, GoesOnWhenNobodyCouldMeasureHalfOfTheCandidates) {
  for (const Toy& toy : Toys()) {
    const Search search = RunSearch(GetParam(), toy, {.trials = 100, .unknown = 0.5});
    EXPECT_EQ(search.trials.size(), 100U) << toy.label;
    EXPECT_LT(search.best, std::numeric_limits<double>::infinity()) << toy.label;
  }
}

TEST_P(RegisteredAgent, GoesOnWhenNobodyCouldMeasureAnything) {
  EXPECT_EQ(RunSearch(GetParam(), Toys()[0], {.trials = 60, .unknown = 1}).trials.size(), 60U);
}

TEST_P(RegisteredAgent, GoesOnWhenNothingIsFeasible) {
  Toy toy = Toys()[1];
  toy.objective.subject_to = {{"accuracy_drop", -1}};
  EXPECT_EQ(RunSearch(GetParam(), toy, {.trials = 60}).trials.size(), 60U);
}

INSTANTIATE_TEST_SUITE_P(All, RegisteredAgent, testing::ValuesIn(Registered().Names()),
                         [](const auto& test) { return test.param; });

class ToyProblems : public testing::TestWithParam<std::size_t> {};

TEST_P(ToyProblems, AreExhaustedByTheGridWhichThenProposesNothing) {
  const Toy& toy = Toys()[GetParam()];
  const auto env = toy.make();
  const Search search = RunSearch("grid", toy, {.trials = 10240});
  const gym::SearchProblem& problem = *env->problem();
  EXPECT_EQ(static_cast<double>(search.trials.size()),
            problem.masked() ? 239 : gym::SpaceSize(problem.decisions()));
  auto assignments = Assignments(search);
  EXPECT_TRUE(std::is_sorted(assignments.begin(), assignments.end()));
  EXPECT_EQ(std::adjacent_find(assignments.begin(), assignments.end()), assignments.end());
}

INSTANTIATE_TEST_SUITE_P(All, ToyProblems, testing::Range<std::size_t>(0, Toys().size()),
                         [](const auto& test) { return Toys()[test.param].label; });

// --- Declared costs ------------------------------------------------------------------------------

class AgentWithDeclaredCosts : public testing::TestWithParam<std::string> {};

TEST_P(AgentWithDeclaredCosts, ProposesTheOptimumFirst) {
  const Toy& toy = Toys()[1];
  const auto env = toy.make();
  gym::AgentSetup setup = gym::AgentSetupFor(*env->problem(), toy.objective, 5);
  setup.first_trial = 0;
  ASSERT_EQ(setup.costs.size(), 2U);
  const auto first = Registered().Make(GetParam(), setup)->Ask(0, 1);
  const TrialResult told = Evaluate(*env->problem(), toy.objective, 0,
                                    {.trial = 0, .assignment = first.at(0), .objectives = {}});
  EXPECT_TRUE(IsFeasible(told));
  EXPECT_NEAR(told.objectives[0], toy.optimum, 1e-12);
}

INSTANTIATE_TEST_SUITE_P(All, AgentWithDeclaredCosts, testing::Values("auto", "ilp"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace msc::agents
