#include "agents/common/method.h"

#include <algorithm>
#include <utility>

#include "agents/common/ranking.h"
#include "compiler/base/error.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

void History::Add(const TrialResult& told) {
  places_.emplace(told.assignment, trials_.size());
  trials_.push_back(told);
  if (IsBetterTrial(told, trials_[best_])) best_ = trials_.size() - 1;
}

const TrialResult* History::Find(const Assignment& assignment) const {
  const auto it = places_.find(assignment);
  return it == places_.end() ? nullptr : &trials_[it->second];
}

const TrialResult* History::Best() const {
  return trials_.empty() ? nullptr : &trials_[best_];
}

Assignment History::BestOr(const gym::AgentSetup& setup) const {
  if (const TrialResult* best = Best()) return best->assignment;
  return gym::MakeLegal(setup.mask, Assignment(setup.decisions.size(), 0));
}

Draft::Draft(const gym::AgentSetup& setup, const History& history, std::uint64_t first,
             std::size_t count)
    : setup_(setup), history_(history), first_(first), limit_(count) {}

Rng Draft::MakeRng() const {
  return Rng(MixSeed({setup_.seed, trial()}));
}

bool Draft::Takes(const Assignment& assignment) const {
  return history_.Find(assignment) == nullptr &&
         std::find(proposals_.begin(), proposals_.end(), assignment) == proposals_.end() &&
         gym::IsLegal(setup_.mask, assignment);
}

bool Draft::Add(const Assignment& assignment) {
  if (full() || !Takes(assignment)) return false;
  proposals_.push_back(assignment);
  return true;
}

bool Draft::AddNear(Assignment assignment, Rng& rng) {
  if (full()) return false;
  assignment = gym::MakeLegal(setup_.mask, std::move(assignment));
  if (Add(assignment)) return true;
  const auto& decisions = setup_.decisions;
  // One change, then two, ...: near assignments first. If all of these are known, the space is
  // nearly exhausted.
  constexpr std::size_t kTriesPerCount = 8;
  for (std::size_t changes = 1; changes <= std::min<std::size_t>(decisions.size(), 8); ++changes) {
    for (std::size_t attempt = 0; attempt < kTriesPerCount; ++attempt) {
      Assignment other = assignment;
      for (std::size_t i = 0; i < changes; ++i) {
        const std::size_t place = rng.Below(decisions.size());
        other[place] = static_cast<std::int32_t>(rng.Below(decisions[place].choices.size()));
      }
      if (Add(gym::MakeLegal(setup_.mask, std::move(other)))) return true;
    }
  }
  return AddRandom();
}

bool Draft::AddRandom() {
  if (full()) return false;
  Rng rng = MakeRng();
  // Rejection keeps the draw uniform over what is left. With half of the space left, 16 draws all
  // fail once in 65,536 times.
  constexpr std::size_t kTries = 16;
  for (std::size_t i = 0; i < kTries; ++i) {
    if (Add(gym::DrawLegal(setup_.decisions, setup_.mask, rng))) return true;
  }
  // Few are left: count on from a random one, past at most every assignment tried.
  const Assignment start = gym::DrawLegal(setup_.decisions, setup_.mask, rng);
  Assignment next = start;
  do {
    if (Add(next)) return true;
    next = NextLegal(setup_, std::move(next));
  } while (next != start);
  exhausted_ = true;
  return false;
}

bool Draft::IsStuck() const {
  constexpr std::uint64_t kPatience = 24;
  constexpr std::uint64_t kOneIn = 4;
  const TrialResult* best = history_.Best();
  return setup_.objectives == 1 && best != nullptr && trial() - best->trial > kPatience &&
         trial() % kOneIn == 0;
}

PartOfDraft::PartOfDraft(Draft& draft, std::size_t count) : draft_(draft), limit_(draft.limit_) {
  draft_.limit_ = std::min(limit_, draft_.proposals_.size() + count);
}

Assignment NextLegal(const gym::AgentSetup& setup, Assignment assignment) {
  for (std::size_t i = assignment.size(); i-- > 0;) {
    const std::vector<bool> flags =
        setup.mask ? setup.mask(std::span(assignment).first(i)) : std::vector<bool>();
    const auto choices = static_cast<std::int32_t>(setup.decisions[i].choices.size());
    for (std::int32_t choice = assignment[i] + 1; choice < choices; ++choice) {
      if (!flags.empty() && !flags[static_cast<std::size_t>(choice)]) continue;
      // The later decisions restart at their first legal choices.
      assignment[i] = choice;
      std::fill(assignment.begin() + static_cast<std::ptrdiff_t>(i) + 1, assignment.end(), 0);
      return gym::MakeLegal(setup.mask, std::move(assignment));
    }
  }
  return gym::MakeLegal(setup.mask, Assignment(assignment.size(), 0));
}

