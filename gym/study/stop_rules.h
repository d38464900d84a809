#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "gym/study/front.h"
#include "gym/study/objective.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// Why the trials of a study ended.
enum class StopReason : unsigned char {
  kTrials,       ///< the requested number of trials was run
  kTime,         ///< the time budget is used up
  kExhausted,    ///< the agent has no proposals left
  kPlateau,      ///< StopRules::plateau
  kGoal,         ///< StopRules::goal
  kInterrupted,  ///< by the caller
};
/// Returns "trials", "time", "exhausted", "plateau", "goal" or "interrupted".
[[nodiscard]] std::string_view Name(StopReason reason);

/// Conditions that end a study before its trials and time are used up.
struct StopRules {
  /// Number of consecutive trials without improvement after which the study ends; 0 = never. An
  /// improvement is a feasible trial if no earlier feasible trial is at least as good in every
  /// objective. Before the first feasible trial, it is a trial with a smaller violation than all
  /// earlier ones.
  std::uint64_t plateau = 0;
  /// The study ends at a feasible trial that satisfies all of these too; empty = never. If
  /// StudyOptions::confirm is set, a second measurement must satisfy them as well.
  std::vector<Constraint> goal = {};
  [[nodiscard]] bool any() const { return plateau > 0 || !goal.empty(); }
};

/// Checks the trials of one study against its StopRules.
class StopCheck {
 public:
  StopCheck(StopRules rules, const Objective& objective);
  /// Takes the next trial, in ascending number. UserError if a metric is missing.
  void Hear(const Trial& trial);
  /// Returns the trials that reach the goal and are not confirmed or rejected yet: each assignment
  /// once, best objectives first, without assignments that were settled before.
  [[nodiscard]] std::vector<Trial> Claims() const;
  /// Settles all claims; `holds` says whether one of them was confirmed.
  void Settle(bool holds);
  /// Returns kGoal, kPlateau, or nothing while the study continues.
  [[nodiscard]] std::optional<StopReason> reason() const;

 private:
  [[nodiscard]] bool Improves(const Trial& trial);

  StopRules rules_;
  Objective objective_;
  Objective goal_;  // the goal as constraints
  FeasibleFront front_;
  std::optional<double> least_violation_;
  std::uint64_t idle_ = 0;  // trials since the last improvement
  std::vector<Trial> claims_;
  std::set<Assignment> claimed_;  // assignments of these and of settled claims
  bool met_ = false;
};

}  // namespace msc::gym
