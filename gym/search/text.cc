#include "gym/search/text.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "compiler/base/duration_text.h"
#include "compiler/base/formatted.h"
#include "cost/model/loss.h"
#include "gym/search/losses.h"

namespace msc::gym {
namespace {

/// Returns "2 timeout, 1 crash", most frequent first.
std::string ReasonsOf(const std::vector<Trial>& trials) {
  std::map<std::string, std::size_t> counts;
  for (const Trial& trial : trials) {
    if (trial.evaluation.failure) ++counts[std::string(Name(trial.evaluation.failure->kind))];
  }
  std::vector<std::pair<std::string, std::size_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (const auto& [kind, count] : order) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  }
  return text;
}

}  // namespace

std::string SignedPoints(double points) {
  const std::string text = Formatted("%+.2f", points);
  // What rounds to 0 has no sign.
  return text.find_first_not_of("+-0.") == std::string::npos ? "0.00" : text;
}

std::string ProgressText(const Progress& progress, std::chrono::duration<double> after) {
  std::string text = "[trial " + std::to_string(progress.done) +
                     (progress.total < kAnyTrials ? "/" + std::to_string(progress.total) : "") +
                     "]";
  if (progress.best != nullptr) {
    const auto& metrics = progress.best->evaluation.metrics;
    const auto ratio = metrics.find("latency");
    const auto ms = metrics.find("latency_ms");
    const auto loss = metrics.find("distill_loss");
    const auto drop = metrics.find("accuracy_drop");
    if (ratio != metrics.end() && ms != metrics.end()) {
      text += Formatted(" best %.3f ms", ms->second) + Formatted(" (%.2fx)", 1 / ratio->second);
    } else if (loss != metrics.end()) {
      text += Formatted(" best loss %.5f", loss->second);
    }
    if (drop != metrics.end()) text += " acc " + SignedPoints(-drop->second);
  }
  if (progress.hypervolume) text += Formatted(" hv %.4g", *progress.hypervolume);
  const bool known = progress.left.count() > 0 || progress.done >= progress.total;
  text += " | eta " + (known ? FormatDuration(progress.left + after) : "unknown");
  return text + " | " + std::to_string(progress.failed) + " failed";
}

std::string CountsText(const StudyResult& study) {
  std::size_t failed = 0;
  std::size_t dropped = 0;
  for (const Trial& trial : study.trials) {
    failed += trial.evaluation.failure ? 1 : 0;
    dropped += trial.evaluation.dropped ? 1 : 0;
  }
  std::string text =
      std::to_string(study.trials.size()) + " trials, " + std::to_string(failed) + " failed";
  if (failed > 0) text += " (" + ReasonsOf(study.trials) + ")";
  if (dropped > 0) text += ", " + std::to_string(dropped) + " dropped after a rough measurement";
  return text;
}

std::string IntervalsText(const cost::Quality& quality) {
  std::string text;
  for (const cost::LossInfo& info : cost::kLosses) {
    const std::optional<cost::Estimate> loss = quality.Loss(info.name);
    if (!loss || info.score.empty()) continue;
    text +=
        (text.empty() ? "" : ", ") + std::string(info.title) + " " + FormatLoss(info.name, *loss);
  }
  const bool labelled = !text.empty();
  for (const cost::MetricQuality& metric : quality.metrics) {
    text += (text.empty() ? "loss of " : ", loss of ") + metric.name + " " +
            IntervalText(quality, metric.name);
  }
  for (const std::string_view name :
       {cost::kDisagreement, cost::kDistillLoss, cost::kRelativeError}) {
    const std::optional<cost::Estimate> loss = quality.Loss(name);
    if (!loss || (labelled && name == cost::kDisagreement)) continue;
    text += (text.empty() ? "" : ", ") + cost::TitleOf(name) + " " + FormatLoss(name, *loss);
  }
  return text;
}

std::string IntervalsText(const cost::Outcome& outcome) {
  if (!outcome.latency) return IntervalsText(outcome.quality);
  const cost::Latency& latency = *outcome.latency;
  // Speed is the inverse of the ratio, so the ends of the interval change places.
  std::string text = Formatted("%.3fx", 1 / latency.ratio) +
                     Formatted(" (%.3f", 1 / latency.ratio_high) +
                     Formatted(" to %.3f), ", 1 / latency.ratio_low);
  if (latency.energy) {
    text += Formatted("energy %.3f", latency.energy->ratio) +
            Formatted(" (%.3f", latency.energy->ratio_low) +
            Formatted(" to %.3f), ", latency.energy->ratio_high);
  }
  return text + IntervalsText(outcome.quality);
}

std::string EnergyText(const cost::Outcome& outcome) {
  if (!outcome.latency || !outcome.latency->energy) return "";
  const cost::Energy& energy = *outcome.latency->energy;
  return Formatted("energy %.2f", energy.ratio) + Formatted(" (%.4g mJ)", 1e3 * energy.joules);
}

std::string EndText(StopReason reason, const StopRules& rules) {
  switch (reason) {
    case StopReason::kTrials:
      return "the requested number was reached";
    case StopReason::kTime:
      return "their part of time_budget_s is used up";
    case StopReason::kExhausted:
      return "the agent has nothing left to propose";
    case StopReason::kPlateau:
      return "the last " + std::to_string(rules.plateau) + " brought no improvement (stop.plateau)";
    case StopReason::kGoal:
      return "the goal was reached (stop.goal)";
    case StopReason::kInterrupted:
      return "they were interrupted";
  }
  return "unknown";
}

}  // namespace msc::gym
