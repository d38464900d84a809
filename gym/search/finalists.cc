#include "gym/search/finalists.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "compiler/base/duration_text.h"
#include "compiler/base/error.h"
#include "cost/model/evaluator.h"
#include "envs/common/evaluation.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/held_out.h"
#include "gym/search/phase_time.h"
#include "gym/search/registries.h"
#include "gym/search/search_result.h"
#include "gym/search/winner.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kProfileRuns = 50;
constexpr std::size_t kTimings = 3;
/// Limit on judged candidates per requested finalist.
constexpr std::size_t kJudgedPerFinalist = 8;
constexpr std::int64_t kMaxParts = 16;  // of the time of a measurement

/// Returns the objective without the constraints that need timing.
Objective WithoutTime(Objective objective) {
  std::erase_if(objective.subject_to, [](const Constraint& constraint) {
    return constraint.metric == envs::kLatency || constraint.metric == envs::kLatencyMs ||
           constraint.metric == envs::kEnergy;
  });
  return objective;
}

/// Returns the finalist with the best objectives among those with the smallest violation; nothing
/// if all failed.
std::optional<std::uint64_t> NearestFinalist(const Objective& objective,
                                             const std::vector<Finalist>& finalists) {
  std::vector<std::optional<Evaluation>> evaluations;
  for (const Finalist& finalist : finalists) evaluations.emplace_back(EvaluationOf(finalist));
  return NearestToLimits(objective, evaluations);
}

class Finals {
 public:
  using Say = std::function<void(const std::string&)>;
  using Stop = std::function<bool()>;
  Finals(const SearchTask& task, const SearchConfig& config, const envs::StrategyProblem& problem,
         cost::LocalEvaluator& evaluator, const FinalTime& time, const Say& say, const Stop& stop,
         SearchResult& result)
      : task_(task),
        config_(config),
        problem_(problem),
        evaluator_(evaluator),
        time_(time),
        say_(say),
        asked_to_stop_(stop),
        stop_([this] { return asked_to_stop_() || time_.time.Used() >= time_.end; }),
        trials_(result.study.trials),
        findings_(result.findings),
        objective_(ToObjective(config.objective)),
        timeless_(WithoutTime(objective_)),
        ranked_(RankTrials(objective_, trials_)) {}

  /// Runs all steps. Returns false if stopped.
  [[nodiscard]] bool Run() {
    if (!Measure()) {
      if (asked_to_stop_()) return false;
      TakeAsTried();
    }
    if (findings_.best) ProfileBest();
    return true;
  }

 private:
  /// Runs everything but the profiles. Returns false if stopped or out of time.
  [[nodiscard]] bool Measure() {
    const std::int64_t samples = evaluator_.folder().samples;
    FinalPlan plan = PlanFinals(config_, config_.calibration.most(), CountsOf(config_, samples));
    findings_.judged_from = plan.from;
    findings_.judged = samples - plan.from;
    findings_.held_out_from = plan.held_out;
    findings_.warnings = std::move(plan.warnings);
    for (std::size_t timing = 0; timing < kTimings && !findings_.best; ++timing) {
      if (timing > 0 && IsShortFor(1)) break;
      holding_.clear();
      if (!TakeHolding(holding_)) return false;
      if (holding_.empty()) break;
      if (!Time(holding_)) return false;
    }
    if (!found_ && !missed_.empty()) {
      holding_.clear();
      if (!TakeNearest(holding_) || !Time(holding_)) return false;
    }
    holding_.clear();
    if (!findings_.best) findings_.nearest = NearestFinalist(objective_, findings_.finalists);
    return !IsBestSlower() || TakeUncompressed();
  }

  /// A candidate with its quality on the samples of finalists.
  struct Judged {
    std::size_t index = 0;  ///< into trials_
    Finalist finalist;
    cost::Outcome outcome;
  };
  /// A candidate that misses a limit by `violation`, without its weights.
  struct Miss {
    double violation = 0;
    std::size_t index = 0;  // into trials_
  };

  /// Returns the hash of a trial's strategy. Several trials may have the same one; finalists must
  /// differ.
  [[nodiscard]] std::string HashOf(std::size_t index) const {
    return StrategyHash(problem_.StrategyOf(trials_[index].assignment));
  }

