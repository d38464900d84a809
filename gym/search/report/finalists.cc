#include "gym/search/report/finalists.h"

#include <optional>
#include <utility>

#include "envs/common/evaluation.h"
#include "gym/search/compared.h"
#include "gym/search/held_out.h"
#include "gym/search/report/text.h"
#include "gym/search/text.h"

namespace msc::gym {
namespace {

/// Returns a metric of a finalist in the unit of its axis.
std::optional<double> OnAxisOf(const ReportAxis& axis, const Evaluation& evaluation) {
  const auto value = Metric(evaluation, axis.metric);
  if (!value) return std::nullopt;
  return *value / axis.scale;
}

/// Returns the values by final axis, without an interval: only the speed-up has one, in its own
/// column.
std::vector<std::optional<Measured>> MeansOf(const std::vector<ReportAxis>& axes,
                                             const Evaluation& evaluation) {
  std::vector<std::optional<Measured>> means;
  for (const ReportAxis& axis : axes) {
    const auto value = OnAxisOf(axis, evaluation);
    means.push_back(value ? std::optional(Measured{*value, *value, *value}) : std::nullopt);
  }
  return means;
}

}  // namespace

std::vector<ReportAxis> FinalAxes(const ReportInput& input) {
  std::vector<ReportAxis> axes;
  const auto add = [&](const ReportAxis& axis) {
    const bool shown = axis.metric == envs::kLatency || axis.metric == envs::kLatencyMs ||
                       axis.metric == envs::kWeightBytes;
    if (!shown) axes.push_back(axis);
  };
  add(input.latency);
  add(input.quality);
  for (const ReportAxis& axis : input.others) add(axis);
  return axes;
}

std::vector<ReportFinalist> MakeFinalists(const SearchRun& run,
                                          const std::vector<ReportAxis>& axes) {
  std::vector<ReportFinalist> rows;
  const Objective objective = ToObjective(run.setup.config.objective);
  for (const Finalist& finalist : run.findings.finalists) {
    ReportFinalist row{.label = "trial " + std::to_string(finalist.trial)};
    const Result<cost::Outcome>& result = finalist.result;
    if (!result.ok()) {
      row.feasible = false;
      row.note = result.failure().detail;
      rows.push_back(std::move(row));
      continue;
    }
    const Evaluation evaluation = EvaluationOf(finalist);
    row.speed_up = SpeedUp(result.value());
    row.latency_ms = Metric(evaluation, envs::kLatencyMs);
    row.means = MeansOf(axes, evaluation);
    row.weight_bytes = Metric(evaluation, envs::kWeightBytes);
    row.feasible = Violation(objective, evaluation) <= 0;
    const auto& latency = result.value().latency;
    if (latency && !latency->significant()) row.note = "difference not significant";
    if (latency && latency->noisy) row.note += row.note.empty() ? "noisy" : ", noisy";
    row.note += (row.note.empty() ? "" : ", ") + IntervalsText(result.value().quality);
    if (const auto& held_out = result.value().held_out) {
      row.note += "; on samples that no trial saw: " + IntervalsText(*held_out);
    }
    const std::string contradiction = ContradictionText(run.setup.config, result.value());
    if (!contradiction.empty()) row.note += "; " + contradiction;
    if (!row.feasible) row.note = "misses " + MissedText(objective, evaluation) + "; " + row.note;
    rows.push_back(std::move(row));
  }
  // Other targets, timed beside the finalists.
  for (const Compared& compared : run.findings.compared) {
    ReportFinalist row{.label = WhatOf(compared)};
    const Result<cost::Outcome>& result = compared.result;
    if (result.ok()) {
      row.speed_up = SpeedUp(result.value());
      const Evaluation evaluation = envs::ToEvaluation(result, "");
      row.latency_ms = Metric(evaluation, envs::kLatencyMs);
      row.means = MeansOf(axes, evaluation);
      row.weight_bytes = Metric(evaluation, envs::kWeightBytes);
    } else {
      row.note = result.failure().detail;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string RejectedText(const SearchRun& run) {
  if (run.findings.rejected.empty()) return "";
  std::string trials;
  for (const Rejected& rejected : run.findings.rejected) {
    trials += (trials.empty() ? "" : ", ") + std::to_string(rejected.trial);
  }
  return "Rejected, because they keep the limits on the samples of trials, but miss one on these "
         "samples: trials " +
         trials + ".";
}

}  // namespace msc::gym
