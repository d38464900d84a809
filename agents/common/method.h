#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "compiler/base/rng.h"
#include "gym/core/agent.h"

namespace msc::agents {

/// The results of completed rounds, in the order in which they were reported.
class History {
 public:
  void Add(const gym::TrialResult& told);
  [[nodiscard]] const std::vector<gym::TrialResult>& trials() const noexcept { return trials_; }
  /// Returns the first trial with this assignment, or nullptr.
  [[nodiscard]] const gym::TrialResult* Find(const gym::Assignment& assignment) const;
  /// Returns the best trial by IsBetterTrial, or nullptr if there is none.
  [[nodiscard]] const gym::TrialResult* Best() const;
  /// Returns the assignment of the best trial or, if there is none, the first choices made legal.
  [[nodiscard]] gym::Assignment BestOr(const gym::AgentSetup& setup) const;

 private:
  std::vector<gym::TrialResult> trials_;
  std::map<gym::Assignment, std::size_t> places_;
  std::size_t best_ = 0;
};

/// The proposals of one round while they are collected. A draft rejects assignments that are
/// illegal, and those already tried or proposed, as measuring them again would bring no
/// information.
class Draft {
 public:
  /// Starts a draft of at most `count` proposals for trials first, first + 1, ... `setup` and
  /// `history` outlive it.
  Draft(const gym::AgentSetup& setup, const History& history, std::uint64_t first,
        std::size_t count);

  [[nodiscard]] const History& history() const noexcept { return history_; }
  [[nodiscard]] const std::vector<gym::Assignment>& proposals() const noexcept {
    return proposals_;
  }
  /// Returns the trial number of the next proposal.
  [[nodiscard]] std::uint64_t trial() const noexcept { return first_ + proposals_.size(); }
  /// Returns whether the draft has all its proposals or the space is exhausted.
  [[nodiscard]] bool full() const noexcept { return exhausted_ || proposals_.size() >= limit_; }
  /// Returns how many more proposals fit.
  [[nodiscard]] std::size_t room() const noexcept {
    return full() ? 0 : limit_ - proposals_.size();
  }
  /// Returns a generator for the next proposal, seeded by the study's seed and the trial number.
  [[nodiscard]] Rng MakeRng() const;
  /// Returns whether `assignment` is legal and neither tried nor drafted already.
  [[nodiscard]] bool Takes(const gym::Assignment& assignment) const;
  /// Adds `assignment` if Takes accepts it and there is room; returns whether it did.
  bool Add(const gym::Assignment& assignment);
  /// Adds the nearest legal assignment or, if that is not new, a new one near it: random changes of
  /// more and more decisions, at last any that is left. Returns false if nothing is left.
  bool AddNear(gym::Assignment assignment, Rng& rng);
  /// Adds an assignment drawn almost uniformly from those that are left. Returns false if there is
  /// none or no room.
  bool AddRandom();
  /// Returns whether a search for one best answer should draw the next proposal at random: every
  /// fourth one while the best trial is more than 24 trials old, as its neighbourhood is then used
  /// up.
  [[nodiscard]] bool IsStuck() const;

 private:
  friend class PartOfDraft;
  const gym::AgentSetup& setup_;
  const History& history_;
  std::uint64_t first_;
  std::size_t limit_;
  std::vector<gym::Assignment> proposals_;
  bool exhausted_ = false;
};

/// Limits a draft to `count` more proposals for the lifetime of this object.
class PartOfDraft {
 public:
  PartOfDraft(Draft& draft, std::size_t count);
  PartOfDraft(const PartOfDraft&) = delete;
  PartOfDraft& operator=(const PartOfDraft&) = delete;
  ~PartOfDraft() { draft_.limit_ = limit_; }

 private:
  Draft& draft_;
  std::size_t limit_;
};

/// A search method that works in rounds. Its proposals are a function of the results that it
/// learned and of the draft, and Propose changes no state: a resumed study, which reports all
/// earlier results first, continues as it would have without the interruption.
class Method {
 public:
  Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  virtual ~Method() = default;
  /// Learns the results of a whole round, which `history` already contains; the first call has the
  /// results of trials before the agent's first one, possibly none.
  virtual void Learn(const History& history, std::span<const gym::TrialResult> round) = 0;
  /// Adds proposals to the draft until it is full or the method has no more.
  virtual void Propose(Draft& draft) const = 0;
};

/// Sizes of an agent's rounds.
enum class Rounds {
  kEqual,
  /// An eighth of the number of earlier trials, at least one, at most the size given. Proposals of
  /// one round cannot use each other's results, which costs more while results are few.
  kGrowing,
  /// The same with a part in 32.
  kGrowingSlowly,
};

/// Returns whether the search is for one best answer without limits.
[[nodiscard]] bool SeeksLeast(const gym::AgentSetup& setup);
/// Returns the sizes of rounds for an agent that models results. Where one best answer is sought,
/// rounds of an eighth left `auto` at 1.38 of the optimum of a table of kernels after 60 trials,
/// those of a part in 32 at 1.13 (medians of 40 seeds, benchmarks/agents/outside).
[[nodiscard]] Rounds RoundsFor(const gym::AgentSetup& setup);

/// Makes an agent that asks `method` for at most `round` proposals at a time. Random proposals fill
/// a draft that the method leaves short, until the space is exhausted.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeRoundAgent(gym::AgentSetup setup, std::size_t round,
                                                         std::unique_ptr<Method> method,
                                                         Rounds rounds = Rounds::kEqual);

/// Returns the next legal assignment in the order in which the last decision varies fastest; after
/// the last one, the first. `assignment` is legal.
[[nodiscard]] gym::Assignment NextLegal(const gym::AgentSetup& setup, gym::Assignment assignment);

}  // namespace msc::agents
