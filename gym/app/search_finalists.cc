#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "cost/model/evaluator.h"
#include "envs/common/evaluation.h"
#include "gym/app/fresh_samples.h"
#include "gym/app/registries.h"
#include "gym/app/search_run.h"
#include "gym/app/search_winner.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kProfileRuns = 50;
constexpr std::size_t kTimings = 3;
/// Candidates judged for each finalist that is wanted, at most.
constexpr std::size_t kJudgedPerFinalist = 8;

/// The constraints that can be told without timing.
Objective WithoutTime(Objective objective) {
  std::erase_if(objective.subject_to, [](const Constraint& constraint) {
    return constraint.metric == envs::kLatency || constraint.metric == envs::kLatencyMs ||
           constraint.metric == envs::kEnergy;
  });
  return objective;
}

/// The finalist with the least objectives, of those with the least violation; none if all failed.
std::optional<std::uint64_t> NearestFinalist(const Objective& objective,
                                             const std::vector<Finalist>& finalists) {
  std::optional<std::uint64_t> nearest;
  std::pair<double, std::vector<double>> least;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const Evaluation evaluation = EvaluationOf(finalists[i]);
    if (evaluation.failure) continue;
    std::pair key(Violation(objective, evaluation), ObjectiveValues(objective, evaluation));
    if (nearest && least <= key) continue;
    nearest = i;
    least = std::move(key);
  }
  return nearest;
}

class Finals {
 public:
  using Say = std::function<void(const std::string&)>;
  using Stop = std::function<bool()>;
  Finals(const SearchConfig& config, SearchProblem& problem, cost::LocalEvaluator& evaluator,
         const Say& say, const Stop& stop, SearchResult& result)
      : config_(config),
        problem_(problem),
        evaluator_(evaluator),
        say_(say),
        stop_(stop),
        trials_(result.study.trials),
        findings_(result.findings),
        objective_(ToObjective(config.objective)),
        timeless_(WithoutTime(objective_)),
        ranked_(Ranked(objective_, trials_)) {}

  /// Everything but the profiles; false if stopped.
  [[nodiscard]] bool Run() {
    const std::int64_t samples = evaluator_.folder().samples;
    FinalPlan plan = PlanFinals(config_, config_.calibration.most(), CountsOf(config_, samples));
    findings_.judged_from = plan.from;
    findings_.judged = samples - plan.from;
    findings_.fresh_from = plan.fresh;
    findings_.warnings = std::move(plan.warnings);
    for (std::size_t timing = 0; timing < kTimings && !findings_.best; ++timing) {
      std::vector<Judged> holding;
      if (!TakeHolding(holding)) return false;
      if (holding.empty()) break;
      if (!Time(std::move(holding))) return false;
    }
    if (!found_ && !missed_.empty()) {
      std::vector<Judged> nearest;
      if (!TakeNearest(nearest) || !Time(std::move(nearest))) return false;
    }
    if (!findings_.best) findings_.nearest = NearestFinalist(objective_, findings_.finalists);
    return !IsBestSlower() || TakeUncompressed();
  }

 private:
  /// A candidate with its quality on the samples of finalists.
  struct Judged {
    Finalist finalist;
    cost::Outcome outcome;
  };
  /// One that misses a limit by `violation`; its weights were let go.
  struct Miss {
    double violation = 0;
    std::size_t index = 0;  // into trials_
  };

  /// What its assignment stands for: others may stand for the same, and finalists are to differ.
  [[nodiscard]] std::string MeaningOf(std::size_t index) const {
    return problem_.Describe(trials_[index].assignment);
  }

  [[nodiscard]] std::size_t MostJudged() const { return kJudgedPerFinalist * config_.finalists; }

