#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gym/core/problem.h"

namespace msc::gym {

/// A finished trial as the study reports it to an agent. Objectives and constraints are in the
/// study's order; both are empty if the trial failed or its result is unknown.
struct TrialResult {
  std::uint64_t trial = 0;
  Assignment assignment;
  std::vector<double> objectives;  ///< smaller is better
  /// Excess over each limit, relative to it: positive = violated, <= 0 = kept.
  std::vector<double> constraints = {};
  double violation = 0;  ///< sum of the positive constraint values; 0 = feasible
  bool failed = false;
  /// True if a race dropped the trial (Evaluation::dropped). Its values come from a cheaper, less
  /// exact evaluation: they approximate the full values, but do not make the trial an answer or the
  /// best one, and do not prove that a limit can be kept.
  bool rough = false;
  /// True if the trial could not be measured before its round was reported, for a reason outside
  /// the candidate. It has no values, its quality is open, and an agent may propose it again.
  bool unknown = false;
  double seconds = 0;  ///< that it took; 0 if its result was known
  /// Returns whether the trial has full results.
  [[nodiscard]] bool Complete() const { return !failed && !rough && !unknown; }
};

/// What a study passes to an agent when it creates it.
struct AgentSetup {
  std::vector<Decision> decisions;
  std::size_t objectives = 1;   ///< number of objectives, >= 1
  std::size_t constraints = 0;  ///< number of constraint values reported with each trial
  std::uint64_t seed = 0;
  /// Number of the first trial that the study requests from the agent. The study reports the trials
  /// before it (the problem's anchors, or results of an earlier study) without asking for them.
  std::uint64_t first_trial = 0;
  /// Assignments of the problem's anchors. The study reports their results like all others; an
  /// agent without rounds may be asked for proposals before it receives them.
  std::vector<Assignment> anchors = {};
  /// What the problem knows before any trial (SearchProblem::Prior). Its costs and estimates are by
  /// metric; those below are what the objective makes of them.
  PriorKnowledge prior = {};
  /// Exact costs of all objectives, then of all constraints, if every one of them is a known sum
  /// over the decisions; else empty.
  std::vector<AdditiveCost> costs = {};
  /// Estimated costs of all objectives, then of all constraints; results may rescale and correct
  /// them. One without an estimate has effects of 0; the vector is empty if none has an estimate.
  std::vector<AdditiveCost> estimates = {};
  /// The choices that an agent may propose (SearchProblem::MaskFunction). Outlives the agent.
  ChoiceMask mask = {};
};

/// Proposes assignments and receives their results in batches (ask and tell).
///
/// Ask must return a function of the setup, the trial numbers and the results reported before, and
/// of nothing else. Parallel and serial studies then take the same decisions: a study reports
/// results in order of trial number, and requests a trial only after it has reported all results
/// that round() says the proposal depends on.
class Agent {
 public:
  /// Throws UserError if the decisions are malformed (CheckDecisions) or there is no objective.
  explicit Agent(AgentSetup setup);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  virtual ~Agent() = default;

  /// Returns proposals for trials first, first + 1, ..., at most `count`: fewer at the end of a
  /// round, fewer or none once the agent has nothing left to try. Each has one choice per decision,
  /// in range and allowed by the mask. `first` >= first_trial.
  [[nodiscard]] std::vector<Assignment> Ask(std::uint64_t first, std::size_t count);
  /// Reports results in ascending trial number, each trial once over the agent's life, including
  /// trials before first_trial (anchors). Throws InternalError if the order is wrong or a result
  /// does not fit the setup.
  void Tell(std::span<const TrialResult> results);
  /// Returns how many trials may be requested before the next Tell; absent if proposals do not
  /// depend on results.
  [[nodiscard]] std::optional<std::size_t> round() const { return DoRound(); }

 protected:
  [[nodiscard]] const AgentSetup& setup() const noexcept { return setup_; }

 private:
  [[nodiscard]] virtual std::vector<Assignment> DoAsk(std::uint64_t first, std::size_t count) = 0;
  virtual void DoTell(std::span<const TrialResult> /*results*/) {}
  [[nodiscard]] virtual std::optional<std::size_t> DoRound() const { return std::nullopt; }

  AgentSetup setup_;
  std::optional<std::uint64_t> last_told_;
};

}  // namespace msc::gym
