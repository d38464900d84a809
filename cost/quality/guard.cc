#include "cost/quality/guard.h"

#include <algorithm>

#include "compiler/base/formatted.h"
#include "cost/model/loss.h"

namespace msc::cost {
namespace {

constexpr double kTimesTheLimit = 3;
/// A map loses more of its IoU than of its decisions: most positions are background.
constexpr double kTimesForIou = 5;

}  // namespace

double DisagreementBound(const QualityLimits& limits, const Guard& guard) {
  if (guard.disagreement) return *guard.disagreement;
  double most = kGuardDisagreement;
  for (const auto& [name, limit] : limits) {
    const LossInfo* info = FindLoss(name);
    const bool percent = info != nullptr && (info->unit == "%" || info->unit == "points");
    if (percent) most = std::max(most, kTimesTheLimit * limit);
  }
  return most;
}

namespace {

/// A loss of an output that has a bound.
struct Guarded {
  const OutputQuality* output = nullptr;
  const char* what = "";  ///< before the loss, in a sentence about the output
  const char* unit = "";
  double loss = 0;
  double bound = 0;
};

std::vector<Guarded> FindGuarded(const Quality& quality, const QualityLimits& limits,
                                 const Guard& guard) {
  const double most = DisagreementBound(limits, guard);
  std::vector<Guarded> found;
  for (const OutputQuality& output : quality.outputs) {
    const auto add = [&](std::string_view name, double bound, const char* what, const char* unit) {
      const auto loss = output.losses.find(std::string(name));
      if (loss != output.losses.end()) {
        found.push_back({&output, what, unit, loss->second.value, bound});
      }
    };
    add(kDisagreement, most, "changes its decisions by", " %");
    add(kIouLoss, kTimesForIou * most, "loses IoU:", " %");
    if (guard.relative_error > 0) {
      add(kRelativeError, guard.relative_error, "has the relative error", "");
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> FindSuspicions(const Quality& quality, const QualityLimits& limits,
                                        const Guard& guard) {
  std::vector<std::string> sentences;
  for (const Guarded& each : FindGuarded(quality, limits, guard)) {
    if (each.loss <= each.bound) continue;
    sentences.push_back("output '" + each.output->name + "' " + each.what +
                        Formatted(" %.3g", each.loss) + each.unit + ", more than" +
                        Formatted(" %.3g", each.bound) + each.unit);
  }
  return sentences;
}

double LargestShare(const Quality& quality, const Guard& guard) {
  double largest = 0;
  for (const Guarded& each : FindGuarded(quality, {}, guard)) {
    if (each.loss > 0) largest = std::max(largest, each.loss / each.bound);
  }
  return largest;
}

}  // namespace msc::cost