  [[nodiscard]] std::size_t MostJudged() const { return kJudgedPerFinalist * config_.finalists; }

  /// Judges the next candidates and appends those that satisfy the limits of quality. Returns false
  /// if stopped.
  [[nodiscard]] bool TakeHolding(std::vector<Judged>& holding) {
    while (next_ < ranked_.size() && holding.size() < config_.finalists && judged_ < MostJudged()) {
      const std::size_t index = ranked_[next_];
      const double expected = Violation(timeless_, trials_[index].evaluation);
      // A trial that missed a limit on fewer samples is judged only if nothing better was found.
      if (expected > 0 && (found_ || judged_ >= kTimings * config_.finalists)) break;
      if (!holding.empty() && IsShortFor(holding.size() + 1)) {
        Shorten("finalists: " + std::to_string(holding.size()) + " of " +
                std::to_string(config_.finalists) + " were measured again");
        break;
      }
      ++next_;
      if (!taken_.emplace(HashOf(index), trials_[index].number).second) continue;
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
      const std::size_t left =
          config_.finalists - std::min<std::size_t>(holding.size(), config_.finalists);
      Tell(std::to_string(judged_) + " judged, " + std::to_string(holding.size()) + " of " +
               std::to_string(config_.finalists) + " keep the limits",
           static_cast<double>(left) * JudgingSeconds() + TimingSeconds(config_.finalists));
    }
    return true;
  }

  /// Reports progress. The eta is `seconds` plus the phases after the finalists.
  void Tell(const std::string& text, double seconds) const {
    const double after = time_.tail.explanation + time_.tail.answer;
    say_("[finalists] " + text + " | eta " +
         FormatDuration(std::chrono::duration<double>(seconds + after)));
  }

  void Shorten(const std::string& what) { findings_.shortened.push_back(what); }

  /// Returns the seconds to judge a candidate, from those judged so far, else from trials.
  [[nodiscard]] double JudgingSeconds() const {
    return judged_ > 0 ? judging_s_ / static_cast<double>(judged_) : time_.tail.judging;
  }
  /// Returns the seconds to time so many candidates and the targets to compare with, three times.
  [[nodiscard]] double TimingSeconds(std::size_t candidates) const {
    return static_cast<double>(kTimings * (candidates + config_.compare.size())) *
           time_.tail.timing;
  }
  [[nodiscard]] double SecondsLeft() const { return time_.until - time_.time.Used(); }
  /// Returns whether time is too short to judge one more and then time so many once.
  [[nodiscard]] bool IsShortFor(std::size_t candidates) const {
    return JudgingSeconds() + TimingSeconds(candidates) / kTimings > SecondsLeft();
  }

  [[nodiscard]] bool IsBestSlower() const {
    if (!findings_.best) return false;
    const Result<cost::Outcome>& outcome = findings_.finalists[*findings_.best].result;
    return outcome.ok() && IsSlower(outcome.value());
  }

  /// Chooses the uncompressed model if it satisfies the limits. Returns false if stopped.
  [[nodiscard]] bool TakeUncompressed() {
    if (!task_.starts_uncompressed()) return true;
    const auto index = FindUncompressedTrial(objective_, trials_);
    if (!index) return true;
    const std::uint64_t number =
        taken_.emplace(HashOf(*index), trials_[*index].number).first->second;
    const auto find = [&] {
      return std::find_if(findings_.finalists.begin(), findings_.finalists.end(),
                          [&](const Finalist& finalist) { return finalist.trial == number; });
    };
    if (find() == findings_.finalists.end() && IsShortFor(1)) return true;
    if (find() == findings_.finalists.end()) {
      auto judged = JudgeTrial(*index);
      if (!judged) return false;
      if (EvaluationOf(judged->finalist).failure) return true;
      std::vector<Judged> alone;
      alone.push_back(*std::move(judged));
      if (!Time(alone)) return false;
    }
    const auto plain = find();
    const Evaluation evaluation = EvaluationOf(*plain);
    if (!evaluation.failure && Violation(objective_, evaluation) <= 0) {
      findings_.best = static_cast<std::uint64_t>(plain - findings_.finalists.begin());
    }
    return true;
  }

