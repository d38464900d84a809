#pragma once

#include <cstddef>

#include "gym/search/config.h"
#include "gym/search/host.h"

namespace msc::gym {

/// Describes the decisions of a search, whether bounds rule its goal out, and its expected time. To
/// estimate the time it runs one trial; it measures nothing else, except region costs for a search
/// of partitions (Places). Leaves nothing behind but the cached costs.
void DryRun(const SearchHost& host, const SearchConfig& asked, std::size_t workers);

}  // namespace msc::gym
