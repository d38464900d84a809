#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gym/core/env.h"

namespace msc::gym {

struct RecordedStep {
  Point action;
  double reward = 0;
  bool operator==(const RecordedStep&) const = default;
};

/// Actions and rewards of an episode: enough to replay it.
struct Episode {
  std::optional<std::uint64_t> seed;
  ResetOptions options;
  std::vector<RecordedStep> steps = {};
  bool terminated = false;
  bool truncated = false;
  bool operator==(const Episode&) const = default;
};

/// Wraps `env` so that each episode is passed to `sink` once: when it ends, or at the next reset if
/// it was not finished. An unfinished episode is not reported if the env is destroyed.
[[nodiscard]] std::unique_ptr<Env> WithRecording(std::unique_ptr<Env> env,
                                                 const std::function<void(const Episode&)>& sink);

/// Repeats the actions of `episode` and returns the resulting episode, which equals `episode` if
/// the env is deterministic and the reset was seeded. Throws UserError if an action is no longer
/// legal or the episode ends early.
[[nodiscard]] Episode ReplayEpisode(Env& env, const Episode& episode);

}  // namespace msc::gym
