#pragma once

#include <cstddef>
#include <string>

#include "cost/partition/partition_study.h"
#include "gym/report/partition_page.h"

namespace msc::gym {

/// Summary of the rows of a cost file.
struct GivenCosts {
  std::size_t given = 0;    ///< candidates with a cost, or with a reason why there is none
  std::size_t unknown = 0;  ///< rows that match no candidate
  std::string example;      ///< the first of these, for a person
  double seconds = 0;       ///< time spent reading the file
};

/// Reads costs in the form that `mscgym partition --dry-run --json` prints:
///   {"list": [{"target": "native", "nodes": ["conv1", "relu1"], "micros": 12.5}, ...]}
/// A row may have "bytes", the memory of the region, and instead of "micros" a "failure", the
/// reason why the region cannot run. A row with neither is ignored, as are other keys. Candidates
/// that the file does not name stay unknown. UserError, naming the file and the row, if a row is
/// malformed.
[[nodiscard]] GivenCosts ReadCosts(const std::string& path, CoverProblem& problem);

/// Adds the results under these costs to a view for people.
void DescribeGiven(const GivenCosts& given, const cost::PartitionStudyResult& result,
                   double seconds, std::int64_t peak_bytes, PartitionView& view);

}  // namespace msc::gym
