#include "cost/quality/guard.h"

#include <algorithm>

#include "compiler/base/formatted.h"
#include "cost/model/loss.h"

namespace msc::cost {
namespace {

constexpr double kTimesTheLimit = 3;
/// A map loses more of its IoU than of its decisions: most positions are background.
constexpr double kTimesForIou = 5;

double LargestDisagreement(const QualityLimits& limits, const Guard& guard) {
  if (guard.disagreement) return *guard.disagreement;
  double most = kGuardDisagreement;
  for (const auto& [name, limit] : limits) {
    const LossInfo* info = FindLoss(name);
    const bool percent = info != nullptr && (info->unit == "%" || info->unit == "points");
    if (percent) most = std::max(most, kTimesTheLimit * limit);
  }
  return most;
}

}  // namespace

std::vector<std::string> FindSuspicions(const Quality& quality, const QualityLimits& limits,
                                        const Guard& guard) {
  const double most = LargestDisagreement(limits, guard);
  std::vector<std::string> found;
  for (const OutputQuality& output : quality.outputs) {
    const auto check = [&](std::string_view name, double bound, const char* form,
                           const char* what) {
      const auto loss = output.losses.find(std::string(name));
      if (loss == output.losses.end() || loss->second.value <= bound) return;
      found.push_back("output '" + output.name + "' " + what + Formatted(form, loss->second.value) +
                      ", more than" + Formatted(form, bound));
    };
    check(kDisagreement, most, " %.3g %%", "changes its decisions by");
    check(kIouLoss, kTimesForIou * most, " %.3g %%", "loses IoU:");
    if (guard.relative_error > 0) {
      check(kRelativeError, guard.relative_error, " %.3g", "has the relative error");
    }
  }
  return found;
}

}  // namespace msc::cost
