#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cost/model/outcome.h"
#include "cost/quality/verdict.h"
#include "gym/app/search_config.h"

namespace msc::gym {

/// How many samples that candidates are judged on there are.
struct SampleCounts {
  std::int64_t trials =
      0;  ///< the first so many: trials may see them, if others are kept for later
  std::int64_t all = 0;
};

/// Of a search whose trials see more samples where they are too near to a limit to tell.
[[nodiscard]] SampleCounts CountsOf(const SearchConfig& config, std::int64_t all);

/// Which samples finalists are judged on, and so which ones trials may see.
struct FinalPlan {
  std::int64_t trials = 0;  ///< trials may see the first so many; 0 = all
  std::int64_t from = 0;    ///< number of the first that finalists are judged on; the rest follows
  std::int64_t fresh = 0;   ///< from this number on they are also told apart; 0 = none are
  /// What makes them worse than they look, or other than `quality.finalists` asks for; for a
  /// person.
  std::vector<std::string> warnings = {};
  bool operator==(const FinalPlan&) const = default;
};

/// The fewest fresh samples that are told apart: of fewer, intervals say nothing.
inline constexpr std::int64_t kLeastFresh = 30;

/// As the config's quality.finalists asks: "both" are "all", with a warning, where fewer than
/// kLeastFresh samples would be fresh, or some of them are among the first `learned` of
/// calibration. UserError where "others" are asked for, and there are none or some are among those.
/// Two files, or two orders of one, are taken for what the config says they are.
[[nodiscard]] FinalPlan PlanFinals(const SearchConfig& config, std::int64_t learned,
                                   const SampleCounts& counts);

/// What is asked of metrics that samples tell.
[[nodiscard]] cost::QualityLimits LimitsOf(const ObjectiveConfig& objective);

/// "the samples that no trial saw contradict: accuracy_drop <= 0.3 is missed by more than its
/// interval"; empty where they do not, or none were told apart.
[[nodiscard]] std::string ContradictionText(const ObjectiveConfig& objective,
                                            const cost::Outcome& outcome);

}  // namespace msc::gym
