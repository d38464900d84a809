#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gym/core/agent.h"
#include "gym/core/problem.h"
#include "gym/study/journal.h"
#include "gym/study/objective.h"
#include "gym/study/stop_rules.h"
#include "gym/study/time_budget.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// What to do when the journal was written with other settings.
enum class Resume : unsigned char {
  kSame,    ///< refuse, naming what differs
  kForced,  ///< take its trials as they are
};

struct StudyOptions {
  std::uint64_t seed = 0;
  std::uint64_t trials = 100;  ///< in total, those found in the journal included
  /// Ends the trials when it is over, but for the first, without which there is no answer. Counts
  /// what was used before already. Outlives the study; nullptr = no limit.
  const TimeBudget* time = nullptr;
  StopRules stop;  ///< looked at between rounds
  /// Measures trials that reach the goal again, best first: whether one of them does. Nothing where
  /// it was stopped before. Without it, what a trial says of itself counts.
  std::function<std::optional<bool>(const std::vector<Trial>& claims)> confirm = {};
  std::string agent = "random";
  Objective objective;
  Resume resume = Resume::kSame;
  std::string tool_version;  ///< stored, and compared when a study is resumed
  std::string machine;       ///< likewise
  /// Tried after the anchors and before the agent is asked: source and assignment of each. The
  /// agent was set up with them.
  std::vector<std::pair<std::string, Assignment>> seeds = {};
  /// Results of an earlier study that hold for this one: copied into a trial instead of tried.
  std::map<Assignment, Evaluation> known = {};
};

/// Where a study stands, for a progress line.
struct Progress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::uint64_t failed = 0;
  const Trial* last = nullptr;             ///< the one that finished; nullptr in the first call
  const Trial* best = nullptr;             ///< best feasible, or nullptr
  std::optional<double> hypervolume = {};  ///< FeasibleFront::Volume
  std::chrono::duration<double> left{0};  ///< estimate, at most what the budget leaves; 0 = unknown
};

/// What a study found.
struct StudyResult {
  std::vector<Trial> trials;        ///< by number
  std::optional<std::size_t> best;  ///< index of the best feasible trial
  std::vector<std::size_t> pareto;  ///< indices, by first objective
  StopReason stop = StopReason::kTrials;
};

/// UserError if the objective minimizes nothing or a metric twice, or if a limit is not finite.
void CheckObjective(const Objective& objective);
/// Also, listing `metrics`, if it names anything else.
void CheckObjective(const Objective& objective, const std::vector<std::string>& metrics);
/// Also of what ends a study early (StopRules::goal).
void CheckGoal(const std::vector<Constraint>& goal, const std::vector<std::string>& metrics);

/// Runs anchors and seeds, then what the agent asks for, until trials or time are used up, a rule
/// to stop is met, the agent has nothing left, or `stop` says true. Rules are looked at where a
/// round of proposals is complete, or 32 of them for an agent without rounds, so that a study ends
/// after the same trial however many run at once. Those of a round that reach the goal are
/// confirmed then, each assignment once; what came of it is in the journal, and not found out
/// again. Trials already in the journal are not run again: they are told to the agent, which then
/// asks for the rest, so that a resumed study is the study that was interrupted. An assignment that
/// was tried before is not tried again but copied. Every finished trial is on disk before the agent
/// hears of it. Of one that was lost (WasLost) it hears only that nothing is known; when the study
/// is resumed it is measured again, under its number.
///
/// Which trial has which assignment depends on problem, agent, seed and results only, never on how
/// many run at once or which ends first.
///
/// Journal: one record "study" (StudyHeader); per run one "start", then "trial" as they finish,
/// "goal" as trials were confirmed or not, a "tick" (time_budget.h) every few seconds, and "end"
/// unless it was interrupted. "start", "tick" and "end" say how much time is used by then (UsedIn).
/// Others may add records of their own: "task" (timeline.h), and a program "setup" and "findings",
/// what it has to say of the study before its first trial and after its last, and ticks.
///
/// UserError when the objective or a rule names no metric of the problem, when the journal belongs
/// to another study, or when the agent now proposes something else than the journal holds; where a
/// resume is forced, only when the journal's trials do not fit the problem's decisions. What the
/// problem and the journal throw passes through; finished trials are on disk then.
[[nodiscard]] StudyResult RunStudy(SearchProblem& problem, Agent& agent, Journal& journal,
                                   const StudyOptions& options,
                                   const std::function<void(const Progress&)>& progress = {},
                                   const std::function<bool()>& stop = {});

/// What a finished or interrupted journal holds, without running anything.
[[nodiscard]] StudyResult ReadStudy(const std::vector<std::string>& records);

}  // namespace msc::gym
