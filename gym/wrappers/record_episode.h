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

/// What was done in an episode and what it earned: enough to do it again.
struct Episode {
  std::optional<std::uint64_t> seed;
  ResetOptions options;
  std::vector<RecordedStep> steps;
  bool terminated = false;
  bool truncated = false;
  bool operator==(const Episode&) const = default;
};

/// Hands every episode to `sink` once: when it ends, or at the next reset if it was left before.
/// One that is never left so (the env is destroyed) is not reported.
[[nodiscard]] std::unique_ptr<Env> WithRecording(std::unique_ptr<Env> env,
                                                 const std::function<void(const Episode&)>& sink);

/// Does the episode again and returns what came of it: equal to `episode` if the env is
/// deterministic and the reset was seeded. UserError where an action is not legal any more or the
/// episode ends early.
[[nodiscard]] Episode Replay(Env& env, const Episode& episode);

}  // namespace msc::gym
