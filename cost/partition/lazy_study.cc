#include "cost/partition/lazy_study.h"

#include <vector>

#include "compiler/partition/generate/generate.h"
#include "compiler/partition/search/bounds.h"
#include "compiler/partition/search/lazy.h"

namespace msc::cost {

Result<Cover> MeasureLazily(CoverProblem& problem, std::span<const std::uint32_t> alike,
                            LazyBounds bounds, const SearchOptions& options,
                            const CandidateMeter& measure, const std::function<bool()>& stop) {
  constexpr double kPart = 0.125;
  if (bounds == LazyBounds::kGiven) {
    return FindCoverLazily(problem, measure, options,
                           {.bounds = LowerGivenBounds(problem),
                            .alike = {alike.begin(), alike.end()},
                            .part = kPart,
                            .stop = stop});
  }
  const std::vector<std::uint32_t> units = UnitCandidates(problem.candidates);
  // Whole graphs show most about the savings of being together, and are timed anyway.
  std::vector<std::uint32_t> first = units;
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    if (problem.candidates[i].nodes.Count() == problem.flow.size()) first.push_back(i);
  }
  return FindCoverLazily(problem, measure, options,
                         {.bounds = LearnBounds(problem, units),
                          .first = first,
                          .alike = {alike.begin(), alike.end()},
                          .part = kPart,
                          .audit = 4,
                          .audit_allows = 1,
                          .stop = stop});
}

}  // namespace msc::cost