  /// The next candidates that keep the limits of quality on those samples; false if stopped.
  [[nodiscard]] bool TakeHolding(std::vector<Judged>& holding) {
    while (next_ < ranked_.size() && holding.size() < config_.finalists && judged_ < MostJudged()) {
      const std::size_t index = ranked_[next_];
      const double expected = Violation(timeless_, trials_[index].evaluation);
      // What missed a limit on fewer samples is worth a look only for want of anything better.
      if (expected > 0 && (found_ || judged_ >= kTimings * config_.finalists)) break;
      ++next_;
      if (!taken_.emplace(MeaningOf(index), trials_[index].number).second) continue;
      auto judged = JudgeTrial(index);
      if (!judged) return false;
      ++judged_;
      const Evaluation evaluation = EvaluationOf(judged->finalist);
      const double violation = evaluation.failure ? 0 : Violation(timeless_, evaluation);
      if (evaluation.failure) {
        findings_.finalists.push_back(std::move(judged->finalist));
      } else if (violation > 0) {
        missed_.push_back({violation, index});
        findings_.rejected.push_back(
            {.trial = judged->finalist.trial, .result = std::move(judged->finalist.result)});
      } else {
        found_ = true;
        holding.push_back(*std::move(judged));
      }
      say_("[finalists] " + std::to_string(judged_) + " judged, " + std::to_string(holding.size()) +
           " of " + std::to_string(config_.finalists) + " keep the limits");
    }
    return true;
  }

  [[nodiscard]] bool IsBestSlower() const {
    if (!findings_.best) return false;
    const auto outcome = cost::OutcomeFromJson(findings_.finalists[*findings_.best].result);
    return outcome.ok() && IsSlower(outcome.value());
  }

  /// Answers with the uncompressed model, if that is allowed; false if stopped.
  [[nodiscard]] bool TakeUncompressed() {
    // There, first choices are one of the targets, and nothing is uncompressed.
    if (Places(config_)) return true;
    const auto index = Uncompressed(objective_, trials_);
    if (!index) return true;
    const std::uint64_t number =
        taken_.emplace(MeaningOf(*index), trials_[*index].number).first->second;
    const auto find = [&] {
      return std::find_if(findings_.finalists.begin(), findings_.finalists.end(),
                          [&](const Finalist& finalist) { return finalist.trial == number; });
    };
    if (find() == findings_.finalists.end()) {
      auto judged = JudgeTrial(*index);
      if (!judged) return false;
      if (EvaluationOf(judged->finalist).failure) return true;
      std::vector<Judged> alone;
      alone.push_back(*std::move(judged));
      if (!Time(std::move(alone))) return false;
    }
    const auto plain = find();
    const Evaluation evaluation = EvaluationOf(*plain);
    if (!evaluation.failure && Violation(objective_, evaluation) <= 0) {
      findings_.best = static_cast<std::uint64_t>(plain - findings_.finalists.begin());
    }
    return true;
  }

  /// Where none does: those that miss them by least.
  [[nodiscard]] bool TakeNearest(std::vector<Judged>& nearest) {
    say_("[finalists] none of " + std::to_string(judged_) + " keeps the limits; the nearest");
    std::stable_sort(missed_.begin(), missed_.end(),
                     [](const Miss& a, const Miss& b) { return a.violation < b.violation; });
    for (std::size_t i = 0; i < missed_.size() && i < config_.finalists; ++i) {
      auto judged = JudgeTrial(missed_[i].index);
      if (!judged) return false;
      std::erase_if(findings_.rejected, [&](const Rejected& rejected) {
        return rejected.trial == judged->finalist.trial;
      });
      nearest.push_back(*std::move(judged));
    }
    return true;
  }

