#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// The most that may be lost, in the units of the metrics of these names.
struct QualityLimits {
  std::optional<double> distill_loss;   ///< mean KL divergence, nats
  std::optional<double> disagreement;   ///< samples (or rows of them) of another class, percent
  std::optional<double> accuracy_drop;  ///< percentage points
  bool operator==(const QualityLimits&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("distill_loss", self.distill_loss, "nats", Within{-1e30, 1e30});
    visit("disagreement", self.disagreement, "percent", Within{-1e30, 1e30});
    visit("accuracy_drop", self.accuracy_drop, "percentage points", Within{-1e30, 1e30});
  }
};

/// Whether more of `all` samples might change on which side of its limits a candidate comes out: no
/// limit is missed, and not every limit kept, by more than twice the standard error of what was
/// seen. That error is one of drawing from the `all` samples without putting back, so nothing is
/// open once all were seen; and of shares it allows for one sample more, since none of few is no
/// proof of none.
[[nodiscard]] bool IsOpen(const Quality& quality, const QualityLimits& limits, std::int64_t all);

/// Metrics whose limits are missed by more than twice the standard error of what was seen, which of
/// shares allows for one sample more: others like these would miss them, too.
[[nodiscard]] std::vector<std::string> MissedLimits(const Quality& quality,
                                                    const QualityLimits& limits);

}  // namespace msc::cost
