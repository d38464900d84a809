#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "cost/model/outcome.h"
#include "cost/quality/verdict.h"

namespace msc::cost {

/// Bounds beyond which a result is suspicious, whatever its limits say.
struct Guard {
  /// Percent of decisions that may change; nothing = three times the largest limit in percent or
  /// points, at least kGuardDisagreement.
  std::optional<double> disagreement = {};
  double relative_error = 0.1;
  bool operator==(const Guard&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("disagreement", self.disagreement,
          "percent of decisions that may change before a result is marked suspicious (of maps, "
          "five times as much IoU may be lost); null = three times the largest limit in percent or "
          "points, at least 2",
          Within{0, 100});
    visit("relative_error", self.relative_error,
          "relative error of an output beyond which a result is marked suspicious; 0 = none",
          Within{0, 1e9});
  }
};
inline constexpr double kGuardDisagreement = 2;

/// Returns the percent of decisions that may change.
[[nodiscard]] double DisagreementBound(const QualityLimits& limits, const Guard& guard);

/// Returns what makes a result suspicious, one sentence for each output and loss; empty if nothing
/// does. A limit on another loss may be kept although most decisions have changed.
[[nodiscard]] std::vector<std::string> FindSuspicions(const Quality& quality,
                                                      const QualityLimits& limits,
                                                      const Guard& guard);

/// Returns the largest loss relative to its bound, without limits: above 1 if the quality is
/// suspicious. Infinity if a loss above 0 has the bound 0.
[[nodiscard]] double LargestShare(const Quality& quality, const Guard& guard);

}  // namespace msc::cost
