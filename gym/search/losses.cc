#include "gym/search/losses.h"

#include <algorithm>
#include <optional>

#include "compiler/base/formatted.h"
#include "cost/model/loss.h"
#include "cost/quality/guard.h"

namespace msc::gym {
namespace {

constexpr double kErrors = 1.96;  // standard errors on each side of a 95 % interval

std::string WithUnit(const std::string& number, std::string_view name) {
  const cost::LossInfo* info = cost::FindLoss(name);
  if (info == nullptr || info->unit.empty()) return number;
  return number + " " + std::string(info->unit);
}

/// Returns whether values are percentages or points, which have two digits behind the point.
bool IsPercent(std::string_view name) {
  const cost::LossInfo* info = cost::FindLoss(name);
  return info != nullptr && (info->unit == "%" || info->unit == "points");
}

/// Returns "disagreement 2.40 %, relative error 0.08", of the losses that `find` has.
template <class Find>
std::string LossesText(const Find& find) {
  std::string text;
  for (const cost::LossInfo& info : cost::kLosses) {
    const std::optional<cost::Estimate> loss = find(info.name);
    if (!loss || !info.score.empty()) continue;
    text += (text.empty() ? "" : ", ") + std::string(info.title) + " " +
            FormatLoss(info.name, loss->value);
  }
  return text;
}

}  // namespace

bool IsLoss(const SearchConfig& config, std::string_view metric) {
  return cost::FindLoss(metric) != nullptr || config.quality.metrics.contains(std::string(metric));
}

cost::QualityLimits LimitsOf(const SearchConfig& config) {
  cost::QualityLimits limits;
  for (const auto& [metric, limit] : config.objective.subject_to) {
    if (IsLoss(config, metric)) limits.emplace(metric, limit);
  }
  return limits;
}

std::string MainLossOf(const SearchConfig& config) {
  for (const std::string& metric : config.objective.minimize) {
    if (IsLoss(config, metric)) return metric;
  }
  for (const auto& [metric, limit] : config.objective.subject_to) {
    if (IsLoss(config, metric)) return metric;
  }
  return std::string(cost::kDistillLoss);
}

std::vector<std::string> ShownLosses(const SearchConfig& config,
                                     const std::vector<std::string>& measured) {
  std::vector<std::string> shown;
  const auto add = [&](const std::string& name) {
    const bool known = std::ranges::find(measured, name) != measured.end();
    if (known && std::ranges::find(shown, name) == shown.end()) shown.push_back(name);
  };
  add(MainLossOf(config));
  for (const auto& [metric, limit] : LimitsOf(config)) add(metric);
  for (const auto& [metric, spec] : config.quality.metrics) add(metric);
  for (const cost::LossInfo& info : cost::kLosses) {
    if (!info.score.empty()) add(std::string(info.name));
  }
  for (const std::string_view name : {cost::kDisagreement, cost::kRelativeError}) {
    add(std::string(name));
  }
  return shown;
}

std::vector<std::string> SuspicionsOf(const SearchConfig& config, const cost::Quality& quality) {
  return cost::FindSuspicions(quality, LimitsOf(config), config.quality.guard);
}

std::string QualityText(const cost::Quality& quality) {
  std::string text = LossesText([&](std::string_view name) { return quality.Loss(name); });
  for (const cost::MetricQuality& metric : quality.metrics) {
    text += (text.empty() ? "" : ", ") + metric.name + Formatted(" %.6g", metric.value) +
            Formatted(" (before %.6g)", metric.reference);
  }
  for (const cost::LossInfo& info : cost::kLosses) {
    const std::string score = ScoreText(quality, info.name);
    if (score.empty()) continue;
    text += (text.empty() ? "" : ", ") + std::string(info.score) + " " + score;
  }
  return text;
}

std::string ScoreText(const cost::Quality& quality, std::string_view loss) {
  const cost::LabelScore* const score = quality.Score(loss);
  if (score == nullptr) return "";
  const bool percent = IsPercent(loss);
  const auto text = [&](double value) {
    return percent ? Formatted("%.2f %%", value) : Formatted("%.3g", value);
  };
  return text(score->value) + " (before " + text(score->reference) + ")";
}

std::vector<std::string> OutputLines(const cost::Quality& quality) {
  std::vector<std::string> lines;
  if (quality.outputs.size() < 2) return lines;
  for (const cost::OutputQuality& output : quality.outputs) {
    const auto find = [&](std::string_view name) {
      const auto loss = output.losses.find(std::string(name));
      return loss == output.losses.end() ? std::nullopt : std::optional(loss->second);
    };
    lines.push_back("output '" + output.name + "' (" +
                    std::string(kOutputKinds.at(static_cast<std::size_t>(output.kind))) +
                    "): " + LossesText(find));
    for (const auto& [loss, score] : output.scores) {
      lines.back() += std::string(lines.back().ends_with(": ") ? "" : ", ") +
                      std::string(cost::FindLoss(loss)->score) + " " +
                      ScoreText(quality, loss + ":" + output.name);
    }
  }
  return lines;
}

std::string FormatLoss(std::string_view name, double value) {
  return WithUnit(IsPercent(name) ? Formatted("%.2f", value) : Formatted("%.3g", value), name);
}

std::string FormatLoss(std::string_view name, const cost::Estimate& loss) {
  const bool percent = IsPercent(name);
  const std::string value = Formatted(percent ? "%.2f" : "%.3g", loss.value);
  const std::string margin =
      Formatted(percent ? " \xC2\xB1 %.2f" : " \xC2\xB1 %.2g", kErrors * loss.error);
  return WithUnit(value + margin, name);
}

std::string IntervalText(const cost::Quality& quality, std::string_view name) {
  const std::optional<cost::Estimate> loss = quality.Loss(name);
  if (!loss) return "-";
  const cost::MetricQuality* metric = quality.Metric(name);
  if (metric == nullptr || !metric->whole) return FormatLoss(name, *loss);
  return FormatLoss(name, loss->value) + " (one number for all samples: no interval)";
}

}  // namespace msc::gym
