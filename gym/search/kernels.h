#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/strategy/schedule.h"
#include "compiler/strategy/strategy.h"
#include "gym/search/config.h"
#include "gym/search/prepare.h"

namespace msc::gym {

// Kernels whose schedules are decisions of a search, for one sample, as latency is measured. A run
// finds them once and keeps them in the file `path`; UserError if that belongs to another model.
using SharedKernels = std::shared_ptr<const std::vector<ScheduledKernel>>;

/// Returns the kernels of the start strategy, with at most schedule.choices schedules each.
[[nodiscard]] SharedKernels FindStartKernels(const SearchConfig& config, const Prepared& prepared,
                                             const std::string& path);
/// Returns the compress.schedules most expensive kernels of the uncompressed model, with the
/// schedules that all candidate targets list for them in f32 and in int8, the most promising first,
/// at most schedule.choices; the first choice stands for the target's own. `scales` are those of
/// the activations.
[[nodiscard]] SharedKernels FindJointKernels(const SearchConfig& config, const Prepared& prepared,
                                             const std::map<std::string, TensorScale>& scales,
                                             const std::string& path);

/// Returns a function that lists a strategy's kernels with the schedules that are valid both for
/// one sample and for the batch of quality measurements. `prepared` outlives it.
[[nodiscard]] std::function<std::vector<ScheduledKernel>(const Strategy&)> KernelFinder(
    const SearchConfig& config, const Prepared& prepared);

}  // namespace msc::gym
