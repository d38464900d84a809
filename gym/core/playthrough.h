#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/core/env.h"

namespace msc::gym {

/// An episode of random legal actions to play.
struct EpisodeSetup {
  std::optional<std::uint64_t> seed;  ///< of the reset
  std::uint64_t action_seed = 0;
  std::int64_t max_steps = 1000;  ///< where to leave off if the episode has not ended
};

/// Plays it and writes a line for the reset and one for each step: legal actions where there is a
/// mask, action, reward, how it ended, observation, info. Equal lines mean equal episodes: numbers
/// are written so that they read back the same.
[[nodiscard]] std::vector<std::string> PlayEpisode(Env& env, const EpisodeSetup& setup);

/// Facts, spaces and `episodes` episodes as text: what a golden file of an env holds. The first
/// reset is seeded with `seed`, the others go on from it.
[[nodiscard]] std::string Playthrough(Env& env, std::uint64_t seed, std::int64_t episodes);

}  // namespace msc::gym
