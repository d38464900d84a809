#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/report/report.h"

namespace msc::gym {

/// A trial in a comparison of searches.
struct ComparedTrial {
  double seconds = 0;  ///< seconds since the start of the search, trials summed one after the other
  /// The first objective; absent if the trial failed or violates a limit.
  std::optional<double> value = {};
};

struct ComparedRun {
  std::string name = {};                  ///< of its run directory
  std::string agent = {};                 ///< that proposed the trials
  std::string env = {};                   ///< the searched space
  std::uint64_t seed = 0;                 ///< of the search
  std::uint64_t failed = 0;               ///< failed trials
  std::uint64_t repeated = 0;             ///< trials with a copied result
  std::vector<ComparedTrial> trials{};    ///< by number
  std::optional<double> volume = {};      ///< of its feasible front
  std::optional<Measured> speed_up = {};  ///< of its winner, from the final measurement
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

/// Returns one HTML page: the best feasible trial so far of each search, by trials and by time, and
/// a table. Points show their details and the table sorts, by pointer and by keyboard. The page
/// loads nothing, and text is escaped as in RenderReport.
[[nodiscard]] std::string RenderComparison(const ComparisonView& view);

}  // namespace msc::gym
