#include <cmath>
#include <limits>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "envs/toy/knapsack.h"
#include "gym/core/env_checker.h"
#include "gym/core/playthrough.h"
#include "gym/wrappers/cache.h"
#include "gym/wrappers/record_episode.h"
#include "gym/wrappers/reward_noise.h"
#include "gym/wrappers/time_limit.h"
#include "gym/wrappers/transform_reward.h"
#include "gym/wrappers/vector_env.h"
#include "gym/wrappers/wrap.h"
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

TEST(Borrow, LeavesTheEnvToItsOwner) {
  const auto env = Endless();
  {
    const auto limited = WithTimeLimit(BorrowEnv(*env), 1);
    limited->Reset();
    EXPECT_TRUE(limited->Step(Point{0}).truncated);
    EXPECT_EQ(limited->problem(), env->problem());
    EXPECT_EQ(limited->facts().id, env->facts().id);
  }
  EXPECT_FALSE(env->Step(Point{0}).truncated);
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
  for (const Episode& episode : episodes) EXPECT_EQ(ReplayEpisode(*fresh, episode), episode);
}

TEST(Replay, RefusesAnActionThatIsNotLegal) {
  const auto env = Counter();
  const Episode episode{.seed = 1, .options = {}, .steps = {{Point{7}, 0}}};
  EXPECT_EQ(MessageOf<UserError>([&] { static_cast<void>(ReplayEpisode(*env, episode)); }),
            "env 'Fake-v0': action 7 is not in Discrete(2)");
}

/// A counter whose rewards grow with every step that it takes, over all episodes.
std::unique_ptr<Env> Growing(std::shared_ptr<int> steps) {
  FakeParts parts;
  parts.step = [steps = std::move(steps)](Rng&, std::int64_t number) {
    return StepResult{.observation = Point{number},
                      .reward = static_cast<double>(++*steps),
                      .terminated = number == 3,
                      .info = {}};
  };
  return std::make_unique<FakeEnv>(std::move(parts));
}

/// Rewards of an episode of these actions.
std::vector<double> Play(Env& env, const std::vector<std::int64_t>& actions) {
  std::vector<double> rewards;
  env.Reset();
  for (const std::int64_t action : actions) rewards.push_back(env.Step(Point{action}).reward);
  return rewards;
}

TEST(Cache, TakesTheLastStepOfAnEpisodeOnce) {
  const auto steps = std::make_shared<int>(0);
  const auto env = WithCache(Growing(steps));
  EXPECT_EQ(Play(*env, {0, 1, 0}), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(Play(*env, {0, 1, 0}), (std::vector<double>{4, 5, 3}));
  EXPECT_EQ(*steps, 5);
  EXPECT_THROW(env->Step(Point{0}), UserError) << "it has ended all the same";
  EXPECT_EQ(Play(*env, {0, 1, 1}), (std::vector<double>{6, 7, 8})) << "it ends otherwise";
}

TEST(Cache, KeepsEpisodesApartThatBeginDifferently) {
  FakeParts parts;
  const auto steps = std::make_shared<int>(0);
  parts.reset = [](Rng& rng) {
    return ResetResult{Point{static_cast<std::int64_t>(rng.Below(10))}, {}};
  };
  parts.facts.max_steps = 1;
  parts.step = [steps](Rng&, std::int64_t) {
    ++*steps;
    return StepResult{.observation = Point{0}, .reward = 1, .terminated = true, .info = {}};
  };
  const auto env = WithCache(std::make_unique<FakeEnv>(std::move(parts)));
  std::set<std::int64_t> begun;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    begun.insert(std::get<std::int64_t>(env->Reset(seed).observation.value));
    env->Step(Point{0});
  }
  EXPECT_GT(begun.size(), 5U);
  EXPECT_EQ(*steps, static_cast<int>(begun.size()));
}

TEST(Cache, KeepsNoMoreThanItHasRoomFor) {
  const auto steps = std::make_shared<int>(0);
  const auto env = WithCache(Growing(steps), 1);
  for (int time = 0; time < 2; ++time) {
    Play(*env, {0, 0, 0});
    Play(*env, {1, 1, 1});
  }
  EXPECT_EQ(*steps, 3 + 3 + 2 + 3);
  EXPECT_THROW((void)WithCache(Counter(), 0), UserError);
}

TEST(RewardNoise, HasItsDeviationAndNoBias) {
  const auto env = WithRewardNoise(Endless(), 0.5);
  env->Reset(3);
  constexpr int kDraws = 10000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double noise = env->Step(Point{0}).reward - 1;
    sum += noise;
    squares += noise * noise;
  }
  // Four standard errors of each.
  EXPECT_NEAR(sum / kDraws, 0, 4 * 0.5 / 100);
  EXPECT_NEAR(std::sqrt(squares / kDraws), 0.5, 4 * 0.5 / 100 / std::sqrt(2));
}

TEST(RewardNoise, FollowsFromTheSeedOfTheReset) {
  const auto env = WithRewardNoise(Endless(), 1);
  const auto first = [&](std::optional<std::uint64_t> seed) {
    env->Reset(seed);
    return env->Step(Point{0}).reward;
  };
  const double of_three = first(3);
  EXPECT_NE(first(std::nullopt), of_three);
  EXPECT_NE(first(4), of_three);
  EXPECT_EQ(first(3), of_three);
}