  /// Judges the candidates with the smallest violations, if none is feasible.
  [[nodiscard]] bool TakeNearest(std::vector<Judged>& nearest) {
    Tell("none of " + std::to_string(judged_) + " keeps the limits; judging the nearest",
         static_cast<double>(config_.finalists) * JudgingSeconds() +
             TimingSeconds(config_.finalists));
    std::stable_sort(missed_.begin(), missed_.end(),
                     [](const Miss& a, const Miss& b) { return a.violation < b.violation; });
    for (std::size_t i = 0; i < missed_.size() && i < config_.finalists; ++i) {
      if (i > 0 && IsShortFor(i + 1)) break;
      auto judged = JudgeTrial(missed_[i].index);
      if (!judged) return false;
      std::erase_if(findings_.rejected, [&](const Rejected& rejected) {
        return rejected.trial == judged->finalist.trial;
      });
      nearest.push_back(*std::move(judged));
    }
    return true;
  }

  /// Judges a trial on the samples of finalists. Returns nothing if stopped.
  [[nodiscard]] std::optional<Judged> JudgeTrial(std::size_t index) {
    const double began = time_.time.Used();
    std::optional<Judged> judged = Judge(index);
    judging_s_ += time_.time.Used() - began;
    return judged;
  }

  [[nodiscard]] std::optional<Judged> Judge(std::size_t index) {
    const Trial& trial = trials_[index];
    Judged judged;
    judged.index = index;
    judged.finalist.trial = trial.number;
    judged.finalist.strategy = problem_.StrategyOf(trial.assignment);
    // Trials keep no weights. Fitting is repeatable bit by bit.
    auto fitted = evaluator_.Fit(judged.finalist.strategy, stop_);
    if (!fitted) return std::nullopt;
    if (!fitted->ok()) {
      judged.finalist.result = fitted->failure();
      return judged;
    }
    judged.finalist.strategy = std::move(*fitted).value();
    const auto outcome = evaluator_.Judge(
        judged.finalist.strategy,
        {.first = findings_.judged_from, .held_out = findings_.held_out_from}, stop_);
    if (!outcome) return std::nullopt;
    if (outcome->ok()) judged.outcome = outcome->value();
    judged.finalist.result = *outcome;
    return judged;
  }

  /// Times the strategies together three times, or once for a part of the time if time is short.
  /// Empty if stopped.
  [[nodiscard]] std::vector<Result<cost::Outcome>> TimeAll(std::vector<Strategy> strategies) {
    const double wanted = static_cast<double>(strategies.size()) * time_.tail.timing;
    const double left = SecondsLeft();
    if (static_cast<double>(kTimings) * wanted <= left) {
      findings_.timings = kTimings;
      findings_.timing_part = 1;
      return evaluator_.TimeTogether(std::move(strategies), stop_);
    }
    constexpr double kLeast = 1e-3;
    const auto part = static_cast<std::int64_t>(std::clamp(
        std::ceil(wanted / std::max(left, kLeast)), 1.0, static_cast<double>(kMaxParts)));
    findings_.timings = 1;
    findings_.timing_part = part;
    std::vector<Result<cost::Outcome>> timed =
        evaluator_.TimeOnce(std::move(strategies), part, stop_);
    if (!timed.empty()) Shorten("finalists were timed " + TimedText(findings_));
    return timed;
  }

  /// Times a group together with the targets to compare with. Returns false if stopped.
  [[nodiscard]] bool Time(std::vector<Judged>& group) {
    std::vector<Strategy> strategies;
    strategies.reserve(group.size());
    for (const Judged& judged : group) strategies.push_back(judged.finalist.strategy);
    findings_.compared.clear();
    std::vector<std::size_t> compared;  // indices of timed targets in findings_.compared
    const TargetRegistry targets = MakeTargets();
    for (const std::string& spec : config_.compare) {
      findings_.compared.push_back({.target = spec});
      try {
        (void)targets.Get(spec);
      } catch (const UserError& absent) {
        findings_.compared.back().result = Failure{FailureKind::kUnsupported, absent.what()};
        continue;
      }
      compared.push_back(findings_.compared.size() - 1);
      strategies.emplace_back().target = spec;
    }
    Tell("timing " + std::to_string(strategies.size()) + " together", TimingSeconds(group.size()));
    const std::vector<Result<cost::Outcome>> timed = TimeAll(std::move(strategies));
    if (timed.size() != group.size() + compared.size()) {
      findings_.compared.clear();
      return false;
    }
    for (std::size_t i = 0; i < compared.size(); ++i) {
      findings_.compared[compared[i]].result = timed[group.size() + i];
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      Judged& judged = group[i];
      Result<cost::Outcome> result = timed[i];
      if (result.ok()) {
        judged.outcome.latency = result.value().latency;
        result = judged.outcome;
      }
      judged.finalist.result = std::move(result);
      findings_.finalists.push_back(std::move(judged.finalist));
    }
    TakeBest();
    return true;
  }

