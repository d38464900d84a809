#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cost/model/outcome.h"

namespace msc::cost {

/// Largest losses that are accepted, by name (loss.h), in their units.
using QualityLimits = std::map<std::string, double>;

/// Returns whether judging more of the `all` samples could change whether a candidate keeps its
/// limits. That is the case if no limit is missed, and not every limit is kept, by more than twice
/// the standard error. The error is that of drawing from `all` samples without replacement, so the
/// verdict is final once all were seen. For shares and for a user's metric it is widened by what
/// one sample may be worth, because a share of 0 among a few samples does not prove that it is 0. A
/// metric that gives one number for all samples has no such error: its limit is open until all were
/// seen. Limits on losses that `quality` does not have do not count.
[[nodiscard]] bool IsOpen(const Quality& quality, const QualityLimits& limits, std::int64_t all);

/// Returns the losses whose limits are missed by more than twice the standard error (widened as
/// above), so that other samples like these would also miss them. That is never known of a metric
/// that gives one number for all samples.
[[nodiscard]] std::vector<std::string> MissedLimits(const Quality& quality,
                                                    const QualityLimits& limits);

}  // namespace msc::cost
