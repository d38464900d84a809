#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/report/report.h"

namespace msc::gym {

/// A trial of a search, as searches are compared by it.
struct ComparedTrial {
  double seconds = 0;  ///< of the search when it ended, trials one after the other
  /// What is sought the least of; none where the trial failed, or keeps a limit not.
  std::optional<double> value = {};
};

struct ComparedRun {
  std::string name = {};                  ///< of its run directory
  std::string agent = {};                 ///< who proposed
  std::string env = {};                   ///< what was decided
  std::uint64_t seed = 0;                 ///< of the search
  std::uint64_t failed = 0;               ///< trials
  std::uint64_t repeated = 0;             ///< trials whose results were there already
  std::vector<ComparedTrial> trials{};    ///< by number
  std::optional<double> volume = {};      ///< hypervolume of its feasible front
  std::optional<Measured> speed_up = {};  ///< of its winner, measured again at the end
};

/// Searches of one model for one objective.
struct ComparisonView {
  std::string model = {};
  std::string created = {};     ///< date and time as text
  std::string tool = {};        ///< "mscgym 0.1.0"
  std::string metric = {};      ///< "latency relative to the uncompressed model"
  std::string constraint = {};  ///< "accuracy_drop <= 0.3"; empty = none
  std::vector<ComparedRun> runs = {};
};

/// One page: the best feasible trial so far of each search, by trials and by time, and a table.
/// Points tell what they are and the table sorts, by pointer and by keys. Nothing is loaded, and
/// text is escaped as in RenderReport.
[[nodiscard]] std::string RenderComparison(const ComparisonView& view);

}  // namespace msc::gym
