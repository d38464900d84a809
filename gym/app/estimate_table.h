#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/base/within.h"
#include "gym/core/problem.h"

namespace msc::gym {

/// What trying decisions one by one gave: agents begin with it, so that a search goes by it as it
/// goes by its seed. A file of the run directory, and a part of the journal's setup.
struct EstimateTable {
  std::string format = "msc-estimates-2";
  std::string problem_hash;
  std::string key;           ///< equal where a search on these terms may begin with it
  std::int64_t planned = 0;  ///< decisions that were to be tried
  std::int64_t tried = 0;    ///< of them; fewer where they took far longer than the plan
  std::map<std::string, AdditiveCost> costs;  ///< by metric; empty where there was nothing to try
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this form; 1 had no key and no plan",
          Within::OneOf({"msc-estimates-1", "msc-estimates-2"}));
    visit("problem_hash", self.problem_hash, "hash of the search space");
    visit("key", self.key, "hash of all that it depends on");
    visit("planned", self.planned, "decisions to try alone", Within{.least = 0});
    visit("tried", self.tried, "decisions tried alone", Within{.least = 0});
    visit("costs", self.costs, "sums of effects by metric");
  }
};

}  // namespace msc::gym
