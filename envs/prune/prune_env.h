#pragma once

#include <array>
#include <memory>

#include "envs/register.h"
#include "gym/core/env.h"

namespace msc::envs {

/// Shares of a group's units that can be chosen.
inline constexpr std::array<double, 6> kPruneDensities = {1.0, 0.875, 0.75, 0.625, 0.5, 0.25};

/// "Prune-v0": how many channels stay of every group that compiler/compress/prune/prune.h finds.
///
/// One decision a group, out of kPruneDensities as words; which units stay is by the L2 norm of
/// their weights. Anchors: all at 1, at 0.75 and at 0.5. Features of a group, each in [0, 1]: place
/// in the network, share of the multiply-adds and of the bytes that its layers have, units / 4096,
/// layers it cuts / 16. The reward of the last step is -(latency ratio) - distill_loss. UserError
/// if the context lacks a model or an evaluator, or nothing in the model can be pruned.
[[nodiscard]] std::unique_ptr<gym::Env> MakePruneEnv(const EnvContext& context);

}  // namespace msc::envs
