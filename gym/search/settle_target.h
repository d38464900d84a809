#pragma once

#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/run_paths.h"

namespace msc::gym {

/// Replaces the target "auto" of a config by one that computes 8-bit layers here (ChooseTarget),
/// and reports it. So the run directory names a real target: replays do not choose again. A run
/// directory that holds a config is resumed, on the target that is named there; nullptr: there is
/// none.
void SettleTarget(const RunPaths* resumed, SearchListener& listener, SearchConfig& config);

/// Fills in the bits of int8 layers' weights if the config names none: those of the run that is
/// resumed, as above, or those with which the target is fastest (TargetFacts::weight_bits). The
/// target must be settled; one that this machine lacks is reported where the search is loaded.
void SettleBits(const RunPaths* resumed, SearchConfig& config);

/// Replaces 0 samples per call, on which candidates are judged, by a number that suits the target,
/// which must be settled. `native` has kernels of its own for every size of a batch, and those for
/// one sample are timed.
void SettleBatch(SearchConfig& config);

}  // namespace msc::gym
