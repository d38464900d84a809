#include "agents/gp/gp_agent.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "agents/common/additive_model.h"
#include "agents/common/amounts.h"
#include "agents/common/mixed_radix.h"
#include "agents/common/ranking.h"
#include "agents/gp/gp_method.h"
#include "agents/gp/improvement.h"
#include "agents/gp/limit_process.h"
#include "agents/gp/reference_point.h"
#include "agents/gp/relevance.h"
#include "agents/gp/value_process.h"
#include "gym/core/pareto.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

namespace {

constexpr std::size_t kStart = 3;         // trials needed before a process is fitted
constexpr std::size_t kUnknownStart = 8;  // where nothing is known
constexpr std::size_t kMaxPoints = 160;   // points of a process: the best and the latest
constexpr double kWholeSpace = 1024;      // up to this size all assignments are candidates
constexpr std::size_t kSample = 256;      // sample of the space, for the reference point
constexpr double kLogHalf = -0.6931471805599453;

bool SeeksFront(const gym::AgentSetup& setup) {
  return setup.objectives > 1 && setup.constraints == 0;
}

/// Returns how many trials are needed before a process is fitted. Where nothing is known, the first
/// ones are random: a process that saw one region only stays there.
std::size_t StartOf(const gym::AgentSetup& setup) {
  const bool known = !setup.anchors.empty() || !setup.estimates.empty() || !setup.costs.empty() ||
                     !setup.prior.cover_front.empty();
  if (!SeeksLeast(setup) || known) return kStart;
  return kUnknownStart;
}

/// The trials that processes are fitted to, and the worst objectives, which stand for those of
/// failed trials. Rough values are included: without them, processes would keep predicting good
/// values near dropped trials.
struct Points {
  std::vector<const TrialResult*> trials;
  std::vector<const Assignment*> at;
  std::vector<double> worst_objectives;
};

/// Returns at most kMaxPoints trials: the latest ones and, of those before, the best ones (in a
/// search for a front those that NSGA-II keeps), half each.
std::vector<const TrialResult*> SomeOf(std::vector<const TrialResult*> trials, bool front) {
  if (trials.size() <= kMaxPoints) return trials;
  constexpr std::ptrdiff_t kHalf = kMaxPoints / 2;
  const std::vector<const TrialResult*> latest(trials.end() - kHalf, trials.end());
  trials.erase(trials.end() - kHalf, trials.end());
  std::vector<const TrialResult*> some;
  if (front) {
    for (const std::size_t i : SurvivalOrder(trials)) some.push_back(trials[i]);
  } else {
    some = trials;
    std::stable_sort(some.begin(), some.end(), [](const TrialResult* a, const TrialResult* b) {
      return IsBetterTrial(*a, *b);
    });
  }
  some.resize(kHalf);
  some.insert(some.end(), latest.begin(), latest.end());
  return some;
}

Points PointsOf(const History& history, const gym::AgentSetup& setup) {
  Points points;
  for (const TrialResult& told : history.trials()) points.trials.push_back(&told);
  points.trials = SomeOf(std::move(points.trials), SeeksFront(setup));
  const std::size_t objectives = setup.objectives;
  points.worst_objectives.assign(objectives, -std::numeric_limits<double>::infinity());
  for (const TrialResult* told : points.trials) {
    points.at.push_back(&told->assignment);
    if (!told->Complete()) continue;
    for (std::size_t k = 0; k < objectives; ++k) {
      points.worst_objectives[k] = std::max(points.worst_objectives[k], told->objectives[k]);
    }
  }
  return points;
}

std::vector<double> ValuesOf(const Points& points, std::size_t objective) {
  std::vector<double> values;
  for (const TrialResult* told : points.trials) {
    values.push_back(told->failed ? points.worst_objectives[objective]
                                  : told->objectives[objective]);
  }
  return values;
}

/// Returns the index of a random one of the values that equal the largest except for rounding: an
/// early search has many candidates that differ only in which of several similar decisions they
/// change.
std::size_t AnyLargest(std::vector<double> log_gains, Rng& rng) {
  constexpr double kRounding = 1e-9;
  // A process yields NaN for values that are too far apart: then no gain is expected.
  for (double& gain : log_gains) {
    if (std::isnan(gain)) gain = -std::numeric_limits<double>::infinity();
  }
  const double most = *std::max_element(log_gains.begin(), log_gains.end());
  std::vector<std::size_t> largest;
  for (std::size_t i = 0; i < log_gains.size(); ++i) {
    if (log_gains[i] >= most - kRounding * (1 + std::abs(most))) largest.push_back(i);
  }
  return largest[rng.Below(largest.size())];
}

/// The predictive models of objectives and constraints, updated between proposals of a round.
struct Expectation {
  std::vector<ValueProcess> objectives;
  std::vector<LimitProcess> limits;
  /// Of 1 for trials with results and -1 for failed ones, if there are both.
  std::optional<MixedProcess> success;
  /// Objectives of the feasible answers, known or believed.
  std::vector<std::vector<double>> feasible;
  /// Predicted medians of a sample of the space, by objective; empty for one objective.
  std::vector<std::vector<double>> medians;

