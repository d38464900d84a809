#pragma once

#include <string>
#include <vector>

#include "compiler/partition/rules/rule_file.h"
#include "cost/measure/machine.h"
#include "cost/partition/region_costs.h"
#include "cost/partition/region_meter.h"

namespace msc::gym {

// Setup of region measurements for subcommands that need costs of regions.

/// Returns the folder of cached region costs, shared by all studies of this user: `given`, or if
/// empty $XDG_CACHE_HOME/mscgym/regions or ~/.cache/mscgym/regions. UserError if neither variable
/// is set.
[[nodiscard]] std::string RegionFolder(const std::string& given);

/// Returns the variables of this process, "NAME=value", by which a child that measures finds the
/// compiler and the cache of kernels.
[[nodiscard]] std::vector<std::string> CompilerEnvironment();

/// Returns options that measure in child processes of `program` on the first `threads` of the
/// cores that this process may use; compilation uses all of these cores. UserError if there are
/// fewer cores.
[[nodiscard]] cost::RegionMeterOptions RegionMeterFor(const std::string& program, int threads);

/// Loads partition rules as --rules and `partition.rules` name them; no rules if `path` is empty.
/// UserError if the file is missing or does not parse.
[[nodiscard]] PartitionRules LoadPartitionRules(const std::string& path);

/// Returns the cache context of region costs: everything that they depend on besides the region.
[[nodiscard]] cost::RegionCostContext RegionContextFor(const cost::MachineFacts& machine,
                                                       const Graph& graph, int threads);

}  // namespace msc::gym
