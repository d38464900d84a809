#include "agents/gp/gp_agent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "agents/common/additive_model.h"
#include "agents/common/mixed_radix.h"
#include "agents/common/ranking.h"
#include "agents/gp/gaussian_process.h"
#include "agents/gp/gp_method.h"

namespace msc::agents {

using gym::Assignment;
using gym::Told;

namespace {

constexpr std::size_t kStart = 6;         // trials before a process says anything
constexpr std::size_t kMostPoints = 200;  // of a process: the best and the latest
constexpr double kWholeSpace = 256;       // as many candidates are all looked at

double NormalDensity(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2 * 3.14159265358979323846);
}
double NormalProbability(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// Of what lies below `least`, with `p` what is expected.
double ExpectedImprovement(const Prediction& p, double least) {
  const double z = (least - p.mean) / p.deviation;
  return p.deviation * (z * NormalProbability(z) + NormalDensity(z));
}

/// Violations span orders of magnitude; only the region around 0 matters.
double Flatten(double constraint) {
  return std::asinh(4 * constraint);
}

/// The trials that processes look at, and what they take as the values of failed ones: the worst.
struct Points {
  std::vector<const Told*> trials;
  std::vector<const Assignment*> at;
  std::vector<double> worst_objectives;
};

Points PointsOf(const History& history, std::size_t objectives) {
  Points points;
  for (const Told& told : history.trials()) points.trials.push_back(&told);
  if (points.trials.size() > kMostPoints) {
    const auto half = static_cast<std::ptrdiff_t>(kMostPoints / 2);
    std::stable_sort(points.trials.begin(), points.trials.end() - half,
                     [](const Told* a, const Told* b) { return Better(*a, *b); });
    points.trials.erase(points.trials.begin() + half, points.trials.end() - half);
  }
  points.worst_objectives.assign(objectives, -std::numeric_limits<double>::infinity());
  for (const Told* told : points.trials) {
    points.at.push_back(&told->assignment);
    if (told->failed) continue;
    for (std::size_t k = 0; k < objectives; ++k) {
      points.worst_objectives[k] = std::max(points.worst_objectives[k], told->objectives[k]);
    }
  }
  return points;
}

/// What is made small: one number a trial, `weights` over objectives by augmented Chebyshev, or
/// the first objective where they are empty.
std::vector<double> Targets(const Points& points, const std::vector<double>& weights) {
  const std::size_t objectives = points.worst_objectives.size();
  std::vector<double> least(objectives, std::numeric_limits<double>::infinity());
  for (const Told* told : points.trials) {
    for (std::size_t k = 0; k < told->objectives.size(); ++k) {
      least[k] = std::min(least[k], told->objectives[k]);
    }
  }
  std::vector<double> targets;
  for (const Told* told : points.trials) {
    const auto& values = told->failed ? points.worst_objectives : told->objectives;
    if (weights.empty()) {
      targets.push_back(values[0]);
      continue;
    }
    constexpr double kSum = 0.05;
    double most = 0;
    double sum = 0;
    for (std::size_t k = 0; k < objectives; ++k) {
      const double range = std::max(points.worst_objectives[k] - least[k], 1e-300);
      const double part = weights[k] * (values[k] - least[k]) / range;
      most = std::max(most, part);
      sum += part;
    }
    targets.push_back(most + kSum * sum);
  }
  return targets;
}

class GpMethod final : public Method {
 public:
  explicit GpMethod(const gym::AgentSetup& setup) : setup_(setup) {
    // Costs that are declared are for exact methods; here they would hide what was measured.
    setup_.costs.clear();
  }

  void Learn(const History& /*history*/, std::span<const Told> /*round*/) override {}

  void Propose(Draft& draft) const override {
    const History& history = draft.history();
    if (history.trials().size() < kStart || history.Best()->failed) return;
    const Points points = PointsOf(history, setup_.objectives);
    const AdditiveModel model(setup_, history);
    std::vector<GaussianProcess> limits;
    for (std::size_t c = 0; c < setup_.constraints; ++c) {
      limits.push_back(LimitProcess(points, model, c));
    }
    const auto goal = [&](const std::vector<double>& weights) {
      return GaussianProcess(points.at, Targets(points, weights), model.Ranges(0));
    };
    const std::vector<const Told*> elite = Elite(history);
    std::vector<double> weights;
    GaussianProcess process = goal(weights);
    while (!draft.full()) {
      Rng rng = draft.MakeRng();
      const std::vector<double> wanted = DrawWeights(draft.trial(), rng);
      if (wanted != weights) {
        process = goal(wanted);
        for (const Assignment& proposal : draft.proposals()) process.Believe(proposal);
        weights = wanted;
      }
      const std::vector<Assignment> candidates = Candidates(draft, model, elite, rng);
      if (candidates.empty()) return;
      const Assignment& best =
          candidates[MostPromising(points, Targets(points, weights), process, limits, candidates)];
      draft.Add(best);
      if (draft.full()) return;
      process.Believe(best);
      for (GaussianProcess& limit : limits) limit.Believe(best);
    }
  }

 private:
  [[nodiscard]] GaussianProcess LimitProcess(const Points& points, const AdditiveModel& model,
                                             std::size_t constraint) const {
    std::vector<double> values;
    for (const Told* told : points.trials) {
      values.push_back(Flatten(told->failed ? 1 : told->constraints[constraint]));
    }
    return GaussianProcess(points.at, values, model.Ranges(setup_.objectives + constraint));
  }

  /// Empty for the first objective alone. Under constraints an answer is sought in the first place,
  /// and the front by one proposal in four; without them the front.
  [[nodiscard]] std::vector<double> DrawWeights(std::uint64_t trial, Rng& rng) const {
    if (setup_.objectives == 1 || (setup_.constraints > 0 && trial % 4 != 3)) return {};
    std::vector<double> weights;
    double sum = 0;
    for (std::size_t k = 0; k < setup_.objectives; ++k) {
      weights.push_back(-std::log(1 - rng.Uniform()));  // normalized: uniform on the simplex
      sum += weights.back();
    }
    for (double& weight : weights) weight /= sum;
    return weights;
  }

  [[nodiscard]] std::vector<Assignment> Candidates(const Draft& draft, const AdditiveModel& model,
                                                   const std::vector<const Told*>& elite,
                                                   Rng& rng) const {
    std::vector<Assignment> candidates;
    const auto add = [&](const Assignment& assignment) {
      if (draft.Takes(assignment)) candidates.push_back(assignment);
    };
    const double size = gym::SpaceSize(setup_.decisions);
    if (size <= kWholeSpace) {
      for (std::uint64_t n = 0; n < static_cast<std::uint64_t>(size); ++n) {
        add(*NthAssignment(setup_.decisions, n));
      }
      return candidates;
    }
    for (Assignment& member : model.Front(32)) {
      add(gym::MakeLegal(setup_.mask, std::move(member)));
    }
    constexpr std::size_t kSingle = 48;
    auto changes = SingleChanges(setup_, draft.history().Best()->assignment);
    for (std::size_t i = 0; i < std::min(kSingle, changes.size()); ++i) {
      // A random sample where there are more.
      std::swap(changes[i], changes[i + rng.Below(changes.size() - i)]);
      add(changes[i]);
    }
    constexpr int kMutants = 120;
    for (int i = 0; i < kMutants; ++i) {
      Assignment mutant = elite[rng.Below(elite.size())]->assignment;
      for (std::uint64_t changed = 1 + rng.Below(4); changed > 0; --changed) {
        const std::size_t place = rng.Below(mutant.size());
        mutant[place] =
            static_cast<std::int32_t>(rng.Below(setup_.decisions[place].choices.size()));
      }
      add(gym::MakeLegal(setup_.mask, std::move(mutant)));
    }
    constexpr int kRandom = 20;
    for (int i = 0; i < kRandom; ++i) {
      add(gym::DrawLegal(setup_.decisions, setup_.mask, rng));
    }
    return candidates;
  }

  /// Trials worth starting from: the best few, and the front where one is sought.
  [[nodiscard]] std::vector<const Told*> Elite(const History& history) const {
    constexpr std::size_t kElite = 6;
    std::vector<const Told*> elite;
    for (const Told& told : history.trials()) elite.push_back(&told);
    const std::size_t size = std::min(kElite, elite.size());
    std::partial_sort(elite.begin(), elite.begin() + static_cast<std::ptrdiff_t>(size), elite.end(),
                      [](const Told* a, const Told* b) {
                        return Better(*a, *b) || (!Better(*b, *a) && a->trial < b->trial);
                      });
    elite.resize(size);
    if (setup_.objectives == 1) return elite;
    for (const Told& told : history.trials()) {
      const bool beaten =
          std::any_of(history.trials().begin(), history.trials().end(),
                      [&](const Told& other) { return ConstrainedDominates(other, told); });
      if (!beaten) elite.push_back(&told);
    }
    return elite;
  }

  /// Index of the candidate with the largest expected gain.
  [[nodiscard]] static std::size_t MostPromising(const Points& points,
                                                 const std::vector<double>& targets,
                                                 const GaussianProcess& process,
                                                 const std::vector<GaussianProcess>& limits,
                                                 const std::vector<Assignment>& candidates) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Told& told = *points.trials[i];
      if (!told.failed && told.violation == 0) least = std::min(least, targets[i]);
    }
    std::vector<const Assignment*> at;
    for (const Assignment& candidate : candidates) at.push_back(&candidate);
    std::vector<double> gains(at.size(), 0.0);
    // Without a feasible answer any is wanted; then only the chance of one counts.
    if (std::isfinite(least)) {
      const auto predictions = process.Predict(at);
      for (std::size_t i = 0; i < at.size(); ++i) {
        gains[i] = std::log(std::max(ExpectedImprovement(predictions[i], least), 1e-300));
      }
    }
    for (const GaussianProcess& limit : limits) {
      const auto predictions = limit.Predict(at);
      for (std::size_t i = 0; i < at.size(); ++i) {
        const double kept = NormalProbability(-predictions[i].mean / predictions[i].deviation);
        gains[i] += std::log(std::max(kept, 1e-300));
      }
    }
    return static_cast<std::size_t>(std::max_element(gains.begin(), gains.end()) - gains.begin());
  }

  gym::AgentSetup setup_;
};

}  // namespace

std::unique_ptr<Method> MakeGpMethod(const gym::AgentSetup& setup) {
  return std::make_unique<GpMethod>(setup);
}

std::unique_ptr<gym::Agent> MakeGpAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound, MakeGpMethod(setup));
}

}  // namespace msc::agents
