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

std::vector<Judged> JudgedBy(const Quality& quality, const QualityLimits& limits) {
  std::vector<Judged> all;
  const auto seen = static_cast<double>(quality.samples);
  for (const auto& [name, limit] : limits) {
    const std::optional<Estimate> loss = quality.Loss(name);
    if (!loss) continue;
    const LossInfo* info = FindLoss(name);
    const bool share = info != nullptr && info->percent;
    // 100 / seen is the weight of one sample, see IsOpen.
    all.push_back({name, loss->value - limit,
                   share ? std::hypot(loss->error, kPercent / seen) : loss->error});
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
