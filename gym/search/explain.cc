#include "gym/search/explain.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/duration_text.h"
#include "compiler/base/formatted.h"
#include "cost/model/loss.h"
#include "envs/common/evaluation.h"
#include "gym/search/losses.h"
#include "gym/search/probes.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

/// Limit on neighbours that are timed together, since the weights of all are in memory.
constexpr std::size_t kGroup = 8;
constexpr std::int64_t kMaxParts = 16;  // of the time of a measurement

/// A neighbour to measure.
struct Step {
  std::size_t decision = 0;
  std::string choice;
  Strategy strategy;
};

/// Returns for each decision the first of its OtherChoices that is legal and changes the strategy.
std::vector<Step> StepsOf(const envs::StrategyProblem& problem, const Assignment& winner,
                          const std::vector<std::size_t>& decisions) {
  const ChoiceMask mask = problem.MaskFunction();
  const std::string chosen = StrategyHash(problem.StrategyOf(winner));
  std::vector<Step> steps;
  for (const std::size_t i : decisions) {
    const Decision& decision = problem.decisions().at(i);
    for (const std::int32_t choice : OtherChoices(decision, winner.at(i))) {
      Assignment other = winner;
      other[i] = choice;
      if (!IsLegal(mask, other)) continue;
      Strategy strategy = problem.StrategyOf(other);
      if (StrategyHash(strategy) == chosen) continue;
      steps.push_back({.decision = i,
                       .choice = decision.choices.at(static_cast<std::size_t>(choice)),
                       .strategy = std::move(strategy)});
      break;
    }
  }
  return steps;
}

class Explanation {
 public:
  using Say = std::function<void(const std::string&)>;
  using Stop = std::function<bool()>;
  Explanation(double seconds, double after, const SearchProblem& problem,
              cost::LocalEvaluator& evaluator, const Say& say, const Stop& stop, Findings& findings)
      : problem_(problem),
        evaluator_(evaluator),
        say_(say),
        stop_(stop),
        findings_(findings),
        seconds_(seconds),
        after_(after) {}

  void Run(const Strategy& winner, std::vector<Step> steps) {
    steps_ = steps.size();
    if (steps_ == 0 || seconds_ <= 0) return;
    Tell();
    const auto judged = Judge(winner);
    if (!judged || !judged->ok()) return;
    for (std::size_t first = 0; first < steps.size() && !Over(seconds_); first += kGroup) {
      const std::size_t end = std::min(first + kGroup, steps.size());
      // Each group gets its share of the time that is left, so time that one group saves goes to
      // the next.
      const double share = static_cast<double>(end - first) / static_cast<double>(steps_ - first);
      const double until = Passed() + share * (seconds_ - Passed());
      if (!RunGroup(winner, judged->value(), std::span(steps).subspan(first, end - first), until)) {
        return;
      }
    }
  }

 private:
  [[nodiscard]] double Passed() const {
    return std::chrono::duration<double>(Clock::now() - began_).count();
  }
  [[nodiscard]] bool Over(double seconds) const { return stop_() || Passed() > seconds; }

  void Tell() {
    std::string text = "[explain] " + std::to_string(done_) + " of " + std::to_string(steps_) +
                       " other choices measured";
    if (done_ > 0) {
      const auto done = static_cast<double>(done_);
      const double left = Passed() / done * (static_cast<double>(steps_) - done);
      text += " | eta " + FormatDuration(std::chrono::duration<double>(
                              after_ + std::clamp(left, 0.0, std::max(0.0, seconds_ - Passed()))));
    }
    say_(text);
  }

  /// Judges a fitted strategy on the samples of a trial. Returns nothing if stopped or out of time.
  [[nodiscard]] std::optional<Result<cost::Outcome>> Judge(const Strategy& strategy) {
    const cost::Candidate candidate{.strategy = strategy, .measure = cost::Measure::kQuality};
    std::optional<Result<cost::Outcome>> found;
    evaluator_.Evaluate(
        {&candidate, 1},
        [&](std::size_t /*index*/, const Result<cost::Outcome>& result) { found = result; },
        [&] { return Over(seconds_); });
    return found;
  }

