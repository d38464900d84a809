#include "gym/core/env_checker.h"

#include <limits>
#include <memory>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "gym/core/decision_env.h"
#include "tests/gym/core/fake_env.h"

namespace msc::gym {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::IsEmpty;

EnvMaker Faking(const FakeParts& parts) {
  return [parts] { return std::make_unique<FakeEnv>(parts); };
}

EnvMaker Walking(const FakeProblemParts& parts) {
  return [parts] {
    return MakeDecisionEnv(
        std::make_unique<FakeProblem>(parts),
        {.facts = {.id = "Walk-v0"}, .reward = [](const Evaluation& /*result*/) { return 0.0; }});
  };
}

/// An env that does not come from MakeDecisionEnv and still offers a problem of two decisions.
EnvMaker Offering(const FakeParts& parts, const FakeProblemParts& problem = {}) {
  return [parts, problem] {
    return std::make_unique<FakeEnv>(parts, std::make_unique<FakeProblem>(problem));
  };
}

/// All but the first choice of each decision.
FakeProblemParts WithoutFirsts() {
  FakeProblemParts parts;
  parts.anchors = {{"second", {1, 1}}};
  parts.mask = [](std::span<const std::int32_t> prefix) {
    std::vector<bool> flags(2 + prefix.size(), true);
    flags[0] = false;
    return flags;
  };
  return parts;
}

TEST(CheckEnv, PassesASoundEnv) {
  EXPECT_THAT(CheckEnv(Faking({})), IsEmpty());
}

TEST(CheckEnv, PassesASoundEnvThatDraws) {
  FakeParts parts;
  parts.reset = [](Rng& rng) {
    return ResetResult{Point{static_cast<std::int64_t>(rng.Below(10))}, {}};
  };
  EXPECT_THAT(CheckEnv(Faking(parts)), IsEmpty());
}

TEST(CheckEnv, PassesASoundEnvWithAProblem) {
  EXPECT_THAT(CheckEnv(Walking({})), IsEmpty());
}

TEST(CheckEnv, PassesASoundEnvWithAMaskedProblem) {
  EXPECT_THAT(CheckEnv(Walking(WithoutFirsts())), IsEmpty());
}

TEST(CheckEnv, PassesAnEnvWhoseEvaluationsFail) {
  FakeProblemParts parts;
  parts.evaluate = [](const Assignment&) {
    return Evaluation{.metrics = {}, .failure = Failure{}, .record = ""};
  };
  EXPECT_THAT(CheckEnv(Walking(parts)), IsEmpty());
}

TEST(CheckEnv, AllowsMeasuredRewardsToDifferWhereTheFactsSaySo) {
  FakeParts parts;
  parts.facts.nondeterministic = true;
  parts.step = [clock = std::make_shared<double>(0)](Rng&, std::int64_t step) {
    return StepResult{
        .observation = Point{step}, .reward = ++*clock, .terminated = step == 3, .info = {}};
  };
  EXPECT_THAT(CheckEnv(Faking(parts)), IsEmpty());
}

struct Broken {
  std::string label;
  EnvMaker make;
  std::string finding;  ///< how it ends
};
void PrintTo(const Broken& item, std::ostream* out) {
  *out << item.label;
}

class CheckEnvFinds : public testing::TestWithParam<Broken> {};

TEST_P(CheckEnvFinds, WhatIsBroken) {
  EXPECT_THAT(CheckEnv(GetParam().make), Contains(EndsWith(GetParam().finding)));
}

Broken With(std::string label, const std::function<void(FakeParts&)>& breaks, std::string finding) {
  FakeParts parts;
  breaks(parts);
  return {std::move(label), Faking(parts), std::move(finding)};
}

INSTANTIATE_TEST_SUITE_P(
    InFactsAndSpaces, CheckEnvFinds,
    testing::Values(
        With(
            "AMalformedId", [](FakeParts& parts) { parts.facts.id = "Fake"; },
            "facts: env id 'Fake' must look like Name-v0 or namespace/Name-v0"),
        With(
            "NoSteps", [](FakeParts& parts) { parts.facts.max_steps = 0; },
            "facts: max_steps is below 1"),
        With(
            "AnOptionTwice",
            [](FakeParts& parts) {
              parts.facts.reset_options = {"x", "x"};
            },
            "facts: a reset option is named twice"),
        With(
            "ActionsWithoutBounds",
            [](FakeParts& parts) {
              parts.actions = Box{{0}, {std::numeric_limits<double>::infinity()}, {1}};
            },
            "action space: Box([0, inf], shape=[1]) has infinite bounds; scale actions to finite "
            "ones"),
        Broken{"SpacesThatChange",
               [made = std::make_shared<std::int64_t>(1)] {
                 FakeParts parts;
                 parts.actions = Discrete{++*made};
                 return std::make_unique<FakeEnv>(parts);
               },
               "spaces differ between two envs from the same factory"},
        With(
            "AnObservationOutsideItsSpace",
            [](FakeParts& parts) { parts.observations = Discrete{3}; },
            "must hold: the observation of a step is in the observation space"),
        With(
            "AMaskWithoutALegalAction",
            [](FakeParts& parts) { parts.mask = [] { return std::vector<bool>(2, false); }; },
            "must hold: a running episode has a legal action")),
    [](const auto& test) { return test.param.label; });

/// Takes what the caller cannot see: how often any env was reset.
std::function<ResetResult(Rng&)> Counting() {
  return [count = std::make_shared<std::int64_t>(0)](Rng&) {
    return ResetResult{Point{++*count % 10}, {}};
  };
}

/// Starts each episode, seeded or not, from the last seed.
class ReseedingEnv final : public Env {
 private:
  ResetResult DoReset(std::optional<std::uint64_t> seed, const ResetOptions& /*options*/) override {
    seed_ = seed.value_or(seed_);
    return {Point{static_cast<std::int64_t>(seed_ % 10)}, {}};
  }
  StepResult DoStep(const Point& /*action*/) override {
    return {.observation = Point{0}, .terminated = true, .info = {}};
  }
  [[nodiscard]] const Space& DoObservationSpace() const override { return space_; }
  [[nodiscard]] const Space& DoActionSpace() const override { return space_; }
  [[nodiscard]] const EnvFacts& DoFacts() const override { return facts_; }

