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
    if (!loss || info.name == cost::kAccuracyDrop) continue;
    text += (text.empty() ? "" : ", ") + std::string(info.title) + " " +
            FormatLoss(info.name, loss->value);
  }
  return text;
}

}  // namespace

cost::QualityLimits LimitsOf(const ObjectiveConfig& objective) {
  cost::QualityLimits limits;
  for (const auto& [metric, limit] : objective.subject_to) {
    if (cost::FindLoss(metric) != nullptr) limits.emplace(metric, limit);
  }
  return limits;
}

std::string MainLossOf(const ObjectiveConfig& objective) {
  for (const std::string& metric : objective.minimize) {
    if (cost::FindLoss(metric) != nullptr) return metric;
  }
  for (const auto& [metric, limit] : objective.subject_to) {
    if (cost::FindLoss(metric) != nullptr) return metric;
  }
  return std::string(cost::kDistillLoss);
}

std::vector<std::string> ShownLosses(const ObjectiveConfig& objective,
                                     const std::vector<std::string>& measured) {
  std::vector<std::string> shown;
  const auto add = [&](const std::string& name) {
    const bool known = std::ranges::find(measured, name) != measured.end();
    if (known && std::ranges::find(shown, name) == shown.end()) shown.push_back(name);
  };
  add(MainLossOf(objective));
  for (const auto& [metric, limit] : LimitsOf(objective)) add(metric);
  for (const std::string_view name :
       {cost::kAccuracyDrop, cost::kDisagreement, cost::kRelativeError}) {
    add(std::string(name));
  }
  return shown;
}

std::vector<std::string> SuspicionsOf(const SearchConfig& config, const cost::Quality& quality) {
  return cost::FindSuspicions(quality, LimitsOf(config.objective), config.quality.guard);
}

std::string QualityText(const cost::Quality& quality) {
  std::string text = LossesText([&](std::string_view name) { return quality.Loss(name); });
  if (quality.accuracy && quality.reference_accuracy) {
    text += Formatted(", accuracy %.2f %%", 100 * *quality.accuracy) +
            Formatted(" (before %.2f %%)", 100 * *quality.reference_accuracy);
  }
  return text;
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

}  // namespace msc::gym
