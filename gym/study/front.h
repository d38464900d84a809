#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/study/objective.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// The Pareto set of a study's feasible trials as it grows, and the hypervolume of it: what it
/// dominates below a reference point. That is the largest value of every objective among the
/// baselines that succeeded, or, where there are none, among all trials that did; so studies of one
/// problem with one result for its baselines can be compared by it.
class FeasibleFront {
 public:
  explicit FeasibleFront(Objective objective);
  /// Whether the trial is feasible and none added before is as good as it in every objective.
  /// UserError if a metric of the objective is missing.
  bool Add(const Trial& trial);
  [[nodiscard]] bool empty() const { return points_.empty(); }
  /// One value an objective; empty where no trial succeeded.
  [[nodiscard]] const std::vector<double>& Reference() const;
  /// One value an objective for each member, in no order.
  [[nodiscard]] const std::vector<std::vector<double>>& points() const { return points_; }
  /// Nothing where there are fewer than two objectives or no trial succeeded.
  [[nodiscard]] std::optional<double> Volume() const;

 private:
  Objective objective_;
  std::vector<std::vector<double>> points_;  // none dominates another
  std::vector<double> of_baselines_;         // largest values
  std::vector<double> of_all_;
};

/// What the trials of one source of proposals gave a study.
struct SourceShare {
  std::string source = {};  ///< without what is behind a colon: all baselines are "anchor"
  std::uint64_t trials = 0;
  std::uint64_t feasible = 0;
  std::uint64_t failed = 0;
  std::uint64_t repeated = 0;  ///< copied from an equal trial
  std::uint64_t first = 0;     ///< numbers of trials
  std::uint64_t last = 0;
  std::optional<std::uint64_t> best = {};         ///< the feasible one with the least objectives
  std::uint64_t better = 0;                       ///< that joined the feasible front as they came
  std::optional<std::uint64_t> last_better = {};  ///< the last of those
  double gained = 0;  ///< hypervolume that those added, below the reference of the whole study
};

/// By the first trial of each. UserError if a metric of the objective is missing.
[[nodiscard]] std::vector<SourceShare> SharesOf(const Objective& objective,
                                                std::span<const Trial> trials);

/// "hypervolume 0.21 below latency 1, distill_loss 0.5"; empty where Volume() is nothing.
[[nodiscard]] std::string VolumeText(const Objective& objective, std::span<const Trial> trials);

}  // namespace msc::gym