  Space space_ = Discrete{10};
  EnvFacts facts_ = {.id = "Reseeding-v0"};
  std::uint64_t seed_ = 0;
};

/// Remembers, across resets, how many steps it ever took.
EnvMaker Remembering() {
  return [] {
    FakeParts parts;
    parts.observations = Discrete{1000};
    auto steps = std::make_shared<std::int64_t>(0);
    parts.reset = [steps](Rng&) { return ResetResult{Point{*steps}, {}}; };
    parts.step = [steps](Rng&, std::int64_t step) {
      return StepResult{.observation = Point{++*steps}, .terminated = step == 3, .info = {}};
    };
    return std::make_unique<FakeEnv>(parts);
  };
}

INSTANTIATE_TEST_SUITE_P(
    InSeeds, CheckEnvFinds,
    testing::Values(
        With(
            "AnotherEpisodeInAFreshEnv", [](FakeParts& parts) { parts.reset = Counting(); },
            "two envs with one seed and the same actions differ: 'reset observation=2 info={}' "
            "and 'reset observation=3 info={}'"),
        Broken{"StateLeftOver", Remembering(),
               "a second reset with the same seed gives another episode (is state left over?): "
               "'reset observation=0 info={}' and 'reset observation=3 info={}'"},
        Broken{"AGeneratorThatStartsAgain", [] { return std::make_unique<ReseedingEnv>(); },
               "resets without a seed start from the last seed again"}),
    [](const auto& test) { return test.param.label; });

Broken WithProblem(std::string label, const std::function<void(FakeProblemParts&)>& breaks,
                   std::string finding) {
  FakeProblemParts parts;
  breaks(parts);
  return {std::move(label), Walking(parts), std::move(finding)};
}

INSTANTIATE_TEST_SUITE_P(
    InProblems, CheckEnvFinds,
    testing::Values(
        WithProblem(
            "MetricsOfOneName",
            [](FakeProblemParts& parts) {
              parts.metrics = {"cost", "cost"};
            },
            "problem: metrics need names of their own, at least one"),
        WithProblem(
            "NoMetrics", [](FakeProblemParts& parts) { parts.metrics = {}; },
            "problem: metrics need names of their own, at least one"),
        WithProblem(
            "NoParallelism", [](FakeProblemParts& parts) { parts.parallelism = 0; },
            "problem: parallelism is 0"),
        WithProblem(
            "ADescriptionThatIsNoJson", [](FakeProblemParts& parts) { parts.description = "int8"; },
            "problem: Describe is not JSON: int8"),
        WithProblem(
            "NoHash", [](FakeProblemParts& parts) { parts.hash = ""; },
            "problem: the hash is empty"),
        Broken{"AHashThatChanges",
               [made = std::make_shared<int>(0)] {
                 FakeProblemParts parts;
                 parts.hash = std::to_string(++*made);
                 return Walking(parts)();
               },
               "problem: two envs from the same factory have different hashes"},
        WithProblem(
            "AnAnchorThatDoesNotFit",
            [](FakeProblemParts& parts) {
              parts.anchors = {{"x", {9, 9}}};
            },
            "problem: choice 9 of decision 'a' must be between 0 and 1"),
        WithProblem(
            "ARecordThatIsNoJson",
            [](FakeProblemParts& parts) {
              parts.evaluate = [](const Assignment&) {
                return Evaluation{.metrics = {{"cost", 1}}, .failure = std::nullopt, .record = "{"};
              };
            },
            "problem: a record is not JSON: {"),
        WithProblem(
            "AMissingMetric", [](FakeProblemParts& parts) { parts.metrics = {"size"}; },
            "must hold: an evaluation has every metric of its problem"),
        WithProblem(
            "TwoReports", [](FakeProblemParts& parts) { parts.reports = 2; },
            "must hold: a problem reports each assignment once"),
        WithProblem(
            "AnEvaluationThatChanges",
            [](FakeProblemParts& parts) {
              parts.evaluate = [count = std::make_shared<double>(0)](const Assignment&) {
                return Evaluation{
                    .metrics = {{"cost", ++*count}}, .failure = std::nullopt, .record = ""};
              };
            },
            "problem: evaluating the same again gives something else"),
        WithProblem(
            "SumsThatAreNotWhatIsEvaluated",
            [](FakeProblemParts& parts) {
              parts.prior.costs = {{"cost", {.offset = 0, .effects = {{0, 1}, {0, 1, 2.5}}}}};
            },
            "problem: 'cost' is not the sum that the problem declares"),
        WithProblem(
            "SumsOfNoMetric",
            [](FakeProblemParts& parts) {
              parts.prior.costs = {{"size", {.offset = 0, .effects = {{0, 1}, {0, 1, 2}}}}};
            },
            "problem: sums of 'size', which is not a metric"),
        WithProblem(
            "EstimatesOfNoMetric",
            [](FakeProblemParts& parts) {
              parts.prior.estimates = {{"size", {.offset = 0, .effects = {{0, 1}, {0, 1, 2}}}}};
            },
            "problem: estimates of 'size', which is not a metric"),
        WithProblem(
            "EstimatesThatAreNotFinite",
            [](FakeProblemParts& parts) {
              constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
              parts.prior.estimates = {{"cost", {.offset = 0, .effects = {{0, 1}, {0, kNone, 2}}}}};
            },
            "problem: estimates of 'cost' not finite"),
        WithProblem(
            "ARelevanceBelowZero",
            [](FakeProblemParts& parts) {
              parts.prior.relevance = {1, -1};
            },
            "must hold: a relevance is finite and not negative"),
        WithProblem(
            "ACoverTwice",
            [](FakeProblemParts& parts) {
              parts.prior.cover_front = {{{0, 1}, 1, 2}, {{0, 1}, 2, 1}};
            },
            "problem: a cover occurs twice"),
        WithProblem(
            "ACoverThatIsNotLegal",
            [](FakeProblemParts& parts) {
              parts.prior.cover_front = {{{0, 7}, 1, 2}};
            },
            "choice 7 of decision 'b' must be between 0 and 2"),
        WithProblem(
            "ACoverForLessThanNothing",
            [](FakeProblemParts& parts) {
              parts.prior.cover_front = {{{0, 1}, -1, 2}};
            },
            "problem: a cover costs less than nothing, or no number"),
        WithProblem(
            "HalfABoundary",
            [](FakeProblemParts& parts) {
              parts.prior.cover_front = {{{0, 1}, 1, 0.5}};
            },
            "problem: the boundaries of a cover are not a count"),
        WithProblem(
            "RoughMetricsOfOtherNames",
            [](FakeProblemParts& parts) {
              parts.fidelities = 2;
              parts.evaluate_roughly = [](std::size_t fidelity, const Assignment& /*assignment*/) {
                Evaluation evaluation{.metrics = {{"cost", 1}}, .failure = {}, .record = ""};
                if (fidelity == 1) evaluation.metrics.emplace("guess", 1);
                return evaluation;
              };
            },
            "problem: rough evaluations have other metrics than full ones"),
        WithProblem(
            "ARoughEvaluationThatChanges",
            [](FakeProblemParts& parts) {
              parts.fidelities = 1;
              parts.evaluate_roughly = [count = std::make_shared<double>(0)](std::size_t,
                                                                             const Assignment&) {
                return Evaluation{.metrics = {{"cost", ++*count}}, .failure = {}, .record = ""};
              };
            },
            "problem: evaluating roughly again gives something else"),
        Broken{"ARecallThatChangesWhatIsFound",
               [] {
                 FakeProblemParts parts;
                 const auto recalled = std::make_shared<double>(0);
                 parts.recall = [recalled](const Assignment&, const Evaluation&) { ++*recalled; };
                 parts.evaluate = [recalled](const Assignment&) {
                   return Evaluation{.metrics = {{"cost", *recalled}}, .failure = {}, .record = ""};
                 };
                 return Walking(parts)();
               },
               "problem: evaluating the same after Recall gives something else"},
        WithProblem(
            "ARecallThatIsRefused",
            [](FakeProblemParts& parts) {
              parts.recall = [](const Assignment&, const Evaluation&) {
                throw UserError("not of this problem");
              };
            },
            "evaluations: not of this problem"),
        Broken{"AMaskThatTheEnvDoesNotShow", Offering({}, WithoutFirsts()),
               "problem: the env shows another mask"},
        Broken{"AWalkThatDoesNotEnd", Offering({}),
               "problem: the env does not end with the last decision"}),
    [](const auto& test) { return test.param.label; });

Broken WithWalk(std::string label, const std::function<StepResult(Rng&, std::int64_t)>& step,
                std::string finding) {
  FakeParts parts;
  parts.actions = Discrete{3};
  parts.step = step;
  return {std::move(label), Offering(parts), std::move(finding)};
}

INSTANTIATE_TEST_SUITE_P(
    InWalks, CheckEnvFinds,
    testing::Values(WithWalk(
                        "AnEarlyEnd",
                        [](Rng&, std::int64_t) {
                          return StepResult{
                              .observation = Point{0}, .terminated = true, .info = {}};
                        },
                        "problem: the env ends before the last decision"),
                    WithWalk(
                        "AMetricThatIsNotInTheInfo",
                        [](Rng&, std::int64_t step) {
                          return StepResult{
                              .observation = Point{0}, .terminated = step == 2, .info = {}};
                        },
                        "problem: the last step's info does not contain 'cost'"),
                    WithWalk(
                        "AnotherMetricInTheInfo",
                        [](Rng&, std::int64_t step) {
                          return StepResult{.observation = Point{0},
                                            .terminated = step == 2,
                                            .info = {{"cost", 77.0}}};
                        },
                        "problem: Step and Evaluate differ in 'cost'"),
                    WithWalk(
                        "AFailureThatEvaluateDoesNotHave",
                        [](Rng&, std::int64_t step) {
                          return StepResult{.observation = Point{0},
                                            .terminated = step == 2,
                                            .info = {{"failure", "crash: of its own"}}};
                        },
                        "problem: Step and Evaluate differ about a failure")),
    [](const auto& test) { return test.param.label; });

TEST(CheckEnv, PassesSumsCoversAndRungsThatAreRight) {
  FakeProblemParts parts;
  parts.prior.costs = {{"cost", {.offset = 0, .effects = {{0, 1}, {0, 1, 2}}}}};
  parts.prior.estimates = {{"cost", {.offset = 3, .effects = {{0, 9}, {0, 0, 0}}}}};
  parts.prior.cover_front = {{{0, 0}, 1, 1}, {{0, 1}, 2, 0}};
  parts.fidelities = 1;
  parts.evaluate_roughly = [](std::size_t, const Assignment&) {
    return Evaluation{.metrics = {{"cost", 8}}, .failure = {}, .record = ""};
  };
  EXPECT_THAT(CheckEnv(Walking(parts)), IsEmpty());
}

TEST(CheckEnv, ComparesWhatIsMeasuredOnlyWhereToldThatItRepeats) {
  const EnvMaker make = [] {
    FakeProblemParts parts;
    parts.evaluate = [count = std::make_shared<double>(0)](const Assignment&) {
      return Evaluation{.metrics = {{"cost", ++*count}}, .failure = {}, .record = ""};
    };
    return MakeDecisionEnv(
        std::make_unique<FakeProblem>(parts),
        {.facts = {.id = "Walk-v0", .nondeterministic = true},
         .reward = [](const Evaluation& result) { return -result.metrics.at("cost"); }});
  };
  EXPECT_THAT(CheckEnv(make), IsEmpty());
  const std::vector<std::string> found = CheckEnv(make, Repeats::kAlways);
  EXPECT_THAT(found, Contains(testing::HasSubstr("a second reset with the same seed")));
  EXPECT_THAT(found, Contains("problem: evaluating the same again gives something else"));
  EXPECT_THAT(found, Contains("problem: Step and Evaluate differ in 'cost'"));
}

TEST(CheckEnv, LeavesAWalkAloneThatIsCutShort) {
  FakeParts parts;
  parts.actions = Discrete{3};
  parts.step = [](Rng&, std::int64_t) {
    return StepResult{.observation = Point{0}, .truncated = true, .info = {}};
  };
  EXPECT_THAT(CheckEnv(Offering(parts)), IsEmpty());
}

}  // namespace
}  // namespace msc::gym
