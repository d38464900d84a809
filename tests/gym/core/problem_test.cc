#include "gym/core/problem.h"

#include <cmath>
#include <limits>
#include <map>
#include <ostream>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "gym/core/agent.h"
#include "tests/gym/core/fake_env.h"

namespace msc::gym {
namespace {

const std::vector<Decision> kDecisions = {{"a", {"x", "y"}}, {"b", {"x", "y", "z"}}};

struct BadAssignment {
  std::string label;
  Assignment assignment;
  std::string message;
};
void PrintTo(const BadAssignment& item, std::ostream* out) {
  *out << item.label;
}

class AssignmentsThatDoNotFit : public testing::TestWithParam<BadAssignment> {};

TEST_P(AssignmentsThatDoNotFit, AreRefused) {
  EXPECT_EQ(MessageOf<UserError>([] { CheckAssignment(kDecisions, GetParam().assignment); }),
            GetParam().message);
}

TEST_P(AssignmentsThatDoNotFit, AreNotEvaluated) {
  FakeProblemParts parts;
  int evaluated = 0;
  parts.evaluate = [&](const Assignment&) {
    ++evaluated;
    return Evaluation{.metrics = {{"cost", 0}}, .failure = std::nullopt, .record = ""};
  };
  FakeProblem problem(std::move(parts));
  const std::vector<Assignment> batch = {{0, 0}, GetParam().assignment};
  EXPECT_EQ(
      MessageOf<UserError>([&] { problem.Evaluate(batch, [](std::size_t, const Evaluation&) {}); }),
      GetParam().message);
  EXPECT_EQ(evaluated, 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, AssignmentsThatDoNotFit,
    testing::Values(
        BadAssignment{"TooShort", {0}, "an assignment of 1 choices does not fit 2 decisions"},
        BadAssignment{"TooLong", {0, 0, 0}, "an assignment of 3 choices does not fit 2 decisions"},
        BadAssignment{"Negative", {-1, 0}, "choice -1 of decision 'a' must be between 0 and 1"},
        BadAssignment{"TooLarge", {0, 3}, "choice 3 of decision 'b' must be between 0 and 2"}),
    [](const auto& test) { return test.param.label; });

struct BadDecisions {
  std::string label;
  std::vector<Decision> decisions;
  std::string message;
};
void PrintTo(const BadDecisions& item, std::ostream* out) {
  *out << item.label;
}

class MalformedDecisions : public testing::TestWithParam<BadDecisions> {};

TEST_P(MalformedDecisions, AreRefused) {
  EXPECT_EQ(MessageOf<UserError>([] { CheckDecisions(GetParam().decisions); }), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedDecisions,
    testing::Values(
        BadDecisions{"None", {}, "a search space needs at least one decision"},
        BadDecisions{"WithoutName", {{"", {"x"}}}, "a decision needs a name"},
        BadDecisions{"TheSameTwice", {{"a", {"x"}}, {"a", {"x"}}}, "decision 'a' occurs twice"},
        BadDecisions{"WithoutChoices", {{"a", {}}}, "decision 'a' has no choices"},
        BadDecisions{"AChoiceTwice", {{"a", {"x", "x"}}}, "decision 'a' has a choice twice"},
        BadDecisions{"ValuesOfNothing",
                     {{"a", {"x", "y"}, "", {1, 2}}},
                     "decision 'a' does not say what its values count"},
        BadDecisions{"TooFewValues",
                     {{"a", {"x", "y"}, "bits", {1}}},
                     "decision 'a' needs a finite value for each choice"},
        BadDecisions{"AValueThatIsNotFinite",
                     {{"a", {"x", "y"}, "bits", {1, std::numeric_limits<double>::infinity()}}},
                     "decision 'a' needs a finite value for each choice"}),
    [](const auto& test) { return test.param.label; });

TEST(Decisions, ThatCountAQuantityAreOrdinal) {
  const Decision channels{"a", {"1", "0.5"}, "density", {1, 0.5}};
  CheckDecisions(std::vector{channels});
  EXPECT_TRUE(channels.ordinal());
  EXPECT_FALSE((Decision{"a", {"onednn", "native"}}).ordinal());
  EXPECT_NE(channels, (Decision{"a", {"1", "0.5"}}));
}

TEST(SearchProblem, ReportsEachOfABatchOnce) {
  FakeProblem problem({});
  const std::vector<Assignment> batch = {{1, 2}, {0, 0}, {1, 2}};
  std::vector<double> costs(3, -1);
  problem.Evaluate(batch, [&](std::size_t i, const Evaluation& result) {
    costs[i] = result.metrics.at("cost");
  });
  EXPECT_EQ(costs, (std::vector<double>{3, 0, 3}));
}

/// After a's y, b cannot be x.
std::vector<bool> NoXAfterY(std::span<const std::int32_t> prefix) {
  if (prefix.empty()) return {true, true};
  return {prefix[0] == 0, true, true};
}

TEST(SearchProblem, NeitherEvaluatesNorDescribesWhatItsMaskRulesOut) {
  FakeProblemParts parts;
  parts.mask = NoXAfterY;
  FakeProblem problem(std::move(parts));
  const std::string refusal = "choice 'x' of decision 'b' is ruled out by earlier choices";
  const std::vector<Assignment> batch = {{0, 0}, {1, 0}};
  EXPECT_EQ(
      MessageOf<UserError>([&] { problem.Evaluate(batch, [](std::size_t, const Evaluation&) {}); }),
      refusal);
  EXPECT_EQ(MessageOf<UserError>([&] { (void)problem.Describe({1, 0}); }), refusal);
  EXPECT_EQ(problem.Describe({1, 1}), "{}");
  EXPECT_THROW((void)problem.Mask(std::vector<std::int32_t>{0, 0}), UserError);
  EXPECT_THROW((void)problem.Mask(std::vector<std::int32_t>{2}), UserError);
}

TEST(ChoiceMask, MakesLegalWhatIsNotAndDrawsEverythingThatIs) {
  const ChoiceMask none;
  EXPECT_EQ(MakeLegal(none, {1, 0}), (Assignment{1, 0}));
  EXPECT_EQ(MakeLegal(NoXAfterY, {1, 0}), (Assignment{1, 1}));
  for (const Assignment& legal : {Assignment{0, 0}, Assignment{1, 2}}) {
    EXPECT_EQ(MakeLegal(NoXAfterY, legal), legal);
  }
  std::map<Assignment, int> drawn;
  Rng rng(1);
  for (int i = 0; i < 4000; ++i) ++drawn[DrawLegal(kDecisions, NoXAfterY, rng)];
  EXPECT_EQ(drawn.size(), 5U);
  EXPECT_FALSE(drawn.contains({1, 0}));
  EXPECT_NEAR(drawn[Assignment({1, 1})], 1000, 150) << "half of a's y";
  EXPECT_NEAR(drawn[Assignment({0, 1})], 667, 120) << "a third of a's x";
}

TEST(LegalSize, CountsWhatAMaskLeaves) {
  EXPECT_EQ(LegalSize(FakeProblem({})), 6);
  FakeProblemParts parts;
  parts.mask = NoXAfterY;
  EXPECT_EQ(LegalSize(FakeProblem(parts)), 5);
  parts.decisions = {{"a", {"x", "y"}}};
  EXPECT_EQ(LegalSize(FakeProblem(parts)), 2);
}

TEST(LegalSize, IsNotKnownWhereCountingTakesTooLong) {
  FakeProblemParts parts;
  parts.mask = NoXAfterY;  // the root, and what follows x and y
  EXPECT_EQ(LegalSize(FakeProblem(parts), 3), 5);
  EXPECT_EQ(LegalSize(FakeProblem(parts), 2), std::nullopt);
  parts.mask = {};
  EXPECT_EQ(LegalSize(FakeProblem(parts), 0), 6) << "a product needs no counting";
}

TEST(SearchProblem, LeavesTheRestUnreportedWhenStopped) {
  FakeProblem problem({});
  const std::vector<Assignment> batch(5, Assignment{0, 0});
  int reported = 0;
  problem.Evaluate(
      batch, [&](std::size_t, const Evaluation&) { ++reported; }, [&] { return reported == 2; });
  EXPECT_EQ(reported, 2);
}

struct BrokenProblem {
  std::string label;
  std::function<void(FakeProblemParts&)> breaks;
  std::string must_hold;
};
void PrintTo(const BrokenProblem& item, std::ostream* out) {
  *out << item.label;
}

class ProblemThatBreaksItsPromises : public testing::TestWithParam<BrokenProblem> {};

TEST(SearchProblem, RefusesARelevanceThatDoesNotFit) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& relevance :
       {std::vector<double>{1}, std::vector<double>{1, -1}, std::vector<double>{infinite, 1}}) {
    FakeProblemParts parts;
    parts.prior.relevance = relevance;
    EXPECT_THROW(static_cast<void>(FakeProblem(parts).Prior().relevance), InternalError);
  }
  FakeProblemParts parts;
  EXPECT_TRUE(FakeProblem(parts).Prior().relevance.empty());
  parts.prior.relevance = {0, 3.5};
  EXPECT_EQ(FakeProblem(parts).Prior().relevance, parts.prior.relevance);
}

TEST(SearchProblem, ComputesNoLowerBoundsUntilAsked) {
  int computed = 0;
  FakeProblemParts parts;
  parts.prior.compute_bounds = [&] {
    ++computed;
    return std::map<std::string, double>{{"cost", 0.5}};
  };
  const FakeProblem problem(parts);
  const PriorKnowledge prior = problem.Prior();
  EXPECT_EQ(computed, 0);
  EXPECT_EQ(prior.LowerBounds().at("cost"), 0.5);
  EXPECT_EQ(computed, 1);
}

TEST(SearchProblem, RefusesALowerBoundThatIsOfNoMetricOrNotFinite) {
  for (const std::map<std::string, double>& bounds :
       {std::map<std::string, double>{{"size", 1}}, {{"cost", std::nan("")}}}) {
    FakeProblemParts parts;
    parts.prior.compute_bounds = [&] { return bounds; };
    const FakeProblem problem(parts);
    EXPECT_THROW(static_cast<void>(problem.Prior().LowerBounds()), InternalError);
  }
}

TEST(SearchProblem, KnowsNoLowerBoundsByDefault) {
  EXPECT_TRUE(FakeProblem({}).Prior().LowerBounds().empty());
}

TEST_P(ProblemThatBreaksItsPromises, IsFoundOut) {
  FakeProblemParts parts;
  GetParam().breaks(parts);
  FakeProblem problem(std::move(parts));
  const std::string message = MessageOf<InternalError>([&] {
    static_cast<void>(problem.Anchors());
    problem.Evaluate(std::vector<Assignment>{{0, 0}}, [](std::size_t, const Evaluation&) {});
  });
  EXPECT_TRUE(message.ends_with(": must hold: " + GetParam().must_hold)) << message;
}

std::function<void(FakeProblemParts&)> Giving(Evaluation evaluation) {
  return [evaluation = std::move(evaluation)](FakeProblemParts& parts) {
    parts.evaluate = [evaluation](const Assignment&) { return evaluation; };
  };
}

INSTANTIATE_TEST_SUITE_P(
    All, ProblemThatBreaksItsPromises,
    testing::Values(
        BrokenProblem{"ByNoReport", [](FakeProblemParts& parts) { parts.reports = 0; },
                      "a problem that was not stopped reports every assignment"},
        BrokenProblem{"ByTwoReports", [](FakeProblemParts& parts) { parts.reports = 2; },
                      "a problem reports each assignment once"},
        BrokenProblem{"ByAMissingMetric",
                      Giving({.metrics = {{"size", 1}}, .failure = std::nullopt, .record = ""}),
                      "an evaluation has every metric of its problem"},
        BrokenProblem{
            "ByANanMetric",
            Giving({.metrics = {{"cost", std::nan("")}}, .failure = std::nullopt, .record = ""}),
            "the metrics of an evaluation are finite"},
        BrokenProblem{"ByMetricsOfAFailure",
                      Giving({.metrics = {{"cost", 1}}, .failure = Failure{}, .record = ""}),
                      "a failed evaluation has no metrics"},
        BrokenProblem{"ByAMaskThatLeavesNothing",
                      [](FakeProblemParts& parts) {
                        parts.mask = [](std::span<const std::int32_t> prefix) {
                          return std::vector<bool>(2 + prefix.size(), false);
                        };
                      },
                      "a mask leaves a choice"},
        BrokenProblem{"ByAMaskOfAnotherLength",
                      [](FakeProblemParts& parts) {
                        parts.mask = [](std::span<const std::int32_t>) {
                          return std::vector<bool>(7, true);
                        };
                      },
                      "a mask has one flag for each choice"},
        BrokenProblem{"ByAnchorsOfOneName",
                      [](FakeProblemParts& parts) {
                        parts.anchors = {{"x", {0, 0}}, {"x", {1, 1}}};
                      },
                      "anchors have names of their own"}),
    [](const auto& test) { return test.param.label; });

TEST(SearchProblem, DescribesOnlyWhatFits) {
  const FakeProblem problem({});
  EXPECT_EQ(problem.Describe({1, 1}), "{}");
  EXPECT_THROW(static_cast<void>(problem.Describe({1})), UserError);
}

TEST(ChoicesAsJson, NamesDecisionsInTheirOrder) {
  const std::vector<Decision> decisions = {{"z\"", {"x"}}, {"a\xff", {"x", "int8"}}};
  EXPECT_EQ(ChoicesAsJson(decisions, {0, 1}), "{\"z\\\"\":\"x\",\"a\xef\xbf\xbd\":\"int8\"}");
}

TEST(SpaceSize, MultipliesChoicesUpToInfinity) {
  EXPECT_EQ(SpaceSize(kDecisions), 6);
  EXPECT_EQ(SpaceSize(std::vector<Decision>(2000, kDecisions[1])),
            std::numeric_limits<double>::infinity());
}

/// Answers every Ask with the same list.
class FixedAgent final : public Agent {
 public:
  FixedAgent(AgentSetup setup, std::vector<Assignment> answer)
      : Agent(std::move(setup)), answer_(std::move(answer)) {}

