#include "gym/study/stop_rules.h"

#include <algorithm>
#include <array>
#include <utility>

namespace msc::gym {

std::string_view Name(StopReason reason) {
  constexpr std::array<std::string_view, 6> kNames = {"trials",  "time", "exhausted",
                                                      "plateau", "goal", "interrupted"};
  return kNames.at(static_cast<std::size_t>(reason));
}

StopCheck::StopCheck(StopRules rules, const Objective& objective)
    : rules_(std::move(rules)),
      objective_(objective),
      goal_{.subject_to = rules_.goal},
      front_(objective) {}

void StopCheck::Hear(const Trial& trial) {
  idle_ = Improves(trial) ? 0 : idle_ + 1;
  if (rules_.goal.empty() || !IsFeasible(objective_, trial)) return;
  if (IsFeasible(goal_, trial) && claimed_.insert(trial.assignment).second)
    claims_.push_back(trial);
}

std::vector<Trial> StopCheck::Claims() const {
  std::vector<Trial> claims = claims_;
  std::stable_sort(claims.begin(), claims.end(), [&](const Trial& a, const Trial& b) {
    return ObjectiveValues(objective_, a.evaluation) < ObjectiveValues(objective_, b.evaluation);
  });
  return claims;
}

void StopCheck::Settle(bool holds) {
  met_ = met_ || holds;
  claims_.clear();
}

bool StopCheck::Improves(const Trial& trial) {
  if (!trial.evaluation.Complete()) return false;
  if (front_.Add(trial)) return true;
  // Until some answer is feasible, a smaller violation is progress.
  if (!front_.empty()) return false;
  const double violation = Violation(objective_, trial.evaluation);
  if (least_violation_ && violation >= *least_violation_) return false;
  least_violation_ = violation;
  return true;
}

std::optional<StopReason> StopCheck::reason() const {
  if (met_) return StopReason::kGoal;
  if (rules_.plateau > 0 && idle_ >= rules_.plateau) return StopReason::kPlateau;
  return std::nullopt;
}

}  // namespace msc::gym
