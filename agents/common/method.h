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

/// What was told so far, whole rounds only, in the order of telling.
class History {
 public:
  void Add(const gym::Told& told);
  [[nodiscard]] const std::vector<gym::Told>& trials() const noexcept { return trials_; }
  /// The first trial with this assignment, or nullptr.
  [[nodiscard]] const gym::Told* Find(const gym::Assignment& assignment) const;
  /// The best by Better, or nullptr when nothing was told.
  [[nodiscard]] const gym::Told* Best() const;
  /// Its assignment or, when nothing was told, the first choices, as far as they are legal.
  [[nodiscard]] gym::Assignment BestOr(const gym::AgentSetup& setup) const;

 private:
  std::vector<gym::Told> trials_;
  std::map<gym::Assignment, std::size_t> places_;
  std::size_t best_ = 0;
};

/// The proposals of one round while they are made. No assignment gets in that was told or proposed
/// before: a second measurement of the same would say nothing new. Nor does one that is ruled out.
class Draft {
 public:
  /// Both outlive the draft. `count` proposals for trials first, first + 1, ...
  Draft(const gym::AgentSetup& setup, const History& history, std::uint64_t first,
        std::size_t count);

  [[nodiscard]] const History& history() const noexcept { return history_; }
  [[nodiscard]] const std::vector<gym::Assignment>& proposals() const noexcept {
    return proposals_;
  }
  /// Number of the next proposal.
  [[nodiscard]] std::uint64_t trial() const noexcept { return first_ + proposals_.size(); }
  /// Whether there is no room for a further proposal, or nothing left in the space.
  [[nodiscard]] bool full() const noexcept { return exhausted_ || proposals_.size() >= limit_; }
  /// Proposals that it still has room for.
  [[nodiscard]] std::size_t room() const noexcept {
    return full() ? 0 : limit_ - proposals_.size();
  }
  /// Draws for the next proposal: a function of the study's seed and the trial's number.
  [[nodiscard]] Rng MakeRng() const;
  /// Whether it is legal, and neither told nor drafted already.
  [[nodiscard]] bool Takes(const gym::Assignment& assignment) const;
  /// Adds it if it is to be taken and there is room; returns whether it did.
  bool Add(const gym::Assignment& assignment);
  /// Adds the legal one that is nearest or, if that is not new, a new one near it: with more and
  /// more decisions drawn afresh, at last whatever is left. Returns false when nothing is left.
  bool AddNear(gym::Assignment assignment, Rng& rng);
  /// Adds one drawn uniformly from those that are left, or nearly so.
  bool AddRandom();
  /// Whether the next proposal of a search for one best answer is better drawn at random: each
  /// fourth, while the best of the history is more than 24 trials old. What is near it is used up.
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

/// Lets a draft take only `count` more proposals while this lives.
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

/// A search method that works in rounds. What it proposes is a function of what it learned and of
/// the draft: Propose changes nothing, so a study that is resumed, told all and asked for the rest,
/// goes on as it would have.
class Method {
 public:
  Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;
  virtual ~Method() = default;
  /// The results of a whole round, which are in `history` already; at first those of trials before
  /// the agent's first one, maybe none.
  virtual void Learn(const History& history, std::span<const gym::Told> round) = 0;
  /// Fills the draft as far as it can.
  virtual void Propose(Draft& draft) const = 0;
};

/// How long the rounds of an agent are.
enum class Rounds {
  kEqual,
  /// An eighth of the trials before it, at least one. The proposals of a round do not know of each
  /// other's results, which costs the more the fewer results there are.
  kGrowing,
};

/// The agent that asks `method` for `round` proposals at a time, at most. When the method leaves a
/// draft short, random proposals fill it until the space is exhausted.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeRoundAgent(gym::AgentSetup setup, std::size_t round,
                                                         std::unique_ptr<Method> method,
                                                         Rounds rounds = Rounds::kEqual);

/// The next legal assignment in the order where the last decision varies fastest; at the end the
/// first one. `assignment` is legal.
[[nodiscard]] gym::Assignment NextLegal(const gym::AgentSetup& setup, gym::Assignment assignment);

}  // namespace msc::agents