  /// Measures the quality of a group in the first half of the time until `until`, then its latency
  /// in the rest. Returns false if stopped or out of time.
  [[nodiscard]] bool RunGroup(const Strategy& winner, const cost::Outcome& judged,
                              std::span<Step> steps, double until) {
    const double half = (Passed() + until) / 2;
    // The winner is timed again with each group, as times of different moments are not comparable.
    std::vector<Strategy> strategies = {winner};
    std::vector<std::size_t> timed;  // indices into findings_.neighbours
    for (Step& step : steps) {
      if (strategies.size() > 1 && Passed() > half) break;
      auto fitted = evaluator_.Fit(step.strategy, [&] { return Over(seconds_); });
      if (!fitted) return false;
      std::optional<Result<cost::Outcome>> result = Result<cost::Outcome>(cost::Outcome{});
      if (!fitted->ok()) {
        result = fitted->failure();
      } else {
        result = Judge(fitted->value());
      }
      if (!result) return false;
      ++done_;
      Tell();
      if (result->ok()) {
        timed.push_back(findings_.neighbours.size());
        strategies.push_back(std::move(*fitted).value());
      }
      findings_.neighbours.push_back({.decision = problem_.decisions().at(step.decision).name,
                                      .choice = step.choice,
                                      .result = *result,
                                      .winner = judged});
    }
    return timed.empty() || Time(std::move(strategies), timed, until);
  }

  [[nodiscard]] bool Time(std::vector<Strategy> strategies, const std::vector<std::size_t>& timed,
                          double until) {
    const double wanted = static_cast<double>(strategies.size()) *
                          static_cast<double>(evaluator_.folder().settings.latency.max_ms) * 1e-3;
    const double left = std::max(until - Passed(), 1e-3);
    // With little time left, the timing takes a whole part of its usual time, down to 1/kMaxParts.
    const auto part = static_cast<std::int64_t>(
        std::clamp(std::ceil(wanted / left), 1.0, static_cast<double>(kMaxParts)));
    const std::size_t count = strategies.size();
    const auto times = evaluator_.TimeOnce(std::move(strategies), part, stop_);
    if (times.size() != count) return false;
    if (!times[0].ok()) return true;
    const auto add = [](Result<cost::Outcome>& result, const Result<cost::Outcome>& time) {
      if (time.ok()) {
        result.value().latency = time.value().latency;
      } else {
        result = time;
      }
    };
    for (std::size_t i = 0; i < timed.size(); ++i) {
      Neighbour& neighbour = findings_.neighbours.at(timed[i]);
      add(neighbour.result, times[i + 1]);
      add(neighbour.winner, times[0]);
    }
    return true;
  }

  const SearchProblem& problem_;
  cost::LocalEvaluator& evaluator_;
  const Say& say_;
  const Stop& stop_;
  Findings& findings_;
  Clock::time_point began_ = Clock::now();
  double seconds_;
  double after_;
  std::size_t steps_ = 0;
  std::size_t done_ = 0;
};

std::string SpeedText(const cost::Latency& other, const cost::Latency& winner) {
  const std::string times = Formatted("%.2fx as fast", winner.ratio / other.ratio);
  // Intervals that overlap show no difference.
  const bool apart = other.ratio_low > winner.ratio_high || other.ratio_high < winner.ratio_low;
  return apart ? times : times + " (difference not significant)";
}

std::string LossText(const cost::Quality& other, const cost::Quality& winner) {
  // By the user's own metric or against labels if there are any, else the loss that every model but
  // one of integers has.
  const std::string own = other.metrics.empty() ? "" : other.metrics[0].name;
  std::vector<std::string_view> names = {own};
  for (const cost::LossInfo& info : cost::kLosses) {
    if (!info.score.empty()) names.push_back(info.name);
  }
  names.insert(names.end(), {cost::kDistillLoss, cost::kDisagreement});
  for (const std::string_view name : names) {
    const auto after = other.Loss(name);
    const auto before = winner.Loss(name);
    if (!after || !before) continue;
    const double more = after->value - before->value;
    return "lose " + FormatLoss(name, std::abs(more)) +
           (name == own ? " of " + own : std::string()) + (more < 0 ? " less" : " more");
  }
  return "lose nothing known more";
}

}  // namespace