bool SeeksLeast(const gym::AgentSetup& setup) {
  return setup.objectives == 1 && setup.constraints == 0;
}

Rounds RoundsFor(const gym::AgentSetup& setup) {
  return SeeksLeast(setup) ? Rounds::kGrowingSlowly : Rounds::kGrowing;
}

namespace {

class RoundAgent final : public gym::Agent {
 public:
  RoundAgent(gym::AgentSetup setup, std::size_t size, std::unique_ptr<Method> method, Rounds rounds)
      : Agent(std::move(setup)),
        size_(size),
        rounds_(rounds),
        method_(std::move(method)),
        next_trial_(this->setup().first_trial),
        next_(next_trial_) {
    Check(size_ >= 1, "a round has at least one trial");
  }

 private:
  struct Round {
    std::uint64_t start = 0;
    std::size_t size = 0;
  };

  [[nodiscard]] std::optional<std::size_t> DoRound() const override {
    return RoundOf(next_trial_).size;
  }

  [[nodiscard]] std::size_t SizeFrom(std::uint64_t start) const {
    if (rounds_ == Rounds::kEqual) return size_;
    const std::uint64_t known_per_trial = rounds_ == Rounds::kGrowing ? 8 : 32;
    return static_cast<std::size_t>(
        std::clamp<std::uint64_t>(start / known_per_trial, 1, std::uint64_t{size_}));
  }

  [[nodiscard]] Round RoundOf(std::uint64_t trial) const {
    // The bounds of rounds follow from trial numbers alone, so a resumed study has the same rounds.
    Round round{setup().first_trial, SizeFrom(setup().first_trial)};
    while (round.size < size_ && trial - round.start >= round.size) {
      round.start += round.size;
      round.size = SizeFrom(round.start);
    }
    // All further rounds have the same size, so the division skips whole rounds.
    round.start += (trial - round.start) / round.size * round.size;
    return round;
  }

  void DoTell(std::span<const TrialResult> results) override {
    for (const TrialResult& told : results) {
      if (told.trial >= setup().first_trial) {
        LearnBefore(RoundOf(told.trial).start);
        next_trial_ = told.trial + 1;
      }
      // An unknown result is not part of the history; its assignment may be proposed again.
      if (!told.unknown) heard_.push_back(told);
    }
  }

  /// Passes the results of the rounds before the one that starts at trial `start` to the method,
  /// one round at a time.
  void LearnBefore(std::uint64_t start) {
    if (start < next_) return;
    if (!started_) {
      Learn();  // results of trials before the first one
      started_ = true;
    }
    if (start > next_) {
      Learn();
      next_ = start;
    }
  }

  void Learn() {
    for (const TrialResult& told : heard_) history_.Add(told);
    method_->Learn(history_, heard_);
    heard_.clear();
  }

  std::vector<Assignment> DoAsk(std::uint64_t first, std::size_t count) override {
    const Round round = RoundOf(first);
    Check(round.start >= next_, "an agent is not asked for a round whose results it knows");
    LearnBefore(round.start);
    if (!asked_ || *asked_ != round.start) {
      Draft draft(setup(), history_, round.start, round.size);
      method_->Propose(draft);
      while (draft.AddRandom()) continue;
      proposals_ = draft.proposals();
      asked_ = round.start;
    }
    const std::size_t from = std::min<std::size_t>(first - round.start, proposals_.size());
    const std::size_t size = std::min(count, proposals_.size() - from);
    return {proposals_.begin() + static_cast<std::ptrdiff_t>(from),
            proposals_.begin() + static_cast<std::ptrdiff_t>(from + size)};
  }

  std::size_t size_;
  Rounds rounds_;
  std::unique_ptr<Method> method_;
  History history_;
  std::vector<TrialResult> heard_;  // reported, not yet passed to the method
  std::uint64_t next_trial_;        // one after the last trial reported
  std::uint64_t next_;              // start of the first round not yet passed to the method
  bool started_ = false;
  std::optional<std::uint64_t> asked_;  // start of the round of proposals_
  std::vector<Assignment> proposals_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeRoundAgent(gym::AgentSetup setup, std::size_t round,
                                           std::unique_ptr<Method> method, Rounds rounds) {
  return std::make_unique<RoundAgent>(std::move(setup), round, std::move(method), rounds);
}

}  // namespace msc::agents
