#pragma once

#include <memory>
#include <vector>

#include "compiler/strategy/schedule.h"
#include "envs/common/model_context.h"
#include "envs/common/strategy_problem.h"

namespace msc::envs {

/// The model of a problem of schedules.
struct ScheduleContext : ModelContext {
  /// Kernels of `base`, with the schedules available for each.
  std::shared_ptr<const std::vector<ScheduledKernel>> kernels = {};
};

/// Makes the problem of "Schedule-v0": the schedules of the model's kernels for which the target
/// has several.
///
/// One decision per kernel, named by its computation; layers with equal kernels share it. The first
/// choice is the target's default, the others follow by decreasing promise; the context lists only
/// schedules that the kernel's shape supports. Features of a kernel, each in [0, 1]: position in
/// the network, share of the model's multiply-adds, share of the kernels' layers. The relevance,
/// used for latency (StrategyProblem), is the work of a kernel with several schedules. Throws
/// UserError if the context lacks a
/// model or an evaluator, or there is nothing to choose.
[[nodiscard]] std::unique_ptr<StrategyProblem> MakeScheduleProblem(const ScheduleContext& context);

}  // namespace msc::envs
