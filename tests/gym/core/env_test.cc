#include "gym/core/env.h"

#include <limits>
#include <ostream>
#include <set>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "gym/core/decision_env.h"
#include "gym/core/env_registry.h"
#include "tests/gym/core/fake_env.h"

namespace msc::gym {
namespace {

TEST(Env, RefusesAStepBeforeAReset) {
  FakeEnv env({});
  EXPECT_EQ(MessageOf<UserError>([&] { env.Step(Point{0}); }),
            "env 'Fake-v0': call Reset before Step");
}

TEST(Env, RefusesAStepAfterTheEnd) {
  FakeEnv env({});
  env.Reset();
  for (int i = 0; i < 3; ++i) env.Step(Point{0});
  EXPECT_EQ(MessageOf<UserError>([&] { env.Step(Point{0}); }),
            "env 'Fake-v0': the episode has ended; call Reset to start another");
}

TEST(Env, RefusesAnActionOutsideTheSpaceAndGoesOn) {
  FakeEnv env({});
  env.Reset();
  EXPECT_EQ(MessageOf<UserError>([&] { env.Step(Point{2}); }),
            "env 'Fake-v0': action 2 is not in Discrete(2)");
  EXPECT_EQ(env.Step(Point{0}).observation, Point{1});
}

TEST(Env, RefusesAnActionThatIsMaskedOut) {
  FakeParts parts;
  parts.actions = Discrete{2, 5};
  parts.mask = [] { return std::vector<bool>{true, false}; };
  FakeEnv env(std::move(parts));
  env.Reset();
  EXPECT_EQ(MessageOf<UserError>([&] { env.Step(Point{6}); }),
            "env 'Fake-v0': action 6 is masked out now");
  EXPECT_EQ(env.Step(Point{5}).reward, 1);
}

TEST(Env, RefusesAResetOptionItDoesNotName) {
  FakeParts parts;
  parts.facts.reset_options = {"level", "start"};
  FakeEnv env(std::move(parts));
  EXPECT_EQ(MessageOf<UserError>([&] {
              env.Reset(1, {{"levle", 1.0}});
            }),
            "env 'Fake-v0' has no reset option 'levle'; known: level, start");
  EXPECT_NO_THROW(env.Reset(1, {{"level", 1.0}}));
}

struct BrokenEnv {
  std::string label;
  std::function<void(FakeParts&)> breaks;
  std::string must_hold;
};
void PrintTo(const BrokenEnv& item, std::ostream* out) {
  *out << item.label;
}

class EnvThatBreaksItsPromises : public testing::TestWithParam<BrokenEnv> {};

TEST_P(EnvThatBreaksItsPromises, IsFoundOut) {
  FakeParts parts;
  GetParam().breaks(parts);
  FakeEnv env(std::move(parts));
  const std::string message = MessageOf<InternalError>([&] {
    env.Reset();
    for (int i = 0; i < 3; ++i) env.Step(Point{0});
  });
  EXPECT_TRUE(message.ends_with(": must hold: " + GetParam().must_hold)) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, EnvThatBreaksItsPromises,
    testing::Values(
        BrokenEnv{"ByAResetOutsideItsSpace",
                  [](FakeParts& parts) {
                    parts.reset = [](Rng&) { return ResetResult{Point{10}, {}}; };
                  },
                  "the observation of a reset is in the observation space"},
        BrokenEnv{"ByAStepOutsideItsSpace",
                  [](FakeParts& parts) {
                    parts.step = [](Rng&, std::int64_t) {
                      return StepResult{.observation = Point{-1}, .info = {}};
                    };
                  },
                  "the observation of a step is in the observation space"},
        BrokenEnv{"ByANanReward",
                  [](FakeParts& parts) {
                    parts.step = [](Rng&, std::int64_t) {
                      return StepResult{.observation = Point{1},
                                        .reward = std::numeric_limits<double>::quiet_NaN(),
                                        .info = {}};
                    };
                  },
                  "a reward is finite"},
        BrokenEnv{"ByALongerEpisode", [](FakeParts& parts) { parts.facts.max_steps = 2; },
                  "an episode ends within the env's max_steps"},
        BrokenEnv{"ByAMaskOfAnotherSize",
                  [](FakeParts& parts) { parts.mask = [] { return std::vector<bool>(3, true); }; },
                  "an action mask has one flag per value of a Discrete action space"},
        BrokenEnv{"ByAMaskWithoutALegalAction",
                  [](FakeParts& parts) { parts.mask = [] { return std::vector<bool>(2, false); }; },
                  "a running episode has a legal action"}),
    [](const auto& test) { return test.param.label; });

FakeParts Drawing() {
  FakeParts parts;
  parts.observations = Discrete{1 << 30};
  parts.reset = [](Rng& rng) {
    return ResetResult{Point{static_cast<std::int64_t>(rng.Below(1 << 30))}, {}};
  };
  return parts;
}

TEST(Env, RestartsItsGeneratorFromASeed) {
  FakeEnv env(Drawing());
  const Point first = env.Reset(5).observation;
  EXPECT_EQ(env.Reset(5).observation, first);
  EXPECT_FALSE(env.Reset(6).observation == first);
}

TEST(Env, GoesOnWithItsGeneratorWithoutASeed) {
  FakeEnv env(Drawing());
  const Point first = env.Reset(5).observation;
  EXPECT_FALSE(env.Reset().observation == first);
}

TEST(Env, UsesSeedZeroIfTheFirstResetHasNone) {
  FakeEnv a(Drawing());
  FakeEnv b(Drawing());
  EXPECT_EQ(a.Reset().observation, b.Reset(0).observation);
}

TEST(Env, NeedsAResetAfterAStepThatThrew) {
  FakeParts parts;
  parts.step = [](Rng&, std::int64_t) -> StepResult { throw SystemError("disk full"); };
  FakeEnv env(std::move(parts));
  env.Reset();
  EXPECT_EQ(MessageOf<SystemError>([&] { env.Step(Point{0}); }), "disk full");
  EXPECT_EQ(MessageOf<UserError>([&] { env.Step(Point{0}); }),
            "env 'Fake-v0': the episode has ended; call Reset to start another");
}

TEST(SampleAction, DrawsEveryLegalActionAndNoOther) {
  FakeParts parts;
  parts.actions = Discrete{5, 10};
  parts.mask = [] { return std::vector<bool>{false, true, false, true, true}; };
  FakeEnv env(std::move(parts));
  env.Reset();
  Rng rng(2);
  std::set<std::int64_t> drawn;
  for (int i = 0; i < 100; ++i) drawn.insert(std::get<std::int64_t>(SampleAction(env, rng).value));
  EXPECT_EQ(drawn, (std::set<std::int64_t>{11, 13, 14}));
}

class EnvIds : public testing::TestWithParam<std::string> {};
class MalformedEnvIds : public testing::TestWithParam<std::string> {};

TEST_P(EnvIds, AreAccepted) {
  EXPECT_NO_THROW(CheckEnvId(GetParam()));
}
TEST_P(MalformedEnvIds, AreRefused) {
  EXPECT_EQ(MessageOf<UserError>([] { CheckEnvId(GetParam()); }),
            "env id '" + GetParam() + "' must look like Name-v0 or namespace/Name-v0");
}

INSTANTIATE_TEST_SUITE_P(All, EnvIds,
                         testing::Values("Quantize-v0", "Toy/OneMax-v12", "a:b_c-1/d.e:f-v3",
                                         "x-v1-v2"));
INSTANTIATE_TEST_SUITE_P(All, MalformedEnvIds,
                         testing::Values("", "Quantize", "Quantize-v", "Quantize-v01",
                                         "Quantize-vx", "-v0", "/Quantize-v0", "a/b/c-v0", "a b-v0",
                                         "a.b/c-v0", "Quantize-v0 ", "Quantize-V0", "\xc3\xa9-v0"));

using Envs = EnvRegistry<>;

TEST(EnvRegistry, MakesWhatWasRegistered) {
  Envs envs;
  envs.Add({.id = "Fake-v0", .summary = "a fake", .max_steps = 3},
           [] { return std::make_unique<FakeEnv>(FakeParts{}); });
  EXPECT_EQ(envs.Make("Fake-v0")->facts().id, "Fake-v0");
  ASSERT_EQ(envs.Specs().size(), 1U);
  EXPECT_EQ(envs.Specs()[0].summary, "a fake");
}

TEST(EnvRegistry, NamesTheKnownIdsWhenOneIsUnknown) {
  Envs envs;
  const auto make = [] { return std::make_unique<FakeEnv>(FakeParts{}); };
  envs.Add({.id = "Fake-v0", .summary = ""}, make);
  envs.Add({.id = "Also-v1", .summary = ""}, make);
  EXPECT_EQ(MessageOf<UserError>([&] { static_cast<void>(envs.Make("Fake")); }),
            "unknown name 'Fake'; known: Also-v1, Fake-v0");
}

TEST(EnvRegistry, RefusesAMalformedId) {
  Envs envs;
  EXPECT_THROW(envs.Add({.id = "Fake", .summary = ""}, nullptr), UserError);
}

TEST(EnvRegistry, RefusesASecondEnvOfTheSameId) {
  Envs envs;
  envs.Add({.id = "Fake-v0", .summary = ""}, nullptr);
  EXPECT_THROW(envs.Add({.id = "Fake-v0", .summary = ""}, nullptr), InternalError);
}

struct BrokenSpec {
  std::string label;
  EnvSpec spec;
  std::string must_hold;
};
void PrintTo(const BrokenSpec& item, std::ostream* out) {
  *out << item.label;
}

class EnvUnlikeItsSpec : public testing::TestWithParam<BrokenSpec> {};

TEST_P(EnvUnlikeItsSpec, IsFoundOut) {
  Envs envs;
  envs.Add(GetParam().spec, [] { return std::make_unique<FakeEnv>(FakeParts{}); });
  const std::string message =
      MessageOf<InternalError>([&] { static_cast<void>(envs.Make(GetParam().spec.id)); });
  EXPECT_TRUE(message.ends_with(": must hold: " + GetParam().must_hold)) << message;
}

INSTANTIATE_TEST_SUITE_P(
    All, EnvUnlikeItsSpec,
    testing::Values(BrokenSpec{"InItsId",
                               {.id = "Other-v0", .summary = ""},
                               "an env has the id it is registered under"},
                    BrokenSpec{"InBeingMeasured",
                               {.id = "Fake-v0", .summary = "", .nondeterministic = true},
                               "an env is as deterministic as it is registered"},
                    BrokenSpec{"InItsLength",
                               {.id = "Fake-v0", .summary = "", .max_steps = 4},
                               "an env has the max_steps it is registered with"}),
    [](const auto& test) { return test.param.label; });

std::unique_ptr<Env> Walked(FakeProblemParts parts,
                            std::vector<std::vector<double>> features = {}) {
  parts.prior.features = std::move(features);
  return MakeDecisionEnv(std::make_unique<FakeProblem>(std::move(parts)),
                         {.facts = {.id = "Walk-v0"}, .reward = [](const Evaluation& result) {
                            return result.failure ? -100 : -result.metrics.at("cost");
                          }});
}

TEST(DecisionEnv, TakesOneDecisionAStepAndEvaluatesAtTheEnd) {
  const auto env = Walked({});
  env->Reset();
  const StepResult first = env->Step(Point{1});
  EXPECT_EQ(ToString(first.observation), "{chosen: [2, 0], decision: 1}");
  EXPECT_FALSE(first.terminated);
  EXPECT_EQ(first.reward, 0);
  const StepResult last = env->Step(Point{2});
  EXPECT_EQ(ToString(last.observation), "{chosen: [2, 3], decision: 2}");
  EXPECT_TRUE(last.terminated);
  EXPECT_EQ(last.reward, -3);
  EXPECT_EQ(std::get<double>(last.info.at("cost")), 3);
}

TEST(DecisionEnv, MasksChoicesThatADecisionLacks) {
  const auto env = Walked({});
  env->Reset();
  EXPECT_EQ(env->ActionMask(), (std::vector<bool>{true, true, false}));
  env->Step(Point{0});
  EXPECT_EQ(env->ActionMask(), (std::vector<bool>{true, true, true}));
}

TEST(DecisionEnv, ShowsTheFeaturesOfTheDecisionAtHand) {
  const auto env = Walked({}, {{1, -2}, {3, 4}});
  EXPECT_EQ(env->observation_space().ToString(),
            "Dict(chosen: MultiDiscrete([3, 4]), decision: Discrete(3), features: Box([0, -2], "
            "[3, 4], shape=[2]))");
  EXPECT_EQ(ToString(env->Reset().observation), "{chosen: [0, 0], decision: 0, features: [1, -2]}");
  env->Step(Point{0});
  EXPECT_EQ(ToString(env->Step(Point{0}).observation),
            "{chosen: [1, 1], decision: 2, features: [0, 0]}");
}

TEST(DecisionEnv, ReportsAFailureInTheInfoOfTheLastStep) {
  FakeProblemParts parts;
  parts.evaluate = [](const Assignment&) {
    return Evaluation{
        .metrics = {}, .failure = Failure{FailureKind::kTimeout, "5 s"}, .record = ""};
  };
  const auto env = Walked(std::move(parts));
  env->Reset();
  env->Step(Point{0});
  const StepResult last = env->Step(Point{0});
  EXPECT_EQ(last.reward, -100);
  EXPECT_EQ(std::get<std::string>(last.info.at("failure")), "timeout: 5 s");
}

TEST(DecisionEnv, RendersWhatIsDecided) {
  const auto env = Walked({});
  env->Reset();
  env->Step(Point{1});
  EXPECT_EQ(env->Render(), "a: y\nb: -\n");
}

TEST(DecisionEnv, RefusesFeaturesThatDoNotFit) {
  using Rows = std::vector<std::vector<double>>;
  const Rows too_few = {{1}};
  const Rows of_two_lengths = {{1}, {1, 2}};
  const Rows infinite = {{1}, {std::numeric_limits<double>::infinity()}};
  for (const Rows& rows : {too_few, of_two_lengths, infinite}) {
    EXPECT_THROW(Walked({}, rows), InternalError) << rows.size();
  }
}

}  // namespace
}  // namespace msc::gym