  /// Sets `best` if a finalist satisfies the limits.
  void TakeBest() {
    const auto nearest = NearestFinalist(objective_, findings_.finalists);
    if (nearest && Violation(objective_, EvaluationOf(findings_.finalists[*nearest])) <= 0) {
      findings_.best = nearest;
    }
  }

  /// Completes the findings when time is up: judged candidates get the latency of their trials; if
  /// none was judged, the best trial counts as it was measured.
  void TakeAsTried() {
    if (!findings_.finalists.empty()) {
      if (!findings_.best) findings_.nearest = NearestFinalist(objective_, findings_.finalists);
      return;
    }
    findings_.timings = 0;
    for (Judged& judged : holding_) {
      const auto tried = envs::RecordedOutcome(trials_[judged.index].evaluation);
      if (tried && tried->ok()) judged.outcome.latency = tried->value().latency;
      judged.finalist.result = judged.outcome;
      findings_.finalists.push_back(std::move(judged.finalist));
    }
    if (findings_.finalists.empty()) TakeTrial();
    Shorten(findings_.judged > 0
                ? "finalists: they were not timed again"
                : "finalists: the best was not measured again; its figures are those of its trial");
    TakeBest();
    if (!findings_.best) findings_.nearest = NearestFinalist(objective_, findings_.finalists);
  }

  /// Takes the best trial that was not rejected since.
  void TakeTrial() {
    findings_.judged_from = findings_.judged = findings_.held_out_from = 0;
    for (const std::size_t index : ranked_) {
      const Trial& trial = trials_[index];
      const bool rejected = std::any_of(missed_.begin(), missed_.end(),
                                        [&](const Miss& missed) { return missed.index == index; });
      auto result = envs::RecordedOutcome(trial.evaluation);
      if (rejected || !result) continue;
      auto fitted = evaluator_.Fit(problem_.StrategyOf(trial.assignment), asked_to_stop_);
      if (!fitted || !fitted->ok()) continue;
      findings_.finalists.push_back({.trial = trial.number,
                                     .strategy = std::move(*fitted).value(),
                                     .result = *std::move(result)});
      return;
    }
  }

  void ProfileBest() {
    if (SecondsLeft() <= 0) return Shorten("the steps of the best were not timed one by one");
    const std::vector<Strategy> best = {findings_.finalists[*findings_.best].strategy};
    Result<std::vector<cost::Profile>> profiles =
        evaluator_.ProfileSteps(best, kProfileRuns, stop_);
    if (profiles.ok()) findings_.profiles = std::move(profiles).value();
  }

  const SearchTask& task_;
  const SearchConfig& config_;
  const envs::StrategyProblem& problem_;
  cost::LocalEvaluator& evaluator_;
  const FinalTime& time_;
  const Say& say_;
  const Stop& asked_to_stop_;
  const Stop stop_;  // also true when time is up
  const std::vector<Trial>& trials_;
  Findings& findings_;
  Objective objective_;
  Objective timeless_;
  std::vector<std::size_t> ranked_;
  std::map<std::string, std::uint64_t> taken_;  // first trial taken, by hash of the strategy
  std::vector<Miss> missed_;
  std::size_t next_ = 0;
  std::size_t judged_ = 0;
  double judging_s_ = 0;         // spent on these
  std::vector<Judged> holding_;  // judged but not timed yet
  bool found_ = false;           // some candidate satisfies the limits of quality
};

}  // namespace

void MeasureFinalists(const SearchTask& task, const SearchConfig& config,
                      const envs::StrategyProblem& problem, cost::LocalEvaluator& evaluator,
                      const FinalTime& time, const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, SearchResult& result) {
  (void)Finals(task, config, problem, evaluator, time, say, stop, result).Run();
}

}  // namespace msc::gym