  /// Adds the predicted median of a proposal as its result.
  void Believe(const Assignment& proposal);
};

void Expectation::Believe(const Assignment& proposal) {
  const Assignment* const at = &proposal;
  bool keeps = true;
  for (LimitProcess& limit : limits) {
    keeps = keeps && limit.LogChances({&at, 1})[0] >= kLogHalf;
    limit.Believe(proposal);
  }
  if (success) success->Believe(proposal);
  std::vector<double> values;
  for (ValueProcess& objective : objectives) {
    values.push_back(objective.Median(proposal));
    objective.Believe(proposal);
  }
  if (keeps) feasible.push_back(std::move(values));
}

std::vector<const Assignment*> AddressesOf(const std::vector<Assignment>& assignments) {
  std::vector<const Assignment*> at;
  at.reserve(assignments.size());
  for (const Assignment& assignment : assignments) at.push_back(&assignment);
  return at;
}

/// Returns a process of the successes of trials; nothing if all or none failed.
std::optional<MixedProcess> SuccessOf(const gym::AgentSetup& setup, const Points& points,
                                      std::span<const double> relevance) {
  std::vector<double> labels;
  for (const TrialResult* told : points.trials) labels.push_back(told->failed ? -1 : 1);
  const double sum = std::accumulate(labels.begin(), labels.end(), 0.0);
  if (std::abs(sum) == static_cast<double>(labels.size())) return std::nullopt;
  return MixedProcess(setup.decisions, points.at, labels, relevance);
}

/// Returns the shapes of processes that take turns. Where one best answer is sought, two kernels
/// do: a search with one of them alone stays near a local optimum longer.
std::vector<Shape> ShapesOf(const gym::AgentSetup& setup) {
  // The objective is modelled by a MixedProcess, too, and failures by another one.
  if (SeeksLeast(setup)) return {Shape::kMixed, Shape::kAsTheyAre};
  // Searches for one best answer under limits took longer with logarithms
  // (benchmarks/agents/compare).
  return {SeeksFront(setup) ? Shape::kMaybeLogarithms : Shape::kAsTheyAre};
}

Expectation MakeExpectation(const gym::AgentSetup& setup,
                            const std::vector<std::vector<double>>& expected_relevance,
                            const std::vector<Assignment>& sample, const Points& points,
                            const AdditiveModel& model, Shape shape) {
  Expectation expectation;
  const auto relevance = [&](std::size_t k) {
    return UpdatedRelevance(setup.decisions, expected_relevance[k], model.Ranges(k),
                            points.at.size());
  };
  // Under limits, few results tell what estimates tell already: processes are of the rest.
  const auto expected = [&](std::size_t k) {
    const bool known = setup.constraints > 0 && !model.estimates().empty();
    return known && shape == Shape::kAsTheyAre ? &model.estimates()[k] : nullptr;
  };
  for (std::size_t k = 0; k < setup.objectives; ++k) {
    // A mixed process fits its rates, so only what was expected before is the prior of them.
    expectation.objectives.emplace_back(
        shape, setup.decisions, points.at, ValuesOf(points, k),
        shape == Shape::kMixed ? expected_relevance[k] : relevance(k), expected(k));
  }
  if (SeeksLeast(setup)) {
    expectation.success = SuccessOf(setup, points, expected_relevance[0]);
  }
  for (std::size_t c = 0; c < setup.constraints; ++c) {
    std::vector<double> excesses;
    for (const TrialResult* told : points.trials) {
      // A failed trial counts as exceeding each limit by 100 %.
      excesses.push_back(model.AsSum(c, told->failed ? 1 : told->constraints[c]));
    }
    expectation.limits.emplace_back(setup.decisions, points.at, excesses,
                                    relevance(setup.objectives + c),
                                    expected(setup.objectives + c));
  }
  for (const TrialResult* told : points.trials) {
    if (told->Complete() && told->violation == 0) {
      expectation.feasible.push_back(told->objectives);
    }
  }
  if (sample.empty()) return expectation;
  const std::vector<const Assignment*> at = AddressesOf(sample);
  for (const ValueProcess& objective : expectation.objectives) {
    std::vector<double>& medians = expectation.medians.emplace_back();
    for (const Prediction& prediction : objective.Predict(at)) {
      medians.push_back(Median(prediction));
    }
  }
  return expectation;
}

/// Returns the logarithms of the expected improvements of the first objective, or of its logarithm
/// if that is modelled: there, improvements are relative to the distance from the floor.
std::vector<double> LogImprovements(const Expectation& expectation,
                                    const std::vector<const Assignment*>& at) {
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& values : expectation.feasible) {
    least = std::min(least, values[0]);
  }
  std::vector<double> gains;
  for (const Prediction& prediction : expectation.objectives[0].Predict(at)) {
    const bool logarithms = std::isfinite(prediction.floor);
    gains.push_back(
        LogExpectedImprovement({.mean = prediction.mean, .deviation = prediction.deviation},
                               logarithms ? std::log(least - prediction.floor) : least));
  }
  return gains;
}

