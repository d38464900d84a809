#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/model/outcome.h"
#include "gym/search/config.h"

namespace msc::gym {

/// Number of samples for judging candidates.
struct SampleCounts {
  std::int64_t trials =
      0;  ///< the first so many; trials may use only these if the others are held out for later
  std::int64_t all = 0;
};

/// Returns the counts for a search whose trials use more samples when a result is too close to a
/// limit to decide.
[[nodiscard]] SampleCounts CountsOf(const SearchConfig& config, std::int64_t all);

/// Which samples judge the finalists, and therefore which samples trials may use.
struct FinalPlan {
  std::int64_t trials = 0;  ///< trials may use the first so many; 0 = all
  /// Index of the first sample that judges finalists; all later ones do, too.
  std::int64_t from = 0;
  /// Samples from this index on are held out and also judged separately; 0 = none.
  std::int64_t held_out = 0;
  /// Reasons why finalists may look better than they are, or differ from `quality.finalists`; for a
  /// person.
  std::vector<std::string> warnings = {};
  bool operator==(const FinalPlan&) const = default;
};

/// Least number of held-out samples that are judged separately; with fewer, intervals are too wide
/// to be useful.
inline constexpr std::int64_t kLeastHeldOut = 30;

/// Plans the samples by quality.finalists of the config. "both" becomes "all", with a warning, if
/// fewer than kLeastHeldOut samples would be held out or if some of these are among the first
/// `learned` calibration samples. UserError if "others" leaves no samples or overlaps those. Trusts
/// the config that two files, or two orders of one file, hold different samples.
[[nodiscard]] FinalPlan PlanFinals(const SearchConfig& config, std::int64_t learned,
                                   const SampleCounts& counts);

/// Returns "the samples that no trial saw contradict: accuracy_drop <= 0.3 is missed by more than
/// its interval"; empty if held-out samples do not contradict or were not judged separately.
[[nodiscard]] std::string ContradictionText(const SearchConfig& config,
                                            const cost::Outcome& outcome);

}  // namespace msc::gym
