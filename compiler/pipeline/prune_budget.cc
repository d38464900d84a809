
#include "compiler/pipeline/prune_budget.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"

namespace msc {
namespace {

/// The bisection ends when shares of multiply-adds are closer than this.
constexpr double kClosest = 0.005;

/// Returns the plan for a share of multiply-adds; nullopt if the share cannot be reached.
std::optional<PrunePlan> PlanOf(const Graph& graph, const PruneSpace& space,
                                const UnitScores& scores, PruneRequest request, double macs) {
  request.macs = macs;
  try {
    return ChoosePlan(graph, space, scores, request);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

}  // namespace

PrunePlan ChoosePlanByTime(const Graph& graph, const PruneSpace& space, const UnitScores& scores,
                           const PruneRequest& request, double share,
                           const std::function<double(const PrunePlan&)>& measure, int most,
                           std::vector<TimedPrunePlan>& tried) {
  if (!(share > 0 && share < 1)) {
    throw UserError("the share of the time must be above 0 and below 1, not " +
                    std::to_string(share));
  }
  PruneRequest whole = request;  // a faulty request is rejected before anything is measured
  whole.macs = 1.0;
  (void)ChoosePlan(graph, space, scores, whole);
  std::vector<std::pair<PrunePlan, double>> measured;
  const auto time = [&](const PrunePlan& plan, double macs) {
    // Several shares may give the same plan, which is timed once.
    for (const auto& [known, taken] : measured) {
      if (known == plan) return taken;
    }
    measured.emplace_back(plan, measure(plan));
    tried.push_back({macs, measured.back().second});
    return measured.back().second;
  };
  std::optional<PrunePlan> best;
  double low = 0;  // meets the budget, or cannot be reached
  double high = 1;
  double fastest = 1;
  // Time is nearly proportional to multiply-adds, so the first guess is the share of the time.
  for (double macs = share; high - low > kClosest && std::ssize(measured) < most;
       macs = (low + high) / 2) {
    const auto plan = PlanOf(graph, space, scores, request, macs);
    const double taken = plan ? time(*plan, macs) : share;
    fastest = plan ? std::min(fastest, taken) : fastest;
    // `low` only grows, so each plan within the budget has more multiply-adds than those before.
    if (plan && taken <= share) best = plan;
    (taken <= share ? low : high) = macs;
  }
  if (!best) {
    throw UserError("the latency budget cannot be met: " + std::to_string(share) +
                    " of the time was asked for, the fastest plan of " +
                    std::to_string(measured.size()) + " measured takes " + std::to_string(fastest));
  }
  return *best;
}

}  // namespace msc
