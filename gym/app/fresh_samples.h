#pragma once

#include <cstdint>

#include "gym/app/search_config.h"

namespace msc::gym {

/// How many samples that candidates are judged on there are.
struct SampleCounts {
  std::int64_t trials = 0;  ///< the first so many: trials may see them
  std::int64_t all = 0;
};

/// UserError where finalists are to be judged on samples that no trial saw, and there are none.
void CheckOthers(const QualityConfig& quality, const SampleCounts& counts);

/// UserError where they would be judged on some of the first `learned` samples of calibration. Two
/// files, or two orders of one, are taken for what the config says they are.
void CheckFresh(const SearchConfig& config, std::int64_t learned, const SampleCounts& counts);

}  // namespace msc::gym
