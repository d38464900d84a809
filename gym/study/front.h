#pragma once

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
  /// Nothing where there are fewer than two objectives or no trial succeeded.
  [[nodiscard]] std::optional<double> Volume() const;

 private:
  Objective objective_;
  std::vector<std::vector<double>> points_;  // none dominates another
  std::vector<double> of_baselines_;         // largest values
  std::vector<double> of_all_;
};

/// "hypervolume 0.21 below latency 1, distill_loss 0.5"; empty where Volume() is nothing.
[[nodiscard]] std::string VolumeText(const Objective& objective, std::span<const Trial> trials);

}  // namespace msc::gym
