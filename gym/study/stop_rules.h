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
  kTrials,       ///< as many as were asked for
  kTime,         ///< the time budget is used up
  kExhausted,    ///< the agent has nothing left
  kPlateau,      ///< StopRules::plateau
  kGoal,         ///< StopRules::goal
  kInterrupted,  ///< from outside
};
/// "trials", "time", "exhausted", "plateau", "goal", "interrupted".
[[nodiscard]] std::string_view Name(StopReason reason);

/// What ends a study before its trials and time are used up.
struct StopRules {
  /// Trials in a row that are no improvement; 0 = never. An improvement is a feasible trial that no
  /// feasible one before is as good as in every objective, and until there is any, one that misses
  /// the limits by less than all before.
  std::uint64_t plateau = 0;
  /// Met by a feasible trial that keeps all of these too, also when it is measured again where that
  /// is done (StudyOptions::confirm); empty = never.
  std::vector<Constraint> goal = {};
  [[nodiscard]] bool any() const { return plateau > 0 || !goal.empty(); }
};

/// Looks at the trials of one study for what its rules wait for.
class StopCheck {
 public:
  StopCheck(StopRules rules, const Objective& objective);
  /// In the order of their numbers. UserError if a metric is missing.
  void Hear(const Trial& trial);
  /// Of what was heard, the trials that reach the goal and wait to be settled: each assignment
  /// once, least objectives first. None of an assignment that was settled before.
  [[nodiscard]] std::vector<Trial> Claims() const;
  /// Whether one of these does reach it. Each is settled once.
  void Settle(bool holds);
  /// kGoal, kPlateau or nothing yet.
  [[nodiscard]] std::optional<StopReason> reason() const;

 private:
  [[nodiscard]] bool Improves(const Trial& trial);

  StopRules rules_;
  Objective objective_;
  Objective goal_;  // the rules' goal as limits
  FeasibleFront front_;
  std::optional<double> least_violation_;
  std::uint64_t idle_ = 0;  // trials since the last improvement
  std::vector<Trial> claims_;
  std::set<Assignment> claimed_;  // of these, and of those settled
  bool met_ = false;
};

}  // namespace msc::gym
