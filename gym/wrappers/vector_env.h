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
/// that work on batches. An env whose episode has ended starts another at the next Step, which
/// ignores its action and earns it 0: its observation is that of the reset.
/// Source: Gymnasium 1.x `SyncVectorEnv` with `AutoresetMode.NEXT_STEP`.
class VectorEnv {
 public:
  /// UserError if `count` < 1.
  VectorEnv(const EnvMaker& make, std::size_t count);
  /// UserError if there is none, or if spaces differ.
  explicit VectorEnv(std::vector<std::unique_ptr<Env>> envs);

  [[nodiscard]] std::size_t size() const noexcept { return envs_.size(); }
  /// Of one env; all have the same spaces.
  [[nodiscard]] const Env& one() const { return *envs_.front(); }

  /// Starts an episode in each; env i gets the seed `seed` + i. Otherwise as Env::Reset.
  std::vector<ResetResult> Reset(std::optional<std::uint64_t> seed = std::nullopt,
                                 const ResetOptions& options = {});
  /// The same with a seed, or none, for each. UserError for another number of them.
  std::vector<ResetResult> Reset(std::span<const std::optional<std::uint64_t>> seeds,
                                 const ResetOptions& options = {});
  /// One action an env, in order. UserError for another number of them; else as Env::Step, and
  /// where one refuses, those before it have taken their step.
  std::vector<StepResult> Step(std::span<const Point> actions);
  /// Env::ActionMask of each; empty for one whose next step is a reset.
  [[nodiscard]] std::vector<std::vector<bool>> ActionMasks() const;

 private:
  std::vector<std::unique_ptr<Env>> envs_;
  std::vector<bool> ended_;
  ResetOptions options_;
};

}  // namespace msc::gym
