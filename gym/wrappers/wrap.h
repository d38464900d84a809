#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "gym/core/env.h"

namespace msc::gym {

/// What a wrapper changes of an env. Absent hooks change nothing; everything else is passed on.
struct WrapperHooks {
  /// Called after the inner env's reset; may change its result.
  std::function<void(std::optional<std::uint64_t> seed, const ResetOptions& options,
                     ResetResult& result)>
      after_reset = {};
  /// Returns a result in place of the inner env's step, which is then not taken, or nothing to take
  /// that step. May replace only the last step of an episode.
  std::function<std::optional<StepResult>(const Point& action)> instead_of_step = {};
  /// Called after each step, also a replaced one; may change its result.
  std::function<void(const Point& action, StepResult& result)> after_step = {};
  /// Replaces the inner env's facts.
  std::optional<EnvFacts> facts = {};
};

/// Wraps `inner` with hooks; all wrappers are made of this. Spaces, masks, text and problem() are
/// those of the inner env.
[[nodiscard]] std::unique_ptr<Env> WrapEnv(std::unique_ptr<Env> inner, WrapperHooks hooks);

/// Returns an env that forwards to `env` without owning it, for wrapping; `env` outlives it.
/// Stepping `env` directly during an episode of the wrapper breaks that episode.
[[nodiscard]] std::unique_ptr<Env> BorrowEnv(Env& env);

}  // namespace msc::gym
