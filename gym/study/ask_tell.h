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

/// A study whose caller evaluates the trials: Ask hands out a trial, Tell takes its result.
///
/// For the same agent, seed and results, and without known results, trials and their numbers are
/// those of RunStudy: anchors (the problem's baselines) come first, and an assignment that was
/// handed out before is not handed out again; its result is copied. Several trials may be open at
/// once, and their results may arrive in any order. The study lives in memory only. Not
/// thread-safe.
class AskTell {
 public:
  /// Trials that precede the agent's own, in this order.
  struct Start {
    /// Results of trials evaluated elsewhere that are valid here. They become trials 0, 1, ... of
    /// the source "known" and are never handed out. Of equal assignments the first result counts.
    std::vector<std::pair<Assignment, Evaluation>> known = {};
    std::vector<std::pair<std::string, Assignment>> anchors = {};
  };

  /// `source` is the name of `agent`. The agent's first trial must be the number of trials in
  /// `start` (AgentSetupFor). The agent outlives this object. UserError if a known result lacks a
  /// metric, as in Tell.
  AskTell(const Start& start, Agent& agent, std::string source, Objective objective);

  /// Returns the next trial, without a result, or nothing if the agent has no proposals left.
  /// UserError, listing the open trials, if the agent needs their results before it proposes
  /// another.
  [[nodiscard]] std::optional<Trial> Ask();
  /// Records the result of an open trial. UserError if the trial was never handed out or already
  /// has a result, or if a metric that the objective names is missing or not finite.
  void Tell(std::uint64_t number, Evaluation evaluation);
  /// Returns the numbers of the open trials, ascending.
  [[nodiscard]] std::vector<std::uint64_t> Waiting() const;
  /// Returns the trials that have a result, by number, with the best of them and their Pareto set.
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
  std::deque<Trial> queue_;              // not handed out yet
  std::map<std::uint64_t, Trial> open_;  // handed out, no result yet
  std::map<std::uint64_t, Trial> done_;
  std::map<Assignment, std::uint64_t> first_;           // first trial with an assignment
  std::map<std::uint64_t, std::vector<Trial>> copies_;  // waiting for an open trial
  std::uint64_t next_ = 0;                              // number of the next trial
  std::uint64_t told_ = 0;  // the agent has the results of all trials below
  bool exhausted_ = false;
};

}  // namespace msc::gym
