#pragma once

#include <memory>

#include "envs/register.h"
#include "gym/core/env.h"

namespace msc::envs {

/// "Schedule-v0": how every kernel of the model is written, of those that its target leaves a
/// choice.
///
/// One decision a kernel, named by what it computes; layers with equal kernels share it. Its first
/// choice is what the target would do by itself, the others follow from the likeliest on: those of
/// the context, which has only what a shape can have. Features of a kernel, each in [0, 1]: place
/// in the network, share of the model's multiply-adds, share of the kernels' layers; for latency
/// (StrategyProblem) its work where there is a choice. The reward of the last
/// step is -(latency ratio) - distill_loss. UserError if the context lacks a model or an evaluator,
/// or there is nothing to choose.
[[nodiscard]] std::unique_ptr<gym::Env> MakeScheduleEnv(const EnvContext& context);

}  // namespace msc::envs
