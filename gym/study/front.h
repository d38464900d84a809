#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/study/objective.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// The Pareto set of a study's feasible trials as it grows, and its hypervolume below a reference
/// point. The reference is the largest value of every objective among the baselines that succeeded,
/// or among all successful trials if no baseline did. Hypervolumes of studies of one problem are
/// therefore comparable if the results of its baselines are the same.
class FeasibleFront {
 public:
  explicit FeasibleFront(Objective objective);
  /// Adds a trial. Returns whether it is feasible and no earlier trial is at least as good in every
  /// objective. UserError if a metric of the objective is missing.
  bool Add(const Trial& trial);
  [[nodiscard]] bool empty() const { return points_.empty(); }
  /// Returns the reference point, one value per objective; empty if no trial succeeded.
  [[nodiscard]] const std::vector<double>& Reference() const;
  /// Returns the members of the set in no particular order, one value per objective each.
  [[nodiscard]] const std::vector<std::vector<double>>& points() const { return points_; }
  /// Returns the hypervolume, or nothing with fewer than two objectives or without a successful
  /// trial.
  [[nodiscard]] std::optional<double> Volume() const;

 private:
  Objective objective_;
  std::vector<std::vector<double>> points_;  // mutually non-dominated
  std::vector<double> of_baselines_;         // largest value of each objective
  std::vector<double> of_all_;
};

/// The contribution of one source of proposals to a study.
struct SourceShare {
  std::string source = {};  ///< up to the colon: all baselines are "anchor"
  std::uint64_t trials = 0;
  std::uint64_t feasible = 0;
  std::uint64_t failed = 0;
  std::uint64_t repeated = 0;  ///< copied from an equal trial
  std::uint64_t first = 0;     ///< trial numbers
  std::uint64_t last = 0;
  std::optional<std::uint64_t> best = {};  ///< best feasible trial, by the objectives in order
  std::uint64_t better = 0;                ///< trials that entered the feasible front on arrival
  std::optional<std::uint64_t> last_better = {};  ///< the last of these
  double gained = 0;  ///< hypervolume that these added, below the reference of the whole study
};

/// Returns the shares in the order of each source's first trial. UserError if a metric of the
/// objective is missing.
[[nodiscard]] std::vector<SourceShare> SharesOf(const Objective& objective,
                                                std::span<const Trial> trials);

/// Returns "hypervolume 0.21 below latency 1, distill_loss 0.5"; empty if Volume() is.
[[nodiscard]] std::string VolumeText(const Objective& objective, std::span<const Trial> trials);

}  // namespace msc::gym
