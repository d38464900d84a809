#include "gym/search/tail.h"

#include <algorithm>
#include <utility>

#include "compiler/base/file.h"
#include "compiler/pipeline/fitted.h"
#include "cost/measure/local_evaluator.h"
#include "gym/search/explain.h"
#include "gym/search/finalists.h"
#include "gym/search/probes.h"

namespace msc::gym {
namespace {

/// Returns the time limit of sensitivities: a quarter of the trials' time, at least a minute.
double SensitivitySeconds(const StudyResult& study) {
  double seconds = 0;
  for (const Trial& trial : study.trials) seconds += trial.seconds;
  return std::max(60.0, seconds / 4);
}

}  // namespace

SearchTail::SearchTail(const Setup& setup, Measuring& measuring)
    : setup_(setup),
      measuring_(measuring),
      heard_(setup.run.EarlierTrials()),
      timing_s_(SecondsOfTiming(setup.config.latency, heard_)) {}

bool SearchTail::Stop() {
  setup_.run.Tick();
  return setup_.host.listener.StopRequested();
}

TailTime SearchTail::Expected(double trial_s) const {
  return ExpectedTail(setup_.config, setup_.problem,
                      {.trial_s = trial_s,
                       .timing_s = timing_s_,
                       .samples = setup_.samples,
                       .sample_s = setup_.prepared.sample_s,
                       .fits_kept = !setup_.farm,
                       .tried = setup_.prepared.estimates.tried,
                       .workers = setup_.problem.parallelism()});
}

TrialHooks SearchTail::Hooks() {
  TrialHooks hooks;
  hooks.confirm = [this](const std::vector<Trial>& claims) { return Confirm(claims); };
  hooks.tail = [this](const Progress& progress) {
    if (progress.last != nullptr) {
      Trial& heard = heard_.emplace_back();
      heard.seconds = progress.last->seconds;
      heard.repeated = progress.last->repeated;
      timing_s_ = std::max(timing_s_, SecondsOfTiming(setup_.config.latency, {progress.last, 1}));
    }
    if (progress.best != nullptr) KeepBest(*progress.best);
    if (!most_) most_ = time_parts::kAfterTrials * setup_.time.Left();
    expected_ = ShrunkTo(Expected(SecondsOfTrial(heard_)), *most_);
    return expected_.All();
  };
  return hooks;
}

void SearchTail::KeepBest(const Trial& best) {
  if (kept_ == best.number) return;
  const Strategy strategy = setup_.problem.StrategyOf(best.assignment);
  if (setup_.farm && !strategy.fit.samples.empty()) return;
  // Reads what the trial's fit left, in a few milliseconds.
  cost::LocalEvaluator local(LocalFor(setup_.host, setup_.paths.folder));
  const auto fitted = local.Fit(strategy, [this] { return Stop(); });
  if (!fitted || !fitted->ok()) return;
  MakeFolders(setup_.paths.best());
  SaveStrategy(fitted->value(), setup_.paths.best() + "/strategy.json");
  kept_ = best.number;
}

bool SearchTail::ReachesGoal(const Findings& findings) const {
  if (!findings.best || findings.timings == 0) return false;
  const Objective goal{.subject_to = ToStopRules(setup_.config.stop).goal};
  return Violation(goal, EvaluationOf(findings.finalists.at(*findings.best))) <= 0;
}

std::optional<bool> SearchTail::Confirm(const std::vector<Trial>& claims) {
  SearchResult again;
  again.study.trials = claims;
  cost::LocalEvaluator local(LocalFor(setup_.host, setup_.paths.folder));
  Report("[goal] " + std::to_string(claims.size()) +
         " trials reach the goal; measuring the best again");
  const FinalTime time = FinalTimeOf(setup_.time, expected_);
  MeasureFinalists(
      setup_.task, setup_.config, setup_.problem, local, time,
      [&](const std::string& text) { Report(text); }, [&] { return Stop(); }, again);
  // Without a new timing the goal is neither confirmed nor refuted.
  if (setup_.host.listener.StopRequested() || again.findings.timings == 0) return std::nullopt;
  if (!ReachesGoal(again.findings)) return false;
  confirmed_ = std::move(again.findings);
  setup_.run.StoreFindings(*confirmed_);  // keeps the result if the search is killed before its end
  return true;
}

std::optional<Findings> SearchTail::Confirmed() const {
  if (confirmed_) return confirmed_;
  std::optional<Findings> kept = setup_.run.StoredFindings();
  return kept && ReachesGoal(*kept) ? kept : std::nullopt;
}

void SearchTail::MeasureSensitivities(SearchResult& result) {
  Findings& findings = result.findings;
  expected_ = ShrunkTo(Expected(SecondsOfTrial(result.study.trials)), setup_.time.Left());
  if (result.study.stop == StopReason::kGoal) {
    if (auto confirmed = Confirmed()) findings = *std::move(confirmed);
  }
  findings.shortened.insert(findings.shortened.begin(), setup_.prepared.shortened.begin(),
                            setup_.prepared.shortened.end());
  if (setup_.host.listener.StopRequested()) return;
  double seconds = SensitivitySeconds(result.study);
  const double after = expected_.finalists + expected_.explanation + expected_.answer;
  if (setup_.time.limited()) {
    seconds = std::min({seconds, time_parts::kSensitivities * setup_.time.seconds(),
                        std::max(setup_.time.Left() - after, 0.0)});
  }
  MeasureSensitivity(
      setup_.problem, measuring_.evaluator(),
      {.measure = ProbeMeasure(setup_.time), .seconds = seconds, .after = after},
      [&](const std::string& text) { Report(text); }, [&] { return Stop(); }, findings);
  const std::int64_t told = std::ssize(findings.sensitivities);
  if (setup_.time.limited() && told < findings.probed) {
    findings.shortened.push_back("sensitivities: " + std::to_string(told) + " of " +
                                 std::to_string(findings.probed) + " decisions were measured");
  }
}

void SearchTail::MeasureBest(SearchResult& result) {
  if (setup_.host.listener.StopRequested()) return;
  const auto say = [&](const std::string& text) { Report(text); };
  const auto stop = [&] { return Stop(); };
  cost::LocalEvaluator local(LocalFor(setup_.host, setup_.paths.folder));
  if (result.study.stop != StopReason::kGoal || !ReachesGoal(result.findings)) {
    Report("[finalists] measuring the best again, together");
    MeasureFinalists(setup_.task, setup_.config, setup_.problem, local,
                     FinalTimeOf(setup_.time, expected_), say, stop, result);
  }
  double seconds = setup_.config.explain_s;
  const double after = expected_.answer;
  if (setup_.time.limited()) {
    const double left = std::max(setup_.time.Left() - after, 0.0);
    seconds = std::min({seconds, time_parts::kExplanation * setup_.time.seconds(), left});
  }
  const double end = setup_.time.Used() + seconds;
  const auto late = [&] {
    return Stop() || (setup_.time.limited() && setup_.time.Left() <= after);
  };
  ExplainWinner(seconds, after, setup_.problem, local, say, late, result);
  if (setup_.time.limited() && setup_.config.explain_s > 0 && setup_.time.Used() >= end) {
    result.findings.shortened.push_back("explanation: only " +
                                        std::to_string(result.findings.neighbours.size()) +
                                        " other choices were measured");
  }
}

}  // namespace msc::gym
