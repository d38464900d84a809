#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/partition/problem.h"
#include "compiler/partition/search/search.h"

namespace msc {

// Searches of other systems, for comparison. They solve the same problem, and the costs of their
// covers are computed in the same way; only the choice differs.

/// Returns the candidates that Collage in TVM keeps before it searches, as indices of
/// problem.candidates in rising order. Two steps alternate until nothing is added: keep the
/// candidates of the pool that no other of the same target contains; remove those that overlap
/// another kept one from the pool. Not sound: the best cover may be lost. Of twins, which are
/// candidates of the same target with the same nodes, the first is kept; TVM drops all of them.
/// Source: apache/tvm at fb43fc8577, src/relay/collage/prune_candidates.cc.
[[nodiscard]] std::vector<std::uint32_t> PruneAsCollage(const CoverProblem& problem);

/// Result of Collage's search.
struct CollagePath {
  std::vector<std::uint32_t> chosen;
  double micros = 0;  ///< sum of the candidates' costs, without conversions
  std::int64_t states = 0;
  std::int64_t transitions = 0;
};
/// Finds the cheapest path from nothing covered to everything covered; each step is a candidate
/// that starts at the first uncovered node. Ignores conversions. Of equally cheap paths the first
/// one found stays. Candidates without a known cost are left out. Returns a Failure if the search
/// reaches a state that no candidate leads out of.
/// Source: TVM RFC 0062, section "search".
[[nodiscard]] Result<CollagePath> SearchAsCollage(const CoverProblem& problem,
                                                  const std::vector<std::uint32_t>& candidates);

namespace detail {
/// Runs PruneAsCollage, then SearchAsCollage.
[[nodiscard]] Result<Cover> CollageSearch(const CoverProblem& problem,
                                          const SearchOptions& options);
/// Takes for each target in turn the largest of its candidates that still fit, as BYOC, TensorRT in
/// frameworks and the execution providers of ONNX Runtime do. Ignores costs.
[[nodiscard]] Result<Cover> GreedySearch(const CoverProblem& problem, const SearchOptions& options);
/// Runs Collage as published: dynamic programming over candidates with a constant cost for each
/// region, then an evolutionary search for the regions that one target takes together.
[[nodiscard]] Result<Cover> PaperSearch(const CoverProblem& problem, const SearchOptions& options);
/// Solves an integer program by CBC. Returns a Failure if the build has no CBC.
[[nodiscard]] Result<Cover> IlpSearch(const CoverProblem& problem, const SearchOptions& options);
[[nodiscard]] bool HasIlp();
}  // namespace detail

}  // namespace msc
