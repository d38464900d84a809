#pragma once

#include <functional>
#include <vector>

#include "compiler/compress/prune/choose.h"

namespace msc {

/// A plan that was timed for a latency budget.
struct TimedPrunePlan {
  double macs = 1;  ///< requested share of the multiply-adds
  double time = 1;  ///< result of `measure`
};

/// Returns the plan that keeps most multiply-adds among those found to take at most `share` of the
/// whole model's time. Searches by bisection over the share of multiply-adds that ChoosePlan gets
/// as budget (`request.macs` is not read). `measure` returns the time of a plan as a share of the
/// whole model's; it is called at most `most` times, never twice for one plan. `tried` receives all
/// measurements, in order. UserError if `share` is not in (0, 1), or if even the smallest plan does
/// not meet it.
[[nodiscard]] PrunePlan ChoosePlanByTime(const Graph& graph, const PruneSpace& space,
                                         const UnitScores& scores, const PruneRequest& request,
                                         double share,
                                         const std::function<double(const PrunePlan&)>& measure,
                                         int most, std::vector<TimedPrunePlan>& tried);

}  // namespace msc
