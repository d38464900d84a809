#include "agents/tpe/tpe_agent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "agents/common/ranking.h"
#include "agents/tpe/parzen.h"
#include "agents/tpe/tpe_method.h"
#include "gym/core/pareto.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

namespace {

constexpr std::size_t kStart = 5;
constexpr std::size_t kLeastGood = 3;
constexpr std::size_t kMostGood = 25;
constexpr std::size_t kMostBad = 200;  // the latest; more would take time and add little
constexpr std::size_t kDraws = 48;

std::size_t Share(double share, std::size_t of) {
  return static_cast<std::size_t>(std::ceil(share * static_cast<double>(of)));
}

/// Returns the weights of the centres of good trials, 1 on average: by the hypervolume contribution
/// of each in a search for a front, else equal. Source: Y. Ozaki et al., "Multiobjective
/// tree-structured Parzen estimator", 2022, section 4.2.
std::vector<double> WeightsOf(const std::vector<std::size_t>& good,
                              const std::vector<TrialResult>& trials, std::size_t objectives) {
  constexpr std::size_t kMaxObjectives = 4;  // with more, contributions take too long to compute
  constexpr double kAlike = 0.1;             // share of a weight that is equal for all
  const auto counts = [&](const TrialResult& told) {
    return told.Complete() && told.violation == 0;
  };
  std::vector<double> weights(good.size(), 1.0);
  if (objectives < 2 || objectives > kMaxObjectives) return weights;
  std::vector<double> reference;
  for (std::size_t k = 0; k < objectives; ++k) {
    double least = std::numeric_limits<double>::infinity();
    double most = -least;
    for (const TrialResult& told : trials) {
      if (!counts(told)) continue;
      least = std::min(least, told.objectives[k]);
      most = std::max(most, told.objectives[k]);
    }
    // Above the largest value, or trials that have it would contribute nothing.
    reference.push_back(most + 0.1 * (most - least));
  }
  std::vector<std::vector<double>> points;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (!counts(trials[good[i]])) continue;
    points.push_back(trials[good[i]].objectives);
    places.push_back(i);
  }
  const std::vector<double> contributions = gym::HypervolumeContributions(points, reference);
  const double sum = std::accumulate(contributions.begin(), contributions.end(), 0.0);
  if (!(sum > 0)) return weights;
  const auto count = static_cast<double>(good.size());
  std::fill(weights.begin(), weights.end(), kAlike);
  for (std::size_t i = 0; i < places.size(); ++i) {
    weights[places[i]] += (1 - kAlike) * count * contributions[i] / sum;
  }
  return weights;
}

class TpeMethod final : public Method {
 public:
  TpeMethod(gym::AgentSetup setup, Goodness goodness)
      : setup_(std::move(setup)), goodness_(goodness) {}

  void Learn(const History& history, std::span<const TrialResult> /*round*/) override {
    const std::vector<TrialResult>& trials = history.trials();
    std::vector<std::size_t> order(trials.size());
    std::size_t good = 0;
    if (goodness_ == Goodness::kFront) {
      std::vector<const TrialResult*> pointers;
      pointers.reserve(trials.size());
      for (const TrialResult& told : trials) pointers.push_back(&told);
      order = SurvivalOrder(pointers);
      for (std::size_t i = 0; i < order.size(); ++i) pointers[i] = &trials[order[i]];
      // No member of the front is worse than another.
      good = std::max(Share(0.3, trials.size()), FrontSize(pointers));
    } else {
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return IsBetterTrial(trials[a], trials[b]);
      });
      // A tenth of the trials, at most 25, is also the default of Optuna.
      good = Share(0.1, trials.size());
    }
    good = std::min({std::max(good, kLeastGood), kMostGood, order.size()});
    good_.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(good));
    weights_ = goodness_ == Goodness::kFront ? WeightsOf(good_, trials, setup_.objectives)
                                             : std::vector<double>(good_.size(), 1.0);
    bad_.assign(order.begin() + static_cast<std::ptrdiff_t>(good), order.end());
    // Back in the order of results, the first ones are the oldest.
    std::sort(bad_.begin(), bad_.end());
    if (bad_.size() > kMostBad) {
      bad_.erase(bad_.begin(), bad_.end() - static_cast<std::ptrdiff_t>(kMostBad));
    }
  }

  void Propose(Draft& draft) const override {
    const std::vector<TrialResult>& trials = draft.history().trials();
    if (trials.size() < kStart) return;
    std::vector<Parzen::Centre> good;
    std::vector<Parzen::Centre> bad;
    for (std::size_t i = 0; i < good_.size(); ++i) {
      good.push_back({&trials[good_[i]].assignment, weights_[i]});
    }
    for (const std::size_t i : bad_) bad.push_back({.at = &trials[i].assignment});
    // A draw differs from its centre in one decision, sometimes two. On made-up problems
    // (benchmarks/agents/made_up) values from 1 to 2 are equally good; the larger, the later an end
    // of a front is found.
    const auto dimensions = static_cast<double>(setup_.decisions.size());
    const double bandwidth = std::clamp(1.25 / dimensions, 0.02, 0.4);
    const Parzen likely(setup_.decisions, good, bandwidth);
    const Parzen base(setup_.decisions, bad, bandwidth);
    while (!draft.full()) {
      if (draft.IsStuck()) {
        draft.AddRandom();
        continue;
      }
      Parzen unlikely = base;
      for (const Assignment& liar : draft.proposals()) unlikely.Add({.at = &liar});
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
        draft.AddNear(*good.front().at, rng);
      } else {
        draft.Add(best);
      }
    }
  }

 private:
  gym::AgentSetup setup_;
  Goodness goodness_;
  std::vector<std::size_t> good_;  // best first
  std::vector<double> weights_;    // weights of good_
  std::vector<std::size_t> bad_;   // in the order of the results
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
