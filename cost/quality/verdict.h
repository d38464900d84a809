#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// Largest losses that are accepted, in the units of the metrics of these names.
struct QualityLimits {
  std::optional<double> distill_loss;   ///< mean KL divergence, nats
  std::optional<double> disagreement;   ///< percent of samples (or rows) of another class
  std::optional<double> accuracy_drop;  ///< percentage points
  bool operator==(const QualityLimits&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("distill_loss", self.distill_loss, "nats", Within{-1e30, 1e30});
    visit("disagreement", self.disagreement, "percent", Within{-1e30, 1e30});
    visit("accuracy_drop", self.accuracy_drop, "percentage points", Within{-1e30, 1e30});
  }
};

/// Returns whether judging more of the `all` samples could change whether a candidate keeps its
/// limits. That is the case if no limit is missed, and not every limit is kept, by more than twice
/// the standard error. The error is that of drawing from `all` samples without replacement, so the
/// verdict is final once all were seen. For shares it is widened by one sample, because a share of
/// 0 among a few samples does not prove that it is 0.
[[nodiscard]] bool IsOpen(const Quality& quality, const QualityLimits& limits, std::int64_t all);

/// Returns the metrics whose limits are missed by more than twice the standard error (for shares
/// widened by one sample), so that other samples like these would also miss them.
[[nodiscard]] std::vector<std::string> MissedLimits(const Quality& quality,
                                                    const QualityLimits& limits);

}  // namespace msc::cost