  /// Nothing if stopped.
  [[nodiscard]] std::optional<Judged> JudgeTrial(std::size_t index) {
    const Trial& trial = trials_[index];
    Judged judged;
    judged.finalist.trial = trial.number;
    judged.finalist.strategy = StrategyFromJson(problem_.Describe(trial.assignment), "a trial");
    // Trials keep no weights: they are fitted once more, to the same bits.
    auto fitted = evaluator_.Fit(judged.finalist.strategy, stop_);
    if (!fitted) return std::nullopt;
    if (!fitted->ok()) {
      judged.finalist.result = cost::ToJson(Result<cost::Outcome>(fitted->failure()));
      return judged;
    }
    judged.finalist.strategy = std::move(*fitted).value();
    const auto outcome =
        evaluator_.Judge(judged.finalist.strategy,
                         {.first = findings_.judged_from, .fresh = findings_.fresh_from}, stop_);
    if (!outcome) return std::nullopt;
    if (outcome->ok()) judged.outcome = outcome->value();
    judged.finalist.result = cost::ToJson(*outcome);
    return judged;
  }

  /// All at once, with those that the config compares with; false if stopped.
  [[nodiscard]] bool Time(std::vector<Judged> group) {
    std::vector<Strategy> strategies;
    strategies.reserve(group.size());
    for (const Judged& judged : group) strategies.push_back(judged.finalist.strategy);
    findings_.compared.clear();
    std::vector<std::size_t> compared;  // indices into findings_.compared of those timed
    const TargetRegistry targets = MakeTargets();
    for (const std::string& spec : config_.compare) {
      findings_.compared.push_back({.target = spec, .result = {}});
      try {
        (void)targets.Get(spec);
      } catch (const UserError& absent) {
        findings_.compared.back().result =
            cost::ToJson(Result<cost::Outcome>(Failure{FailureKind::kUnsupported, absent.what()}));
        continue;
      }
      compared.push_back(findings_.compared.size() - 1);
      strategies.emplace_back().target = spec;
    }
    say_("[finalists] " + std::to_string(strategies.size()) + " timed together");
    const std::vector<Result<cost::Outcome>> timed =
        evaluator_.TimeTogether(std::move(strategies), stop_);
    if (timed.size() != group.size() + compared.size()) return false;
    for (std::size_t i = 0; i < compared.size(); ++i) {
      findings_.compared[compared[i]].result = cost::ToJson(timed[group.size() + i]);
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      Judged& judged = group[i];
      Result<cost::Outcome> result = timed[i];
      if (result.ok()) {
        judged.outcome.latency = result.value().latency;
        result = judged.outcome;
      }
      judged.finalist.result = cost::ToJson(result);
      findings_.finalists.push_back(std::move(judged.finalist));
    }
    const auto nearest = NearestFinalist(objective_, findings_.finalists);
    if (nearest && Violation(objective_, EvaluationOf(findings_.finalists[*nearest])) <= 0) {
      findings_.best = nearest;
    }
    return true;
  }

  const SearchConfig& config_;
  SearchProblem& problem_;
  cost::LocalEvaluator& evaluator_;
  const Say& say_;
  const Stop& stop_;
  const std::vector<Trial>& trials_;
  Findings& findings_;
  Objective objective_;
  Objective timeless_;
  std::vector<std::size_t> ranked_;
  std::map<std::string, std::uint64_t> taken_;  // by meaning, the first trial of it that was
  std::vector<Miss> missed_;
  std::size_t next_ = 0;
  std::size_t judged_ = 0;
  bool found_ = false;  // one that keeps the limits of quality
};

}  // namespace

void MeasureFinalists(const SearchConfig& config, SearchProblem& problem,
                      cost::LocalEvaluator& evaluator,
                      const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, SearchResult& result) {
  if (!Finals(config, problem, evaluator, say, stop, result).Run()) return;
  Findings& findings = result.findings;
  if (!findings.best) return;
  const std::vector<Strategy> best = {findings.finalists[*findings.best].strategy};
  Result<std::vector<cost::Profile>> profiles = evaluator.ProfileSteps(best, kProfileRuns, stop);
  if (profiles.ok()) findings.profiles = std::move(profiles).value();
}

}  // namespace msc::gym
