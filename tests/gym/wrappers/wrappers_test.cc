#include <limits>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "envs/toy/knapsack.h"
#include "gym/core/env_checker.h"
#include "gym/core/playthrough.h"
#include "gym/wrappers/record_episode.h"
#include "gym/wrappers/time_limit.h"
#include "gym/wrappers/transform_reward.h"
#include "tests/gym/core/fake_env.h"

namespace msc::gym {
namespace {

std::unique_ptr<Env> Counter() {
  return std::make_unique<FakeEnv>(FakeParts{});
}

/// Never ends by itself.
std::unique_ptr<Env> Endless() {
  FakeParts parts;
  parts.facts.max_steps.reset();
  parts.step = [](Rng&, std::int64_t step) {
    return StepResult{.observation = Point{step % 10}, .reward = 1, .info = {}};
  };
  return std::make_unique<FakeEnv>(std::move(parts));
}

TEST(TimeLimit, TruncatesAtItsStep) {
  const auto env = WithTimeLimit(Endless(), 2);
  for (int episode = 0; episode < 2; ++episode) {
    env->Reset();
    EXPECT_FALSE(env->Step(Point{0}).truncated);
    const StepResult last = env->Step(Point{0});
    EXPECT_TRUE(last.truncated);
    EXPECT_FALSE(last.terminated);
    EXPECT_THROW(env->Step(Point{0}), UserError);
  }
}

TEST(TimeLimit, LeavesAnEndOfItsOwnAlone) {
  const auto env = WithTimeLimit(Counter(), 3);
  env->Reset();
  env->Step(Point{0});
  env->Step(Point{0});
  const StepResult last = env->Step(Point{0});
  EXPECT_TRUE(last.terminated);
  EXPECT_FALSE(last.truncated);
}

TEST(TimeLimit, IsWhatFactsSayIfItIsTheSmaller) {
  EXPECT_EQ(WithTimeLimit(Endless(), 7)->facts().max_steps, 7);
  EXPECT_EQ(WithTimeLimit(Counter(), 7)->facts().max_steps, 3);
  EXPECT_EQ(WithTimeLimit(Counter(), 2)->facts().max_steps, 2);
}

TEST(TimeLimit, RefusesToBeBelowOneStep) {
  EXPECT_EQ(MessageOf<UserError>([] { static_cast<void>(WithTimeLimit(Counter(), 0)); }),
            "a time limit must be at least 1 step, not 0");
}

TEST(TransformReward, ReplacesEveryReward) {
  const auto env = WithTransformedReward(Counter(), [](double reward) { return -2 * reward; });
  env->Reset();
  EXPECT_EQ(env->Step(Point{0}).reward, -2);
}

TEST(TransformReward, IsFoundOutWhenItGivesNoNumber) {
  const auto env = WithTransformedReward(
      Counter(), [](double) { return std::numeric_limits<double>::infinity(); });
  env->Reset();
  EXPECT_THROW(env->Step(Point{0}), InternalError);
}

TEST(Recording, HandsOverEachEpisodeOnce) {
  std::vector<Episode> episodes;
  const auto env =
      WithRecording(Counter(), [&](const Episode& episode) { episodes.push_back(episode); });
  env->Reset(4);
  for (int i = 0; i < 3; ++i) env->Step(Point{1});
  env->Reset();
  env->Step(Point{0});
  env->Reset();
  ASSERT_EQ(episodes.size(), 2U);
  EXPECT_EQ(episodes[0], (Episode{.seed = 4,
                                  .options = {},
                                  .steps = {{Point{1}, 1}, {Point{1}, 1}, {Point{1}, 1}},
                                  .terminated = true}));
  EXPECT_EQ(episodes[1], (Episode{.seed = {}, .options = {}, .steps = {{Point{0}, 1}}}));
}

TEST(Recording, ReplaysToTheSameEpisode) {
  std::vector<Episode> episodes;
  const auto env = WithRecording(envs::MakeKnapsackEnv(),
                                 [&](const Episode& episode) { episodes.push_back(episode); });
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    static_cast<void>(PlayEpisode(*env, {.seed = seed, .action_seed = seed}));
  }
  ASSERT_EQ(episodes.size(), 5U);
  const auto fresh = envs::MakeKnapsackEnv();
  for (const Episode& episode : episodes) EXPECT_EQ(Replay(*fresh, episode), episode);
}

TEST(Replay, RefusesAnActionThatIsNotLegal) {
  const auto env = Counter();
  const Episode episode{.seed = 1, .options = {}, .steps = {{Point{7}, 0}}};
  EXPECT_EQ(MessageOf<UserError>([&] { static_cast<void>(Replay(*env, episode)); }),
            "env 'Fake-v0': action 7 is not in Discrete(2)");
}

TEST(Wrappers, KeepTheContractOfWhatTheyWrap) {
  const auto make = [] {
    auto env = WithTransformedReward(envs::MakeKnapsackEnv(), [](double reward) { return reward; });
    return WithTimeLimit(WithRecording(std::move(env), [](const Episode&) {}), 100);
  };
  EXPECT_EQ(CheckEnv(make), std::vector<std::string>());
}

TEST(Wrappers, PassTheSeedOn) {
  FakeParts parts;
  parts.reset = [](Rng& rng) {
    return ResetResult{Point{static_cast<std::int64_t>(rng.Below(10))}, {}};
  };
  FakeEnv bare(parts);
  const auto wrapped = WithTimeLimit(std::make_unique<FakeEnv>(parts), 3);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(wrapped->Reset(seed).observation, bare.Reset(seed).observation);
  }
  EXPECT_EQ(wrapped->Reset().observation, bare.Reset().observation);
}

}  // namespace
}  // namespace msc::gym