 private:
  std::vector<Assignment> DoAsk(std::uint64_t /*first*/, std::size_t /*count*/) override {
    return answer_;
  }
  std::vector<Assignment> answer_;
};

TEST(Agent, RefusesMalformedDecisions) {
  EXPECT_EQ(MessageOf<UserError>([] { FixedAgent({.decisions = {}}, {}); }),
            "a search space needs at least one decision");
}

TEST(Agent, RefusesToHaveNoObjective) {
  EXPECT_EQ(
      MessageOf<UserError>([] { FixedAgent({.decisions = kDecisions, .objectives = 0}, {}); }),
      "an agent needs at least one objective");
}

TEST(Agent, IsFoundOutWhenItProposesMoreThanItWasAskedFor) {
  FixedAgent agent({.decisions = kDecisions}, {{0, 0}, {0, 1}});
  EXPECT_EQ(agent.Ask(0, 2).size(), 2U);
  EXPECT_THROW(static_cast<void>(agent.Ask(0, 1)), InternalError);
}

TEST(Agent, IsFoundOutWhenItProposesWhatDoesNotFit) {
  FixedAgent agent({.decisions = kDecisions}, {{0, 3}});
  EXPECT_THROW(static_cast<void>(agent.Ask(0, 1)), InternalError);
}

TEST(Agent, IsFoundOutWhenItProposesWhatIsRuledOut) {
  FixedAgent agent({.decisions = kDecisions, .mask = NoXAfterY}, {{1, 0}});
  EXPECT_THROW(static_cast<void>(agent.Ask(0, 1)), InternalError);
}

TEST(Agent, IsNotAskedForTrialsBeforeItsFirst) {
  FixedAgent agent({.decisions = kDecisions, .first_trial = 2}, {{0, 0}});
  EXPECT_EQ(agent.Ask(2, 1).size(), 1U);
  EXPECT_THROW(static_cast<void>(agent.Ask(1, 1)), InternalError);
}

struct InvalidResult {
  std::string label;
  TrialResult result;
  std::string must_hold;
};
void PrintTo(const InvalidResult& item, std::ostream* out) {
  *out << item.label;
}

class AgentTell : public testing::TestWithParam<InvalidResult> {};

TEST_P(AgentTell, RejectsAnInvalidResult) {
  FixedAgent agent({.decisions = kDecisions}, {});
  agent.Tell(std::vector<TrialResult>{{.trial = 4, .assignment = {0, 0}, .objectives = {1}}});
  const std::string message =
      MessageOf<InternalError>([&] { agent.Tell(std::vector<TrialResult>{GetParam().result}); });
  EXPECT_TRUE(message.ends_with(": must hold: " + GetParam().must_hold)) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, AgentTell,
    testing::Values(
        InvalidResult{"TheSameTrialAgain",
                      {.trial = 4, .assignment = {0, 0}, .objectives = {1}},
                      "an agent is told each trial once, in order"},
        InvalidResult{"ChoicesOutOfRange",
                      {.trial = 5, .assignment = {2, 0}, .objectives = {1}},
                      "an agent is told choices in range"},
        InvalidResult{"TooFewObjectives",
                      {.trial = 5, .assignment = {0, 0}, .objectives = {}},
                      "an agent is told every objective of a trial, and none of a failed one"},
        InvalidResult{"ObjectivesOfAFailure",
                      {.trial = 5, .assignment = {0, 0}, .objectives = {1}, .failed = true},
                      "an agent is told every objective of a trial, and none of a failed one"},
        InvalidResult{"TooManyConstraints",
                      {.trial = 5, .assignment = {0, 0}, .objectives = {1}, .constraints = {0}},
                      "an agent is told every constraint of a trial, and none of a failed one"},
        InvalidResult{"NanObjective",
                      {.trial = 5, .assignment = {0, 0}, .objectives = {std::nan("")}},
                      "an agent is told finite objectives"},
        InvalidResult{"NegativeViolation",
                      {.trial = 5, .assignment = {0, 0}, .objectives = {1}, .violation = -1},
                      "a violation is not negative"}),
    [](const auto& test) { return test.param.label; });

}  // namespace
}  // namespace msc::gym
