#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/search/probes.h"

namespace msc::gym {

/// Adds estimates of losses, and of weight_bytes if `bytes`, those of the uncompressed model, are
/// known. The effects of all choices of all decisions are interpolated from those of the probes: in
/// proportion to the noise that a choice adds, or to the weights that it saves. A decision whose
/// probe is missing or failed gets the mean effect of its kind, precisions or channels. The
/// uncompressed model has no loss.
void AddLossEstimates(const std::vector<Decision>& decisions, const ProbeRun& run,
                      std::optional<std::int64_t> bytes,
                      std::map<std::string, AdditiveCost>& costs);

}  // namespace msc::gym