TEST(RewardNoise, RefusesWhatIsNoDeviation) {
  EXPECT_EQ(MessageOf<UserError>([] { (void)WithRewardNoise(Counter(), -1); }),
            "the deviation of noise must be a finite number >= 0, not -1.000000");
  EXPECT_THROW((void)WithRewardNoise(Counter(), std::numeric_limits<double>::infinity()),
               UserError);
}

TEST(VectorEnv, IsItsEnvsSideBySide) {
  VectorEnv lanes(envs::MakeKnapsackEnv, 3);
  const std::vector<ResetResult> starts = lanes.Reset(5);
  ASSERT_EQ(starts.size(), 3U);
  std::vector<std::unique_ptr<Env>> alone;
  for (std::uint64_t i = 0; i < 3; ++i) {
    alone.push_back(envs::MakeKnapsackEnv());
    EXPECT_EQ(alone[i]->Reset(5 + i).observation, starts[i].observation);
  }
  for (int step = 0; step < 6; ++step) {
    const std::vector<Point> actions = {Point{step % 3}, Point{0}, Point{2}};
    const std::vector<StepResult> results = lanes.Step(actions);
    for (std::size_t i = 0; i < 3; ++i) {
      const StepResult wanted = alone[i]->Step(actions[i]);
      EXPECT_EQ(results[i].observation, wanted.observation);
      EXPECT_EQ(results[i].reward, wanted.reward);
      EXPECT_EQ(results[i].terminated, wanted.terminated);
    }
  }
}

TEST(VectorEnv, StartsAnotherEpisodeAtTheStepAfterTheEnd) {
  int made = 0;
  VectorEnv lanes(
      [&] {
        FakeParts parts;
        const std::int64_t length = ++made;
        parts.step = [length](Rng&, std::int64_t number) {
          return StepResult{.observation = Point{number},
                            .reward = 1,
                            .terminated = number == length,
                            .info = {}};
        };
        return std::make_unique<FakeEnv>(std::move(parts));
      },
      2);
  lanes.Reset();
  const std::vector<Point> actions(2, Point{0});
  EXPECT_TRUE(lanes.Step(actions)[0].terminated);
  const std::vector<StepResult> results = lanes.Step(actions);
  EXPECT_EQ(results[0].observation, Point{0}) << "that of a reset";
  EXPECT_EQ(results[0].reward, 0);
  EXPECT_FALSE(results[0].terminated);
  EXPECT_TRUE(results[1].terminated);
  EXPECT_EQ(lanes.Step(actions)[0].observation, Point{1});
}

TEST(VectorEnv, HasTheMasksOfItsEnvs) {
  VectorEnv lanes(envs::MakeMaskedKnapsackEnv, 2);
  lanes.Reset(0);
  lanes.Step(std::vector<Point>{Point{1}, Point{2}});
  const auto masks = lanes.ActionMasks();
  ASSERT_EQ(masks.size(), 2U);
  EXPECT_EQ(masks[0], (std::vector<bool>{true, true, false}));
  EXPECT_EQ(masks[1], (std::vector<bool>{true, false, true}));
}

TEST(VectorEnv, TakesEnvsThatAreThereAndASeedForEach) {
  std::vector<std::unique_ptr<Env>> given;
  for (int i = 0; i < 3; ++i) given.push_back(envs::MakeKnapsackEnv());
  VectorEnv lanes(std::move(given));
  const std::vector<std::optional<std::uint64_t>> seeds = {7, std::nullopt, 5};
  const std::vector<ResetResult> starts = lanes.Reset(seeds);
  const auto alone = envs::MakeKnapsackEnv();
  EXPECT_EQ(starts[0].observation, alone->Reset(7).observation);
  EXPECT_EQ(starts[2].observation, alone->Reset(5).observation);
  EXPECT_EQ(MessageOf<UserError>([&] { lanes.Reset(std::span(seeds).first(2)); }),
            "3 envs take as many seeds, not 2");
}

TEST(VectorEnv, RefusesEnvsOfOtherSpaces) {
  const auto make = [](std::int64_t actions) {
    FakeParts parts;
    parts.actions = Discrete{actions};
    return std::make_unique<FakeEnv>(std::move(parts));
  };
  std::vector<std::unique_ptr<Env>> given;
  given.push_back(make(2));
  given.push_back(make(3));
  EXPECT_EQ(MessageOf<UserError>([&] { VectorEnv lanes(std::move(given)); }),
            "envs of a vector have the same spaces: env 1 has Discrete(3), the first one "
            "Discrete(2)");
}

TEST(VectorEnv, TakesOneActionAnEnv) {
  EXPECT_EQ(MessageOf<UserError>([] { VectorEnv lanes(Counter, 0); }),
            "a vector of envs has at least 1");
  VectorEnv lanes(Counter, 2);
  lanes.Reset();
  EXPECT_EQ(MessageOf<UserError>([&] { lanes.Step(std::vector<Point>(3, Point{0})); }),
            "2 envs take as many actions, not 3");
}

TEST(Wrappers, KeepTheContractOfWhatTheyWrap) {
  const auto make = [] {
    auto env = WithTransformedReward(envs::MakeKnapsackEnv(), [](double reward) { return reward; });
    return WithTimeLimit(WithRecording(std::move(env), [](const Episode&) {}), 100);
  };
  EXPECT_EQ(CheckEnv(make), std::vector<std::string>());
  EXPECT_EQ(CheckEnv([] { return WithCache(envs::MakeMaskedKnapsackEnv()); }),
            std::vector<std::string>());
  EXPECT_EQ(CheckEnv([] { return WithRewardNoise(envs::MakeKnapsackEnv(), 0.1); }),
            std::vector<std::string>());
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
