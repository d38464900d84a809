#include "cost/quality/verdict.h"

#include <cmath>
#include <initializer_list>

namespace msc::cost {
namespace {

constexpr double kPercent = 100;  // errors of shares, to percentage points
/// Standard errors at which a verdict counts as certain: 95 %.
constexpr double kErrors = 2;

struct Judged {
  std::optional<double> limit;
  std::optional<double> value;
  double error = 0;  // standard
};

}  // namespace

bool IsOpen(const Quality& quality, const QualityLimits& limits, std::int64_t all) {
  if (quality.samples >= all) return false;
  const auto seen = static_cast<double>(quality.samples);
  const auto of_share = [&](double error) { return kPercent * std::hypot(error, 1 / seen); };
  const double unseen = std::sqrt(1 - seen / static_cast<double>(all));
  bool open = false;
  for (const Judged& judged :
       {Judged{limits.distill_loss, quality.kl, quality.kl_error},
        Judged{limits.disagreement, quality.Disagreement(), of_share(quality.agreement_error)},
        Judged{limits.accuracy_drop, quality.AccuracyDrop(), of_share(quality.accuracy_error)}}) {
    if (!judged.limit || !judged.value) continue;
    const double above = *judged.value - *judged.limit;
    const double reach = kErrors * judged.error * unseen;
    if (above > reach) return false;
    open = open || above >= -reach;
  }
  return open;
}

}  // namespace msc::cost
