#pragma once

#include <optional>

#include "compiler/strategy/strategy.h"
#include "gym/search/findings.h"
#include "gym/study/study.h"

namespace msc::gym {

/// All results of a search.
struct SearchResult {
  StudyResult study;
  Findings findings;
  /// The best trial's strategy, if the search was stopped before it measured finalists.
  std::optional<Strategy> so_far;
};

}  // namespace msc::gym
