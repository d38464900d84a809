#include "agents/tpe/tpe_agent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "agents/common/ranking.h"
#include "agents/tpe/parzen.h"
#include "agents/tpe/tpe_method.h"

namespace msc::agents {

using gym::Assignment;
using gym::Told;

namespace {

constexpr std::size_t kStart = 5;
constexpr std::size_t kLeastGood = 3;
constexpr std::size_t kMostGood = 25;
constexpr std::size_t kMostBad = 200;  // the latest; more would cost time and say little
constexpr std::size_t kDraws = 48;

std::size_t Share(double share, std::size_t of) {
  return static_cast<std::size_t>(std::ceil(share * static_cast<double>(of)));
}

class TpeMethod final : public Method {
 public:
  TpeMethod(gym::AgentSetup setup, Goodness goodness)
      : setup_(std::move(setup)), goodness_(goodness) {}

  void Learn(const History& history, std::span<const Told> /*round*/) override {
    const std::vector<Told>& trials = history.trials();
    std::vector<std::size_t> order(trials.size());
    std::size_t good = 0;
    if (goodness_ == Goodness::kFront) {
      std::vector<const Told*> pointers;
      pointers.reserve(trials.size());
      for (const Told& told : trials) pointers.push_back(&told);
      order = SurvivalOrder(pointers);
      for (std::size_t i = 0; i < order.size(); ++i) pointers[i] = &trials[order[i]];
      // No member of the front is worse than another.
      good = std::max(Share(0.3, trials.size()), FrontSize(pointers));
    } else {
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return Better(trials[a], trials[b]); });
      good = Share(0.1, trials.size());
    }
    good = std::min({std::max(good, kLeastGood), kMostGood, order.size()});
    good_.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(good));
    bad_.assign(order.begin() + static_cast<std::ptrdiff_t>(good), order.end());
    std::sort(bad_.begin(), bad_.end());
    if (bad_.size() > kMostBad) {
      bad_.erase(bad_.begin(), bad_.end() - static_cast<std::ptrdiff_t>(kMostBad));
    }
  }

  void Propose(Draft& draft) const override {
    const std::vector<Told>& trials = draft.history().trials();
    if (trials.size() < kStart) return;
    std::vector<const Assignment*> good;
    std::vector<const Assignment*> bad;
    for (const std::size_t i : good_) good.push_back(&trials[i].assignment);
    for (const std::size_t i : bad_) bad.push_back(&trials[i].assignment);
    // One or two decisions of a draw differ from its centre.
    const auto dimensions = static_cast<double>(setup_.decisions.size());
    const double bandwidth = std::clamp(1.5 / dimensions, 0.02, 0.4);
    const Parzen likely(setup_.decisions, good, bandwidth);
    const Parzen base(setup_.decisions, bad, bandwidth);
    while (!draft.full()) {
      if (draft.IsStuck()) {
        draft.AddRandom();
        continue;
      }
      Parzen unlikely = base;
      for (const Assignment& liar : draft.proposals()) unlikely.Add(&liar);
      Rng rng = draft.MakeRng();
      Assignment best;
      double most = -std::numeric_limits<double>::infinity();
      for (std::size_t i = 0; i < kDraws; ++i) {
        Assignment drawn = gym::MakeLegal(setup_.mask, likely.Draw(rng));
        if (!draft.Takes(drawn)) continue;
        const double ratio = likely.LogDensity(drawn) - unlikely.LogDensity(drawn);
        if (ratio <= most) continue;
        most = ratio;
        best = std::move(drawn);
      }
      if (best.empty()) {
        draft.AddNear(*good.front(), rng);
      } else {
        draft.Add(best);
      }
    }
  }

 private:
  gym::AgentSetup setup_;
  Goodness goodness_;
  std::vector<std::size_t> good_;  // best first
  std::vector<std::size_t> bad_;   // in the order of telling
};

}  // namespace

std::unique_ptr<Method> MakeTpeMethod(const gym::AgentSetup& setup, Goodness goodness) {
  return std::make_unique<TpeMethod>(setup, goodness);
}

namespace {

std::unique_ptr<gym::Agent> MakeAgent(const gym::AgentSetup& setup, Goodness goodness) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound, MakeTpeMethod(setup, goodness), Rounds::kGrowing);
}

}  // namespace

std::unique_ptr<gym::Agent> MakeTpeAgent(const gym::AgentSetup& setup) {
  return MakeAgent(setup, Goodness::kBest);
}

std::unique_ptr<gym::Agent> MakeMotpeAgent(const gym::AgentSetup& setup) {
  return MakeAgent(setup, Goodness::kFront);
}

}  // namespace msc::agents
