#include "gym/search/report/headline.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/formatted.h"
#include "cost/model/loss.h"
#include "cost/quality/guard.h"
#include "envs/common/evaluation.h"
#include "gym/report/html.h"
#include "gym/search/compared.h"
#include "gym/search/losses.h"
#include "gym/search/report/axes.h"
#include "gym/search/report/recipe_words.h"
#include "gym/search/report/text.h"
#include "gym/search/text.h"

namespace msc::gym {
namespace {

/// Returns whether the guard's bounds or a limit exclude a loss.
bool IsBeyond(const SearchConfig& config, const std::string& name, double value) {
  const auto limit = config.objective.subject_to.find(name);
  if (limit != config.objective.subject_to.end() && value > limit->second) return true;
  const cost::Guard& guard = config.quality.guard;
  if (name == cost::kDisagreement) {
    return value > cost::DisagreementBound(LimitsOf(config), guard);
  }
  return name == cost::kRelativeError && guard.relative_error > 0 && value > guard.relative_error;
}

/// Returns what the guard allows: "at most 2.00 % of decisions changed, relative error at most
/// 0.1".
std::string GuardText(const SearchConfig& config, const cost::Quality& quality) {
  const cost::Guard& guard = config.quality.guard;
  std::string text;
  if (quality.Loss(cost::kDisagreement)) {
    const double bound = cost::DisagreementBound(LimitsOf(config), guard);
    text = "at most " + FormatLoss(cost::kDisagreement, bound) + " of the decisions may change";
  }
  if (guard.relative_error > 0 && quality.Loss(cost::kRelativeError)) {
    text += (text.empty() ? "" : "; ") + std::string("relative error at most ") +
            FormatLoss(cost::kRelativeError, guard.relative_error);
  }
  return text;
}

/// Adds the losses that tables show, and what makes them suspicious.
void TellLosses(const SearchConfig& config, const cost::Quality& quality,
                ReportHeadline& headline) {
  std::vector<std::string> measured;
  for (const auto& [name, loss] : quality.Losses()) measured.push_back(name);
  for (const std::string& name : ShownLosses(config, measured)) {
    if (name == cost::kAccuracyDrop) continue;  // has a tile of its own
    const cost::Estimate loss = *quality.Loss(name);
    const cost::MetricQuality* metric = quality.Metric(name);
    const std::string value =
        metric == nullptr
            ? ScoreText(quality, name) + (quality.Score(name) == nullptr ? "" : ", ")
            : Formatted("%.6g", metric->value) + Formatted(" (before %.6g), ", metric->reference);
    const auto limit = config.objective.subject_to.find(name);
    headline.losses.push_back({.title = cost::TitleOf(name),
                               .number = FormatLoss(name, loss.value),
                               .detail = value + "95 %: " + IntervalText(quality, name) +
                                         (limit == config.objective.subject_to.end()
                                              ? ""
                                              : ", limit " + FormatLoss(name, limit->second)),
                               .bad = IsBeyond(config, name, loss.value)});
  }
  headline.guard = GuardText(config, quality);
  headline.suspicions = SuspicionsOf(config, quality);
}

/// Adds the limits on metrics other than losses, to the tiles that show them.
void TellLimits(const SearchSetup& setup, ReportHeadline& headline) {
  const std::map<std::string_view, std::string> tiles = {
      {envs::kLatency, "Speed-up"},
      {envs::kLatencyMs, "Latency"},
      {envs::kEnergy, "Energy"},
      {envs::kWeightBytes, "Weights"},
      {envs::kPeakBytes, "Memory for activations"},
  };
  for (const auto& [metric, limit] : setup.config.objective.subject_to) {
    const auto tile = tiles.find(metric);
    if (tile == tiles.end()) continue;
    const ReportAxis axis = AxisOf(metric, setup);
    std::string text = "limit " + FormatSignificant(limit / axis.scale, 3);
    // These tiles show the inverse, or the change, of a ratio.
    if (!axis.inverse.empty()) text += " of the " + metric;
    headline.limits[tile->second] = text + (axis.unit.empty() ? "" : " ") + axis.unit;
  }
}

/// Adds how the best compares with other targets, timed beside the same uncompressed model.
void TellCompared(const SearchRun& run, ReportHeadline& headline) {
  for (const Compared& compared : run.findings.compared) {
    const auto speed = BestAgainst(run.findings, compared);
    if (!speed) continue;
    const double ms = compared.result.value().latency->median_ns * 1e-6;
    const bool product = ProductOf(compared) != compared.target;
    headline.compared.push_back({.title = (product ? "Against " : "Against f32 on ") +
                                          ProductOf(compared) +
                                          (compared.exported ? ", compressed" : ""),
                                 .number = FormatFixed(speed->value, 2) + "\xC3\x97",
                                 .detail = "95 % interval " + FormatFixed(speed->low, 2) + " to " +
                                           FormatFixed(speed->high, 2) + "; " + WhatOf(compared) +
                                           " takes " + FormatSignificant(ms, 3) + " ms"});
    if (compared.exported || !product) continue;
    headline.rival = speed->significant()
                         ? FormatFixed(speed->value, 2) + "\xC3\x97 as fast as it in "
                         : std::string("no significant difference in speed to it in ");
    headline.rival += RunnerOf(compared);
  }
}

/// Returns the memory of the uncompressed model, if a trial has measured it.
std::optional<double> ReferencePeak(const SearchRun& run) {
  for (const Trial& trial : run.study.trials) {
    const bool plain = std::all_of(trial.assignment.begin(), trial.assignment.end(),
                                   [](std::int32_t choice) { return choice == 0; });
    if (plain && trial.source.starts_with("anchor:") && !trial.evaluation.failure) {
      return Metric(trial.evaluation, envs::kPeakBytes);
    }
  }
  return std::nullopt;
}

}  // namespace

ReportHeadline MakeHeadline(const SearchRun& run) {
  ReportHeadline headline;
  headline.constraint = ConstraintText(run.setup.config.objective);
  headline.unfinished =
      !run.finished || (run.study.stop == StopReason::kInterrupted && !run.findings.best);
  headline.reference_weight_bytes = static_cast<double>(run.setup.weight_bytes);
  if (!run.findings.best) return headline;
  const Finalist& best = run.findings.finalists.at(*run.findings.best);
  if (!best.result.ok()) return headline;
  const cost::Outcome& outcome = best.result.value();
  headline.configuration = "trial " + std::to_string(best.trial);
  const std::string trained = TrainText(best.strategy.fit.train);
  if (!trained.empty()) headline.configuration += ", " + trained;
  headline.constraint_met = true;
  headline.speed_up = SpeedUp(outcome);
  if (outcome.latency) {
    headline.latency_ms = outcome.latency->median_ns * 1e-6;
    headline.reference_ms = outcome.latency->reference_median_ns * 1e-6;
    TellCompared(run, headline);
    if (const auto& energy = outcome.latency->energy) {
      headline.joules = energy->joules;
      headline.reference_joules = energy->reference_joules;
    }
  }
  TellLosses(run.setup.config, outcome.quality, headline);
  headline.accuracy = outcome.quality.accuracy;
  headline.reference_accuracy = outcome.quality.reference_accuracy;
  headline.weight_bytes = static_cast<double>(outcome.weight_bytes);
  headline.peak_bytes = static_cast<double>(outcome.peak_bytes);
  headline.reference_peak_bytes = ReferencePeak(run);
  TellLimits(run.setup, headline);
  return headline;
}

}  // namespace msc::gym
