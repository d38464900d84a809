
#include "compiler/compress/prune/choose.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiler/base/error.h"

namespace msc {
namespace {

void CheckShare(double value, const std::string& what) {
  if (!(value > 0 && value <= 1)) {
    throw UserError(what + " must be above 0 and at most 1, not " + std::to_string(value));
  }
}

/// Returns the multiple of `align` channels that is nearest to `count` units, or all units if that
/// is nearer.
std::size_t AlignedCount(const PruneGroup& group, double count, std::int64_t align) {
  const auto all = static_cast<double>(group.units);
  // The least number of units whose channels are a multiple of `align`.
  const auto step = static_cast<double>(align / std::gcd(align, group.unit_channels));
  double aligned = step * std::nearbyint(count / step);  // ties to even
  // The maximum keeps one step, or all units of a group that is smaller than a step.
  aligned = std::max(aligned, std::min(step, all));
  if (aligned > all || std::abs(all - count) < std::abs(aligned - count)) aligned = all;
  return static_cast<std::size_t>(aligned);
}

// Chooses the units that stay, by score. best_first_ has the units of each group by falling score.
class Chooser {
 public:
  Chooser(const Graph& graph, const PruneSpace& space, const UnitScores& scores,
          const PruneRequest& request)
      : graph_(graph), space_(space), scores_(scores.of_unit), request_(request) {
    Check(scores_.size() == space.units(), "every unit has a score");
    for (const PruneGroup& group : space.groups()) {
      std::vector<std::size_t> order(group.units);
      std::iota(order.begin(), order.end(), group.first_unit);
      // Ties keep the order of channels, so that equal scores give equal plans.
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return scores_[a] > scores_[b]; });
      best_first_.push_back(std::move(order));
      savings_.push_back(scores.are_errors ? Saving(group) : 1.0);
    }
  }

  PrunePlan ByDensity() {
    std::vector<double> counts;
    for (const PruneGroup& group : space_.groups()) {
      const auto it = request_.densities.find(group.name);
      const double density = it == request_.densities.end() ? request_.density : it->second;
      counts.push_back(density * static_cast<double>(group.units));
    }
    return PlanOf(KeepBest(counts));
  }

  /// Applies one threshold to all groups: the lowest that meets the budget.
  PrunePlan ByBudget(double share) {
    // Errors add up, so the best plan under a budget removes the units with the least error for
    // what they save, as a greedy knapsack. Other scores are relative already.
    const double allowed = share * Cost(std::vector<bool>(space_.units(), true));
    std::vector<double> thresholds = {0.0};
    for (std::size_t g = 0; g < savings_.size(); ++g) {
      for (const std::size_t unit : best_first_[g]) thresholds.push_back(Worth(g, unit));
    }
    // Above all scores, so that every group keeps only its least share.
    thresholds.push_back(2 * *std::max_element(thresholds.begin(), thresholds.end()) + 1);
    std::sort(thresholds.begin(), thresholds.end());
    std::size_t low = 0;
    std::size_t high = thresholds.size() - 1;
    const double least = Cost(AboveThreshold(thresholds[high]));
    if (least > allowed) {
      const double reachable = least / Cost(std::vector<bool>(space_.units(), true));
      throw UserError("the budget cannot be met: at least " + std::to_string(reachable) +
                      " of it stays when every group keeps a share of " +
                      std::to_string(request_.least));
    }
    // Raising the threshold never raises the cost, so bisection finds the lowest one that meets the
    // budget.
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (Cost(AboveThreshold(thresholds[middle])) <= allowed) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return PlanOf(AboveThreshold(thresholds[high]));
  }

 private:
  [[nodiscard]] double Cost(const std::vector<bool>& kept) const {
    return request_.bytes ? KeptBytes(graph_, space_, kept) : TotalMacs(graph_, space_, kept);
  }

  /// Returns what the model saves without one unit of the group, as a share of its cost; > 0, since
  /// scores are divided by it.
  [[nodiscard]] double Saving(const PruneGroup& group) const {
    // Savings of single units overlap where two groups meet in one layer, so this is a first-order
    // estimate.
    std::vector<bool> kept(space_.units(), true);
    const double all = Cost(kept);
    kept[group.first_unit] = false;
    return std::max(all - Cost(kept), 1e-9 * all) / std::max(all, 1.0);
  }

