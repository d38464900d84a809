#include "agents/annealing/annealing_agent.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "agents/common/amounts.h"
#include "agents/common/method.h"
#include "agents/common/ranking.h"

namespace msc::agents {

using gym::TrialResult;

namespace {

class AnnealingMethod final : public Method {
 public:
  explicit AnnealingMethod(gym::AgentSetup setup) : setup_(std::move(setup)) {}

  void Learn(const History& history, std::span<const TrialResult> round) override {
    for (const TrialResult& told : round) {
      ranked_.insert(std::upper_bound(ranked_.begin(), ranked_.end(), told, IsBetterTrial), told);
    }
    if (!current_) {
      if (history.Best() != nullptr) current_ = *history.Best();
      return;
    }
    for (const TrialResult& told : round) {
      if (Accepts(told, history.trials().size())) current_ = told;
    }
  }

  void Propose(Draft& draft) const override {
    while (!draft.full()) {
      Rng rng = draft.MakeRng();
      if (!current_) {
        draft.AddRandom();
        continue;
      }
      gym::Assignment neighbour = current_->assignment;
      const std::size_t place = rng.Below(neighbour.size());
      const gym::Decision& decision = setup_.decisions[place];
      const std::uint64_t choices = decision.choices.size();
      if (const auto next = DrawNextAmount(decision, neighbour[place], rng)) {
        neighbour[place] = *next;
      } else if (choices > 1) {
        // A step of 1 to choices - 1, modulo the number of choices, reaches each other choice
        // equally often.
        const std::uint64_t step = 1 + rng.Below(choices - 1);
        neighbour[place] = static_cast<std::int32_t>(
            (static_cast<std::uint64_t>(neighbour[place]) + step) % choices);
      }
      draft.AddNear(std::move(neighbour), rng);
    }
  }

 private:
  [[nodiscard]] double Energy(const TrialResult& told) const {
    // lower_bound counts the trials that are strictly better, so equal results have equal energy.
    const auto place = std::lower_bound(ranked_.begin(), ranked_.end(), told, IsBetterTrial);
    return static_cast<double>(place - ranked_.begin()) / static_cast<double>(ranked_.size());
  }

  [[nodiscard]] bool Accepts(const TrialResult& told, std::size_t trials) const {
    // Energies are between 0 and 1. At first, a rise by a quarter of all trials is accepted with
    // probability 1/e.
    constexpr double kStart = 0.25;
    constexpr double kHalving = 25;  // trials after which the temperature has halved
    const double temperature = kStart / (1 + static_cast<double>(trials) / kHalving);
    const double rise = Energy(told) - Energy(*current_);
    constexpr std::uint64_t kTag = 0x68656174;  // "heat": a random stream of its own
    Rng rng(MixSeed({setup_.seed, kTag, told.trial}));
    return rise <= 0 || rng.Uniform() < std::exp(-rise / temperature);
  }

  gym::AgentSetup setup_;
  std::vector<TrialResult> ranked_;  // best first
  std::optional<TrialResult> current_;
};

}  // namespace

std::unique_ptr<gym::Agent> MakeAnnealingAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound, std::make_unique<AnnealingMethod>(setup));
}

}  // namespace msc::agents
