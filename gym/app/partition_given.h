#pragma once

#include <cstddef>
#include <string>

#include "cost/partition/partition_study.h"
#include "gym/report/partition_page.h"

namespace msc::gym {

/// What a file of costs had to say about a problem.
struct GivenCosts {
  std::size_t given = 0;    ///< candidates with a cost, or a reason why there is none
  std::size_t unknown = 0;  ///< rows of the file that are no candidates
  std::string example;      ///< the first of these, for people
  double seconds = 0;       ///< reading it
};

/// Reads costs in the form in which `mscgym partition --dry-run --json` lists candidates:
///   {"list": [{"target": "native", "nodes": ["conv1", "relu1"], "micros": 12.5}, ...]}
/// A row may have "bytes", what the region holds, and instead of "micros" a "failure", why it
/// cannot run; a row with neither says nothing, and other keys are not looked at. What the file
/// does not name stays unknown. UserError naming the file and the row at fault.
[[nodiscard]] GivenCosts ReadCosts(const std::string& path, CoverProblem& problem);

/// What was found under them, for people.
void DescribeGiven(const GivenCosts& given, const cost::StudyResult& result, double seconds,
                   std::int64_t peak_bytes, PartitionView& view);

}  // namespace msc::gym
