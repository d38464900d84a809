#pragma once

#include <string>

#include "compiler/partition/rules/rule_file.h"
#include "cost/measure/machine.h"
#include "cost/partition/region_costs.h"
#include "cost/partition/region_meter.h"
#include "gym/app/command.h"

namespace msc::gym {

// How subcommands that ask for costs of regions have them measured.

/// The folder in which costs of regions are kept, shared by all studies of this user: `given`, or
/// where that is empty $XDG_CACHE_HOME/mscgym/regions or ~/.cache/mscgym/regions. UserError where
/// there is neither.
[[nodiscard]] std::string RegionFolder(const std::string& given);

/// Children of this program on the first `threads` of the cores that this process may use; all of
/// these compile. UserError where there are not so many.
[[nodiscard]] cost::RegionMeterOptions RegionMeterFor(const AppContext& context, int threads);

/// Rules for candidates as --rules and `partition.rules` name them; none where `path` is empty.
/// UserError where the file is not there or does not parse.
[[nodiscard]] PartitionRules LoadPartitionRules(const std::string& path);

/// What costs of regions of `graph` depend on here.
[[nodiscard]] cost::RegionCostContext RegionContextFor(const cost::MachineFacts& machine,
                                                       const Graph& graph, int threads);

}  // namespace msc::gym