  // Returns the score of a unit, relative to what it saves if scores are errors.
  [[nodiscard]] double Worth(std::size_t group, std::size_t unit) const {
    return scores_[unit] / savings_[group];
  }

  [[nodiscard]] std::vector<bool> AboveThreshold(double threshold) const {
    std::vector<double> counts;
    for (std::size_t g = 0; g < savings_.size(); ++g) {
      const auto above =
          std::count_if(best_first_[g].begin(), best_first_[g].end(),
                        [&](std::size_t unit) { return Worth(g, unit) >= threshold; });
      // Rounding up keeps at least the promised share.
      const double least = std::ceil(request_.least * static_cast<double>(best_first_[g].size()));
      counts.push_back(std::max(static_cast<double>(above), least));
    }
    return KeepBest(counts);
  }

  [[nodiscard]] std::vector<bool> KeepBest(const std::vector<double>& counts) const {
    std::vector<bool> kept(space_.units(), false);
    for (std::size_t g = 0; g < counts.size(); ++g) {
      const auto own = request_.alignments.find(space_.groups()[g].name);
      const std::int64_t align = own == request_.alignments.end() ? request_.align : own->second;
      const std::size_t count = AlignedCount(space_.groups()[g], counts[g], align);
      for (std::size_t i = 0; i < count; ++i) kept[best_first_[g][i]] = true;
    }
    KeepEveryBranch(kept);
    return kept;
  }

  /// Lets every branch of a group, such as one half of a Split, keep its best unit if it would keep
  /// none.
  void KeepEveryBranch(std::vector<bool>& kept) const {
    // Aligned counts consider a group as a whole; a branch with none of the units that stay would
    // have no channel.
    for (const auto& [place, units] : space_.axes()) {
      std::size_t best = space_.units();
      bool any = false;
      for (const std::int32_t each : units) {
        any = any || each < 0 || kept[static_cast<std::size_t>(each)];
        if (any) break;
        const auto unit = static_cast<std::size_t>(each);
        if (best == space_.units() || scores_[unit] > scores_[best]) best = unit;
      }
      if (!any) kept[best] = true;
    }
  }

  [[nodiscard]] PrunePlan PlanOf(const std::vector<bool>& kept) const {
    PrunePlan plan;
    for (const PruneGroup& group : space_.groups()) {
      PruneChoice choice{.units = static_cast<std::int64_t>(group.units)};
      for (std::int64_t unit = 0; unit < choice.units; ++unit) {
        if (kept[group.first_unit + static_cast<std::size_t>(unit)]) choice.keep.push_back(unit);
      }
      if (std::ssize(choice.keep) < choice.units) plan.groups.emplace(group.name, choice);
    }
    return plan;
  }

  const Graph& graph_;
  const PruneSpace& space_;
  const std::vector<double>& scores_;
  const PruneRequest& request_;
  std::vector<std::vector<std::size_t>> best_first_;  ///< by group
  std::vector<double> savings_;                       ///< by group
};

}  // namespace

double TotalMacs(const Graph& graph, const PruneSpace& space, const std::vector<bool>& kept) {
  double macs = 0;
  for (const NodeId id : graph.order()) macs += KeptMacs(graph, space, id, kept);
  return macs;
}

PrunePlan ChoosePlan(const Graph& graph, const PruneSpace& space, const UnitScores& scores,
                     const PruneRequest& request) {
  CheckShare(request.density, "the density");
  CheckShare(request.least, "the least share of a group");
  if (request.align < 1) throw UserError("the alignment must be at least 1");
  for (const auto& [group, align] : request.alignments) {
    if (align < 1 || space.Find(group) == nullptr) {
      throw UserError("the alignment of '" + group + "' must be at least 1, and of a group");
    }
  }
  for (const auto& [group, density] : request.densities) {
    CheckShare(density, "the density of '" + group + "'");
    if (space.Find(group) == nullptr) throw UserError(space.WhyNone(group));
  }
  const bool dense = request.density != 1 || !request.densities.empty();
  if (dense + request.macs.has_value() + request.bytes.has_value() > 1) {
    throw UserError("give densities, or one budget: of multiply-adds or of bytes");
  }
  Chooser chooser(graph, space, scores, request);
  if (!request.macs && !request.bytes) return chooser.ByDensity();
  const double share = request.macs ? *request.macs : *request.bytes;
  CheckShare(share, request.macs ? "the share of multiply-adds" : "the share of bytes");
  return chooser.ByBudget(share);
}

}  // namespace msc