/// Returns the logarithms of the expected hypervolume improvements.
std::vector<double> LogVolumes(const Expectation& expectation,
                               const std::vector<const Assignment*>& at,
                               const std::vector<double>& worst_objectives) {
  std::vector<std::vector<Prediction>> predictions(at.size());
  for (const ValueProcess& objective : expectation.objectives) {
    const std::vector<Prediction> own = objective.Predict(at);
    for (std::size_t i = 0; i < at.size(); ++i) predictions[i].push_back(own[i]);
  }
  std::vector<std::vector<double>> front;
  for (const std::size_t i : gym::ParetoFront(expectation.feasible)) {
    front.push_back(expectation.feasible[i]);
  }
  std::vector<double> reference = ReferencePoint(front, worst_objectives, expectation.medians);
  const HypervolumeGain gain(SparseFront(std::move(front)), std::move(reference));
  std::vector<double> gains;
  gains.reserve(at.size());
  for (const std::vector<Prediction>& point : predictions) {
    // The lower bound keeps the logarithm finite if the gain underflows.
    gains.push_back(std::log(std::max(gain.Expect(point), 1e-300)));
  }
  return gains;
}

/// Returns the logarithms of the probabilities of success.
std::vector<double> LogSuccesses(const MixedProcess& success,
                                 const std::vector<const Assignment*>& at) {
  // Labels are no normal values: where all neighbours succeeded, a failure is still possible.
  constexpr double kDoubt = 0.3;
  std::vector<double> chances;
  for (const Prediction& expected : success.Predict(at)) {
    const double deviation = std::hypot(expected.deviation, kDoubt);
    chances.push_back(LogNormalProbability(expected.mean / deviation));
  }
  return chances;
}

/// Returns the logarithm of the criterion for each candidate: the expected improvement of the
/// first objective or of the hypervolume, times the probability that every constraint is kept.
/// Only the probability counts while no feasible answer is known. Under constraints the criterion
/// is the first objective for three proposals in four and the hypervolume for the fourth; without
/// constraints it is the hypervolume if there are several objectives. Where trials fail, the
/// probability of success counts more than once: improvements are expected most where nothing is
/// known, which is also where each try fails in large invalid regions.
std::vector<double> LogGains(const gym::AgentSetup& setup, const Expectation& expectation,
                             const std::vector<const Assignment*>& at,
                             const std::vector<double>& worst_objectives, std::uint64_t trial) {
  std::vector<double> gains(at.size(), 0.0);
  if (!expectation.feasible.empty()) {
    const bool one = setup.objectives == 1 || (setup.constraints > 0 && trial % 4 != 3);
    gains = one ? LogImprovements(expectation, at) : LogVolumes(expectation, at, worst_objectives);
  }
  if (expectation.success) {
    constexpr double kCaution = 1.5;
    const std::vector<double> chances = LogSuccesses(*expectation.success, at);
    for (std::size_t i = 0; i < at.size(); ++i) gains[i] += kCaution * chances[i];
  }
  for (const LimitProcess& limit : expectation.limits) {
    const std::vector<double> chances = limit.LogChances(at);
    for (std::size_t i = 0; i < at.size(); ++i) gains[i] += chances[i];
  }
  return gains;
}

