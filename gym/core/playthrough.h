#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/core/env.h"

namespace msc::gym {

/// Settings of an episode of random legal actions.
struct EpisodeSetup {
  std::optional<std::uint64_t> seed;  ///< seed of the reset; absent = no seed
  std::uint64_t action_seed = 0;
  std::int64_t max_steps = 1000;  ///< steps after which to stop if the episode has not ended
};

/// Plays an episode and returns one line for the reset and one for each step: legal actions if
/// there is a mask, action, reward, how the episode ended, observation, info. Numbers are written
/// so that they read back the same; equal lines mean equal episodes.
[[nodiscard]] std::vector<std::string> PlayEpisode(Env& env, const EpisodeSetup& setup);

/// Returns facts, spaces and `episodes` episodes as text: the content of an env's golden file. The
/// first reset uses `seed`, the others none.
[[nodiscard]] std::string Playthrough(Env& env, std::uint64_t seed, std::int64_t episodes);

}  // namespace msc::gym
