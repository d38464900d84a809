#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gym/core/env.h"
#include "gym/core/env_checker.h"

namespace msc::gym {

/// Several copies of an env that are reset and stepped together, one after another, for learners
/// that work on batches. An env whose episode has ended is reset by the next Step, which ignores
/// its action and returns the observation of the reset and reward 0.
/// Source: Gymnasium 1.x `SyncVectorEnv` with `AutoresetMode.NEXT_STEP`.
class VectorEnv {
 public:
  /// Makes `count` envs. Throws UserError if `count` < 1 or their spaces differ.
  VectorEnv(const EnvMaker& make, std::size_t count);
  /// Takes the envs. Throws UserError if there is none or their spaces differ.
  explicit VectorEnv(std::vector<std::unique_ptr<Env>> envs);

  [[nodiscard]] std::size_t size() const noexcept { return envs_.size(); }
  /// Returns the first env; all have the same spaces.
  [[nodiscard]] const Env& one() const { return *envs_.front(); }

  /// Starts an episode in each env; env i gets the seed `seed` + i. Otherwise as Env::Reset.
  std::vector<ResetResult> Reset(std::optional<std::uint64_t> seed = std::nullopt,
                                 const ResetOptions& options = {});
  /// Does the same with a seed, or none, for each env. Throws UserError if their number is not
  /// size().
  std::vector<ResetResult> Reset(std::span<const std::optional<std::uint64_t>> seeds,
                                 const ResetOptions& options = {});
  /// Takes one action per env, in order. Throws UserError if their number is not size(), else as
  /// Env::Step; the envs before the one that throws have then taken their step.
  std::vector<StepResult> Step(std::span<const Point> actions);
  /// Returns Env::ActionMask of each env; empty for an env whose next step is a reset.
  [[nodiscard]] std::vector<std::vector<bool>> ActionMasks() const;

 private:
  std::vector<std::unique_ptr<Env>> envs_;
  std::vector<bool> ended_;
  ResetOptions options_;
};

}  // namespace msc::gym
