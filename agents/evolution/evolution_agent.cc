#include "agents/evolution/evolution_agent.h"

#include <algorithm>
#include <utility>

#include "agents/common/method.h"
#include "agents/common/ranking.h"
#include "agents/evolution/evolution_method.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

namespace {

constexpr std::size_t kRound = 4;
/// One in four trials so far is a parent, so that selection is as strong in a short search as in a
/// long one.
constexpr std::size_t kParentOneIn = 4;
constexpr std::size_t kLeastParents = 4;

class EvolutionMethod final : public Method {
 public:
  EvolutionMethod(gym::AgentSetup setup, Selection selection)
      : setup_(std::move(setup)),
        selection_(selection),
        survivors_(selection == Selection::kBest ? 16 : 20) {}

  void Learn(const History& history, std::span<const TrialResult> round) override {
    population_.insert(population_.end(), round.begin(), round.end());
    if (selection_ == Selection::kBest) {
      std::stable_sort(population_.begin(), population_.end(), IsBetterTrial);
    } else {
      std::vector<const TrialResult*> pointers;
      for (const TrialResult& told : population_) pointers.push_back(&told);
      std::vector<TrialResult> sorted;
      for (const std::size_t i : SurvivalOrder(pointers)) sorted.push_back(population_[i]);
      population_ = std::move(sorted);
    }
    if (population_.size() > survivors_) population_.resize(survivors_);
    std::size_t wanted = std::max(history.trials().size() / kParentOneIn, kLeastParents);
    if (selection_ == Selection::kFront) {
      std::vector<const TrialResult*> survivors;
      for (const TrialResult& told : population_) survivors.push_back(&told);
      // No member of the front is worse than another.
      wanted = std::max(wanted, FrontSize(survivors));
    }
    parents_ = std::min(wanted, population_.size());
  }

  void Propose(Draft& draft) const override {
    while (!draft.full()) {
      // Random proposals come first, until there is something to select from.
      if (draft.history().trials().size() + draft.proposals().size() < survivors_ / 4) {
        draft.AddRandom();
        continue;
      }
      if (parents_ == 0) return;
      if (draft.IsStuck()) {
        draft.AddRandom();
        continue;
      }
      Rng rng = draft.MakeRng();
      draft.AddNear(Child(rng), rng);
    }
  }

 private:
  /// Returns the better of two random parents: the population is sorted.
  [[nodiscard]] const Assignment& Parent(Rng& rng) const {
    const std::uint64_t a = rng.Below(parents_);
    const std::uint64_t b = rng.Below(parents_);
    return population_[std::min(a, b)].assignment;
  }

  [[nodiscard]] Assignment Child(Rng& rng) const {
    // Deb et al., 2002, section IV, use the same probability of crossover.
    constexpr double kCrossover = 0.9;
    // Decisions of a child that mutate, on average. AddNear changes a child that is already known.
    constexpr double kChanges = 0.5;
    Assignment child = Parent(rng);
    if (rng.Uniform() < kCrossover) {
      const Assignment& other = Parent(rng);
      for (std::size_t i = 0; i < child.size(); ++i) {
        if (rng.Below(2) == 1) child[i] = other[i];
      }
    }
    for (std::size_t i = 0; i < child.size(); ++i) {
      if (rng.Uniform() * static_cast<double>(child.size()) >= kChanges) continue;
      child[i] = static_cast<std::int32_t>(rng.Below(setup_.decisions[i].choices.size()));
    }
    return child;
  }

  gym::AgentSetup setup_;
  Selection selection_;
  std::size_t survivors_;
  std::vector<TrialResult> population_;  // best first
  std::size_t parents_ = 0;              // number of parents, the first ones of population_
};

}  // namespace

std::unique_ptr<Method> MakeEvolutionMethod(const gym::AgentSetup& setup, Selection selection) {
  return std::make_unique<EvolutionMethod>(setup, selection);
}

std::unique_ptr<gym::Agent> MakeEvolutionAgent(const gym::AgentSetup& setup) {
  return MakeRoundAgent(setup, kRound, MakeEvolutionMethod(setup, Selection::kBest));
}

std::unique_ptr<gym::Agent> MakeNsga2Agent(const gym::AgentSetup& setup) {
  return MakeRoundAgent(setup, kRound, MakeEvolutionMethod(setup, Selection::kFront));
}

}  // namespace msc::agents
