#include "cost/quality/verdict.h"

#include <cmath>
#include <optional>

#include "cost/model/loss.h"

namespace msc::cost {
namespace {

constexpr double kPercent = 100;
/// A verdict counts as certain beyond this many standard errors: 95 %.
constexpr double kErrors = 2;

struct Judged {
  std::string name;
  double above = 0;  // how far the loss is above its limit
  double error = 0;  // standard error
};

/// Returns the standard error of a loss, widened by what one sample may be worth.
double ErrorOf(const Quality& quality, const std::string& name, const Estimate& loss) {
  const auto seen = static_cast<double>(quality.samples);
  if (const MetricQuality* metric = quality.Metric(name)) {
    return metric->whole ? INFINITY : std::hypot(loss.error, metric->range / seen);
  }
  const LossInfo* info = FindLoss(name);
  const bool share = info != nullptr && info->percent;
  return share ? std::hypot(loss.error, kPercent / seen) : loss.error;
}

std::vector<Judged> JudgedBy(const Quality& quality, const QualityLimits& limits) {
  std::vector<Judged> all;
  for (const auto& [name, limit] : limits) {
    const std::optional<Estimate> loss = quality.Loss(name);
    if (loss) all.push_back({name, loss->value - limit, ErrorOf(quality, name, *loss)});
  }
  return all;
}

}  // namespace

bool IsOpen(const Quality& quality, const QualityLimits& limits, std::int64_t all) {
  if (quality.samples >= all) return false;
  const auto seen = static_cast<double>(quality.samples);
  // Finite population correction, for drawing without replacement.
  const double unseen = std::sqrt(1 - seen / static_cast<double>(all));
  bool open = false;
  for (const Judged& judged : JudgedBy(quality, limits)) {
    const double reach = kErrors * judged.error * unseen;
    // One limit that is surely missed decides, whatever the others are.
    if (judged.above > reach) return false;
    open = open || judged.above >= -reach;
  }
  return open;
}

std::vector<std::string> MissedLimits(const Quality& quality, const QualityLimits& limits) {
  std::vector<std::string> missed;
  for (const Judged& judged : JudgedBy(quality, limits)) {
    if (judged.above > kErrors * judged.error) missed.push_back(judged.name);
  }
  return missed;
}

}  // namespace msc::cost
