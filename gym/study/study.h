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

/// What a study does if the journal was written with other settings.
enum class Resume : unsigned char {
  kSame,    ///< UserError, listing the differences
  kForced,  ///< use the journal's trials as they are
};

struct StudyOptions {
  std::uint64_t seed = 0;
  std::uint64_t trials = 100;  ///< in total, including those in the journal
  /// Ends the trials when it is used up, except the first, without which there is no result.
  /// Includes the time that earlier runs used. Outlives the study; nullptr = no limit.
  const TimeBudget* time = nullptr;
  StopRules stop;  ///< checked between rounds
  /// Measures trials that reach the goal again, best first. Returns whether one of them still
  /// reaches it, or nothing if it was stopped before. If empty, the first measurement decides.
  std::function<std::optional<bool>(const std::vector<Trial>& claims)> confirm = {};
  std::string agent = "random";
  Objective objective;
  Resume resume = Resume::kSame;
  std::string tool_version;  ///< recorded, and compared on resume
  std::string machine;       ///< likewise
  /// Source and assignment of trials between the anchors and the agent's first. The agent's setup
  /// must include them.
  std::vector<std::pair<std::string, Assignment>> seeds = {};
  /// Results of an earlier study that are valid here; they are copied instead of evaluated.
  std::map<Assignment, Evaluation> known = {};
};

/// The largest number of trials: something else ends them, such as the time.
inline constexpr std::uint64_t kAnyTrials = 1000000000;

/// Progress of a study, for a progress line.
struct Progress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::uint64_t failed = 0;
  const Trial* last = nullptr;  ///< the trial that just finished; nullptr in the first call
  const Trial* best = nullptr;  ///< best feasible, or nullptr
  std::optional<double> hypervolume = {};  ///< FeasibleFront::Volume
  std::chrono::duration<double> left{0};   ///< estimate, capped by the budget; 0 = unknown
};

/// Result of a study.
struct StudyResult {
  std::vector<Trial> trials;        ///< by number
  std::optional<std::size_t> best;  ///< index of the best feasible trial
  std::vector<std::size_t> pareto;  ///< indices, sorted by the first objective
  StopReason stop = StopReason::kTrials;
};

/// Runs a study: anchors and seeds, then the agent's proposals, until trials or time are used up, a
/// stop rule applies, the agent has no proposals left, or `stop` returns true.
///
/// - Stop rules are checked at the end of a round of proposals (of 32 proposals for an agent
///   without rounds), so a study ends after the same trial however many run in parallel. Trials of
///   the round that reach the goal are confirmed at that point, each assignment once; the journal
///   keeps the verdict, and a resume does not repeat it.
/// - Trials in the journal are not run again. The agent receives their results and proposes the
///   rest, so a resumed study equals the uninterrupted one.
/// - An assignment that was evaluated before is copied, not evaluated again.
/// - Every finished trial is on disk before the agent receives its result.
/// - For a trial that was lost (WasLost) the agent is told only that its result is unknown. A
///   resume measures it again under its number.
///
/// The assignment of each trial depends on problem, agent, seed and results only, never on
/// parallelism or on the order in which trials end.
///
/// Journal: one record "study" (StudyHeader); per run one "start", then a "trial" for each finished
/// trial, a "goal" for each confirmation, a "tick" (time_budget.h) every few seconds, and an "end"
/// unless the run was interrupted. "start", "tick" and "end" hold the time used so far (UsedIn).
/// The caller may add records: "task" (timeline.h), "tick", and "setup" and "findings", which
/// describe the study before its first trial and after its last.
///
/// UserError if the objective or a stop rule names an unknown metric, if the journal belongs to
/// another study, or if the agent's proposals differ from the journal's. With a forced resume, only
/// if the journal's trials do not fit the problem's decisions. Exceptions of the problem and the
/// journal pass through; finished trials are on disk then.
[[nodiscard]] StudyResult RunStudy(SearchProblem& problem, Agent& agent, Journal& journal,
                                   const StudyOptions& options,
                                   const std::function<void(const Progress&)>& progress = {},
                                   const std::function<bool()>& stop = {});

/// Returns the content of a finished or interrupted journal, without running anything.
[[nodiscard]] StudyResult ReadStudy(const std::vector<std::string>& records);

}  // namespace msc::gym