std::vector<std::size_t> UntriedDecisions(const Assignment& winner, std::span<const Trial> trials) {
  std::vector<bool> told(winner.size());
  for (const Trial& trial : trials) {
    if (trial.evaluation.dropped || WasLost(trial) || trial.assignment.size() != winner.size())
      continue;
    std::vector<std::size_t> differs;
    for (std::size_t i = 0; i < winner.size(); ++i) {
      if (trial.assignment[i] != winner[i]) differs.push_back(i);
    }
    // Only a trial that differs in one decision shows the effect of that decision.
    if (differs.size() == 1) told[differs[0]] = true;
  }
  std::vector<std::size_t> untold;
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (!told[i]) untold.push_back(i);
  }
  return untold;
}

std::vector<std::int32_t> OtherChoices(const Decision& decision, std::int32_t chosen) {
  const auto count = static_cast<std::int32_t>(decision.choices.size());
  std::vector<std::int32_t> others;
  for (std::int32_t i = 0; i < count; ++i) {
    if (i != chosen) others.push_back(i);
  }
  // Prefer the narrower of two choices at the same distance.
  std::stable_sort(others.begin(), others.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(std::abs(a - chosen), -a) < std::pair(std::abs(b - chosen), -b);
  });
  const auto is_int8 = [&](std::int32_t i) { return IsInt8(decision, i); };
  auto first = others.end();
  if (!is_int8(chosen)) {
    first = std::find_if(others.begin(), others.end(), is_int8);
  } else if (chosen + 1 == count) {
    first = std::find(others.begin(), others.end(), 0);
  }
  if (first != others.end()) std::rotate(others.begin(), first, first + 1);
  return others;
}

void ExplainWinner(double seconds, double after, const envs::StrategyProblem& problem,
                   cost::LocalEvaluator& evaluator,
                   const std::function<void(const std::string&)>& say,
                   const std::function<bool()>& stop, SearchResult& result) {
  Findings& findings = result.findings;
  findings.neighbours.clear();
  if (!findings.best || stop()) return;
  const Finalist& best = findings.finalists.at(*findings.best);
  const std::vector<Trial>& trials = result.study.trials;
  const auto trial = std::find_if(trials.begin(), trials.end(),
                                  [&](const Trial& other) { return other.number == best.trial; });
  if (trial == trials.end()) return;
  const Assignment& winner = trial->assignment;
  const Strategy strategy = best.strategy;
  if (strategy.fit.train.epochs > 0) {
    findings.shortened.emplace_back(
        "explanation: the best was trained, and other choices would have to be, too");
    return;
  }
  Explanation(seconds, after, problem, evaluator, say, stop, findings)
      .Run(strategy, StepsOf(problem, winner, UntriedDecisions(winner, trials)));
}

std::string NeighbourText(const ObjectiveConfig& objective, const Neighbour& neighbour) {
  const Result<cost::Outcome>& result = neighbour.result;
  if (!result.ok()) return neighbour.choice + " instead fails: " + result.failure().detail;
  if (!neighbour.winner.ok()) return neighbour.choice + " instead cannot be compared";
  const cost::Outcome& other = result.value();
  const cost::Outcome& winner = neighbour.winner.value();
  std::string text = neighbour.choice + " instead would ";
  if (other.latency && winner.latency) {
    text += "be " + SpeedText(*other.latency, *winner.latency) + " and ";
  }
  text += LossText(other.quality, winner.quality);
  const Evaluation evaluation = envs::ToEvaluation(result, "");
  std::string missed;
  for (const auto& [metric, limit] : objective.subject_to) {
    const auto value = evaluation.metrics.find(metric);
    if (value == evaluation.metrics.end() || value->second <= limit) continue;
    missed +=
        (missed.empty() ? ": misses " : ", ") + metric + " <= " + nlohmann::json(limit).dump();
  }
  return text + missed;
}

}  // namespace msc::gym