/// Returns trials to start changes from: the best few and, with several objectives, the front.
std::vector<const TrialResult*> Elite(const History& history, std::size_t objectives) {
  constexpr std::size_t kElite = 6;
  std::vector<const TrialResult*> elite;
  for (const TrialResult& told : history.trials()) elite.push_back(&told);
  const std::size_t size = std::min(kElite, elite.size());
  std::partial_sort(elite.begin(), elite.begin() + static_cast<std::ptrdiff_t>(size), elite.end(),
                    [](const TrialResult* a, const TrialResult* b) {
                      return IsBetterTrial(*a, *b) ||
                             (!IsBetterTrial(*b, *a) && a->trial < b->trial);
                    });
  elite.resize(size);
  if (objectives == 1) return elite;
  for (const TrialResult& told : history.trials()) {
    const bool beaten =
        std::any_of(history.trials().begin(), history.trials().end(),
                    [&](const TrialResult& other) { return ConstrainedDominates(other, told); });
    if (!beaten) elite.push_back(&told);
  }
  return elite;
}

/// Returns at most kSingle single changes of `base`, a random sample if there are more.
std::vector<Assignment> SomeChanges(const gym::AgentSetup& setup, const Draft& draft,
                                    const Assignment& base, Rng& rng) {
  constexpr std::size_t kSingle = 48;
  std::vector<Assignment> some;
  auto changes = SingleChanges(setup, base);
  for (std::size_t i = 0; i < std::min(kSingle, changes.size()); ++i) {
    std::swap(changes[i], changes[i + rng.Below(changes.size() - i)]);
    if (draft.Takes(changes[i])) some.push_back(changes[i]);
  }
  return some;
}

/// Returns the new assignments to choose from: all of a small space; else the favourites, changes
/// of the best trial and of the elite, and random ones.
std::vector<Assignment> Candidates(const gym::AgentSetup& setup, const Draft& draft,
                                   const std::vector<Assignment>& favourites,
                                   const std::vector<const TrialResult*>& elite, Rng& rng) {
  std::vector<Assignment> candidates;
  const auto add = [&](const Assignment& assignment) {
    if (draft.Takes(assignment)) candidates.push_back(assignment);
  };
  const double size = gym::SpaceSize(setup.decisions);
  if (size <= kWholeSpace) {
    for (std::uint64_t n = 0; n < static_cast<std::uint64_t>(size); ++n) {
      add(*NthAssignment(setup.decisions, n));
    }
    return candidates;
  }
  for (const Assignment& member : favourites) {
    add(gym::MakeLegal(setup.mask, member));
  }
  for (Assignment& change : SomeChanges(setup, draft, draft.history().Best()->assignment, rng)) {
    candidates.push_back(std::move(change));
  }
  constexpr int kMutants = 120;
  for (int i = 0; i < kMutants; ++i) {
    Assignment mutant = elite[rng.Below(elite.size())]->assignment;
    for (std::uint64_t changed = 1 + rng.Below(4); changed > 0; --changed) {
      const std::size_t place = rng.Below(mutant.size());
      const gym::Decision& decision = setup.decisions[place];
      const auto next = DrawNextAmount(decision, mutant[place], rng);
      mutant[place] = next ? *next : static_cast<std::int32_t>(rng.Below(decision.choices.size()));
    }
    add(gym::MakeLegal(setup.mask, std::move(mutant)));
  }
  constexpr int kRandom = 20;
  for (int i = 0; i < kRandom; ++i) {
    add(gym::DrawLegal(setup.decisions, setup.mask, rng));
  }
  return candidates;
}

