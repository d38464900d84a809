#include "cost/quality/verdict.h"

#include <array>
#include <cmath>

namespace msc::cost {
namespace {

constexpr double kPercent = 100;  // from shares to percentage points
/// A verdict counts as certain beyond this many standard errors: 95 %.
constexpr double kErrors = 2;

struct Judged {
  const char* metric = "";
  std::optional<double> limit;
  std::optional<double> value;
  double error = 0;  // standard error
};

std::array<Judged, 3> JudgedBy(const Quality& quality, const QualityLimits& limits) {
  const auto seen = static_cast<double>(quality.samples);
  // 1 / seen is the weight of one sample, see IsOpen.
  const auto of_share = [&](double error) { return kPercent * std::hypot(error, 1 / seen); };
  return {{{"distill_loss", limits.distill_loss, quality.kl, quality.kl_error},
           {"disagreement", limits.disagreement, quality.Disagreement(),
            of_share(quality.agreement_error)},
           {"accuracy_drop", limits.accuracy_drop, quality.AccuracyDrop(),
            of_share(quality.accuracy_error)}}};
}

}  // namespace

bool IsOpen(const Quality& quality, const QualityLimits& limits, std::int64_t all) {
  if (quality.samples >= all) return false;
  const auto seen = static_cast<double>(quality.samples);
  // Finite population correction, for drawing without replacement.
  const double unseen = std::sqrt(1 - seen / static_cast<double>(all));
  bool open = false;
  for (const Judged& judged : JudgedBy(quality, limits)) {
    if (!judged.limit || !judged.value) continue;
    const double above = *judged.value - *judged.limit;
    const double reach = kErrors * judged.error * unseen;
    // One limit that is surely missed decides, whatever the others are.
    if (above > reach) return false;
    open = open || above >= -reach;
  }
  return open;
}

std::vector<std::string> MissedLimits(const Quality& quality, const QualityLimits& limits) {
  std::vector<std::string> missed;
  for (const Judged& judged : JudgedBy(quality, limits)) {
    if (!judged.limit || !judged.value) continue;
    if (*judged.value - *judged.limit > kErrors * judged.error) missed.emplace_back(judged.metric);
  }
  return missed;
}

}  // namespace msc::cost
