#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "gym/core/env.h"

namespace msc::gym {

/// What a wrapper changes of an env; everything else is passed on. Absent hooks change nothing.
struct WrapperHooks {
  /// Sees, and may change, what the inner env's reset gave.
  std::function<void(std::optional<std::uint64_t> seed, const ResetOptions& options,
                     ResetResult& result)>
      after_reset = {};
  /// Answers instead of the inner env, which does not take the step; nothing = it does. Only the
  /// last step of an episode may be answered so.
  std::function<std::optional<StepResult>(const Point& action)> instead_of_step = {};
  /// The same as after_reset for a step, whoever answered it.
  std::function<void(const Point& action, StepResult& result)> after_step = {};
  /// Instead of the inner env's facts.
  std::optional<EnvFacts> facts = {};
};

/// An env that is `inner` seen through hooks: the part that all wrappers share. Spaces, masks, text
/// and problem() are those of the inner env.
[[nodiscard]] std::unique_ptr<Env> Wrap(std::unique_ptr<Env> inner, WrapperHooks hooks);

/// `env` for a wrapper, where somebody else owns it, and outlives this. Whoever steps it himself in
/// the middle of an episode of the wrapper's breaks that episode.
[[nodiscard]] std::unique_ptr<Env> Borrow(Env& env);

}  // namespace msc::gym