class GpMethod final : public Method {
 public:
  explicit GpMethod(gym::AgentSetup setup)
      : setup_(std::move(setup)), expected_relevance_(ExpectedRelevance(setup_)) {
    // Declared costs are for exact methods; here they would replace the fit to measurements.
    setup_.costs.clear();
    if (setup_.objectives == 1) return;
    Rng rng(setup_.seed);
    for (std::size_t i = 0; i < kSample; ++i) {
      sample_.push_back(gym::DrawLegal(setup_.decisions, setup_.mask, rng));
    }
  }

  void Learn(const History& /*history*/, std::span<const TrialResult> /*round*/) override {}

  void Propose(Draft& draft) const override {
    const History& history = draft.history();
    if (StartOf(setup_) > kStart) {
      while (history.trials().size() + draft.proposals().size() < StartOf(setup_)) {
        if (!draft.AddRandom()) return;
      }
    }
    if (history.trials().size() < kStart || !history.Best()->Complete()) return;
    const Points points = PointsOf(history, setup_);
    const AdditiveModel model(setup_, history);
    std::vector<Expectation> expectations;
    for (const Shape shape : ShapesOf(setup_)) {
      expectations.push_back(
          MakeExpectation(setup_, expected_relevance_, sample_, points, model, shape));
    }
    const std::vector<const TrialResult*> elite = Elite(history, setup_.objectives);
    const std::vector<Assignment> favourites = model.Front(32).assignments;
    while (!draft.full()) {
      Rng rng = draft.MakeRng();
      std::vector<Assignment> candidates = Candidates(setup_, draft, favourites, elite, rng);
      if (candidates.empty()) return;
      const Expectation& expectation = expectations[draft.trial() % expectations.size()];
      const auto gains_of = [&](const std::vector<Assignment>& some) {
        return LogGains(setup_, expectation, AddressesOf(some), points.worst_objectives,
                        draft.trial());
      };
      std::vector<double> gains = gains_of(candidates);
      if (SeeksLeast(setup_) && gym::SpaceSize(setup_.decisions) > kWholeSpace) {
        Climb(gains_of, draft, candidates, gains, rng);
      }
      const Assignment best = candidates[AnyLargest(gains, rng)];
      draft.Add(best);
      if (draft.full()) return;
      for (Expectation& each : expectations) each.Believe(best);
    }
  }

 private:
  /// Climbs the criterion by single changes from the best few candidates, and adds what it visits
  /// to the candidates and their gains.
  template <typename GainsOf>
  void Climb(const GainsOf& gains_of, const Draft& draft, std::vector<Assignment>& candidates,
             std::vector<double>& gains, Rng& rng) const {
    constexpr std::size_t kClimbers = 4;
    constexpr int kSteps = 5;
    std::vector<std::size_t> places(candidates.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return gains[a] > gains[b]; });
    places.resize(std::min(places.size(), kClimbers));
    for (int step = 0; step < kSteps; ++step) {
      std::vector<std::size_t> next;
      for (const std::size_t from : places) {
        std::vector<Assignment> changes = SomeChanges(setup_, draft, candidates[from], rng);
        if (changes.empty()) continue;
        const std::vector<double> own = gains_of(changes);
        const auto best = std::max_element(own.begin(), own.end());
        if (!(*best > gains[from])) continue;
        next.push_back(candidates.size());
        candidates.push_back(std::move(changes[static_cast<std::size_t>(best - own.begin())]));
        gains.push_back(*best);
      }
      places = std::move(next);
    }
  }

  gym::AgentSetup setup_;
  std::vector<std::vector<double>> expected_relevance_;  ///< by objective, then constraint
  std::vector<Assignment> sample_;  ///< sample of the space; empty for one objective
};

}  // namespace

std::unique_ptr<Method> MakeGpMethod(const gym::AgentSetup& setup) {
  return std::make_unique<GpMethod>(setup);
}

std::unique_ptr<gym::Agent> MakeGpAgent(const gym::AgentSetup& setup) {
  constexpr std::size_t kRound = 4;
  return MakeRoundAgent(setup, kRound, MakeGpMethod(setup), RoundsFor(setup));
}

}  // namespace msc::agents
