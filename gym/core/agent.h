#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gym/core/problem.h"

namespace msc::gym {

/// A finished trial as an agent sees it, in the study's order of objectives and constraints; both
/// are empty after a failure, and where nothing is known.
struct Told {
  std::uint64_t trial = 0;
  Assignment assignment;
  std::vector<double> objectives;        ///< smaller is better
  std::vector<double> constraints = {};  ///< excess over the limit, relative to it; <= 0 is kept
  double violation = 0;                  ///< sum of the positive ones: 0 means feasible
  bool failed = false;
  /// A race dropped it: what it has are rough values (Evaluation::dropped). They hint at what full
  /// ones would be; it is no answer, never the best, and no proof that a limit can be kept.
  bool rough = false;
  /// Nobody could measure it when its round was told: it has no values, and it may be worth as much
  /// as any other. It may be proposed again.
  bool unknown = false;
  /// Whether it has full results.
  [[nodiscard]] bool Complete() const { return !failed && !rough && !unknown; }
};

/// What a study tells an agent at the start.
struct AgentSetup {
  std::vector<Decision> decisions;
  std::size_t objectives = 1;   ///< >= 1
  std::size_t constraints = 0;  ///< values told about each trial besides its objectives
  std::uint64_t seed = 0;
  /// The first trial that will be asked of the agent. Those before are told before: the problem's
  /// anchors, or results of an earlier study to start from.
  std::uint64_t first_trial = 0;
  /// Assignments of the problem's anchors. Their results are told like all others, but maybe later
  /// than the first question to an agent without rounds.
  std::vector<Assignment> anchors = {};
  /// What objectives, then constraints are known to be, where all of them are sums over the
  /// decisions; else empty.
  std::vector<AdditiveCost> costs = {};
  /// What objectives, then constraints are expected to be, as sums that results may scale and mend:
  /// SearchProblem::Estimates, nothing (no effects) of those that have none; empty where none has.
  std::vector<AdditiveCost> estimates = {};
  /// SearchProblem::Features.
  std::vector<std::vector<double>> features = {};
  /// SearchProblem::Relevance.
  std::vector<double> relevance = {};
  /// SearchProblem::CoverFront.
  std::vector<CoverPoint> cover_front = {};
  /// SearchProblem::MaskFunction: what an agent may propose. Outlives the agent.
  ChoiceMask mask = {};
};

/// Proposes assignments and hears how they did: ask and tell, in batches.
///
/// What Ask returns is a function of the setup, the trial numbers and the trials told before, and
/// of nothing else. So a parallel run takes the same decisions as a serial one: the study tells in
/// order of trial number, and asks for no trial before round() says all it depends on was told.
class Agent {
 public:
  /// UserError if the decisions are malformed (CheckDecisions) or there is no objective.
  explicit Agent(AgentSetup setup);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  virtual ~Agent() = default;

  /// Proposals for trials first, first + 1, ..., at most `count`; fewer at the end of a round,
  /// fewer or none when the agent has nothing left to try. Each has one choice per decision, in
  /// range and not ruled out by the mask. `first` >= first_trial.
  [[nodiscard]] std::vector<Assignment> Ask(std::uint64_t first, std::size_t count);
  /// Results in ascending trial number, each trial once over the agent's life; those of trials
  /// before first_trial (anchors) too. InternalError otherwise, or if one does not fit the setup.
  void Tell(std::span<const Told> results);
  /// Trials asked before the next tell; absent when proposals do not depend on results at all.
  [[nodiscard]] std::optional<std::size_t> round() const { return DoRound(); }

 protected:
  [[nodiscard]] const AgentSetup& setup() const noexcept { return setup_; }

 private:
  [[nodiscard]] virtual std::vector<Assignment> DoAsk(std::uint64_t first, std::size_t count) = 0;
  virtual void DoTell(std::span<const Told> /*results*/) {}
  [[nodiscard]] virtual std::optional<std::size_t> DoRound() const { return std::nullopt; }

  AgentSetup setup_;
  std::optional<std::uint64_t> last_told_;
};

}  // namespace msc::gym
