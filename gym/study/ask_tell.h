#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gym/core/agent.h"
#include "gym/study/objective.h"
#include "gym/study/study.h"
#include "gym/study/trial.h"

namespace msc::gym {

/// A study whose caller tries the trials: ask for one, tell what came of it.
///
/// The same trials under the same numbers as RunStudy's with the same agent, seed and results,
/// where nothing is known before: anchors come first, and an assignment that was tried is not
/// handed out again but copied. Several may be out at once, and told in any order. Kept in memory
/// only. Not thread-safe.
class AskTell {
 public:
  /// What comes before the agent's trials, in this order.
  struct Start {
    /// Results of trials made elsewhere that hold here: trials 0, 1, ... of the source "known",
    /// never handed out. Of equal assignments the first one's result counts.
    std::vector<std::pair<Assignment, Evaluation>> known = {};
    std::vector<std::pair<std::string, Assignment>> anchors = {};
  };

  /// `agent`, of the name `source`, has as many trials before its first as there are in `start`
  /// (AgentSetupFor); it outlives this. UserError for what is known as for what is told.
  AskTell(const Start& start, Agent& agent, std::string source, Objective objective);

  /// The next trial, without a result; none where the agent has nothing left. UserError, naming
  /// them, where the agent wants to hear of other trials first.
  [[nodiscard]] std::optional<Trial> Ask();
  /// What came of a trial that was asked for. UserError if it was not or was told before, or if a
  /// metric that the objective names is missing or not finite.
  void Tell(std::uint64_t number, Evaluation evaluation);
  /// Numbers of those asked for and not told yet, ascending.
  [[nodiscard]] std::vector<std::uint64_t> Waiting() const;
  /// Trials that have a result, by number, with the best and the Pareto set of them.
  [[nodiscard]] StudyResult Result() const;

 private:
  void CheckMetrics(std::uint64_t number, const Evaluation& evaluation) const;
  void Enqueue(std::string source, Assignment assignment);
  bool Refill();
  void TellAgent();
  void Copy(const Trial& original, Trial copy);

  Agent& agent_;
  std::string source_;
  Objective objective_;
  std::deque<Trial> queue_;              // not asked for yet
  std::map<std::uint64_t, Trial> open_;  // asked for, not told
  std::map<std::uint64_t, Trial> done_;
  std::map<Assignment, std::uint64_t> first_;  // trial that an assignment was handed out as
  std::map<std::uint64_t, std::vector<Trial>> copies_;  // that wait for an open one
  std::uint64_t next_ = 0;                              // number of the next proposal
  std::uint64_t told_ = 0;                              // the agent knows of all below
  bool exhausted_ = false;
};

}  // namespace msc::gym
