#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/partition/problem.h"
#include "compiler/partition/search/search.h"

namespace msc {

// What others do, to compare with. Covers are of the same problem, and what they cost is computed
// in the same way; it is the choice that differs.

/// The candidates that Collage in TVM keeps before it searches: repeatedly those of a target that
/// no other of the same target contains, and then without those of them that overlap. In `compat` a
/// candidate with a twin (same target, same nodes) goes too, as there; otherwise the first stays.
/// Not sound: the best cover may be lost. Indices of problem.candidates in rising order.
/// Source: apache/tvm at fb43fc8577, src/relay/collage/prune_candidates.cc.
enum class Twins : std::uint8_t { kKeepOne, kCompat };
[[nodiscard]] std::vector<std::uint32_t> PruneAsCollage(const CoverProblem& problem, Twins twins);

/// What Collage's search came to.
struct CollagePath {
  std::vector<std::uint32_t> chosen;
  double micros = 0;  ///< of candidates alone
  std::int64_t states = 0;
  std::int64_t transitions = 0;
};
/// The least-cost path from nothing covered to everything covered, each step a candidate that
/// starts at the first uncovered node. Knows no conversions. Of equal paths the first found stays.
/// Invalid candidates are left out. A Failure where a state is reached that no candidate leads out
/// of. Source: TVM RFC 0062, section "search".
[[nodiscard]] Result<CollagePath> SearchAsCollage(const CoverProblem& problem,
                                                  const std::vector<std::uint32_t>& candidates);

/// Regions of one target.
struct Merged {
  IndexSet nodes;
  std::string target;
};
/// The regions of a cover after neighbours of one target have been merged while any two touch: no
/// path leads out of one and back into the other. Never builds regions that wait for each other.
/// Costs of merged regions are unknown: what to compile, not what to search over.
[[nodiscard]] std::vector<Merged> MergeNeighbours(const CoverProblem& problem,
                                                  const std::vector<std::uint32_t>& chosen);

namespace detail {
/// PruneAsCollage, then SearchAsCollage.
[[nodiscard]] Result<Cover> CollageSearch(const CoverProblem& problem,
                                          const SearchOptions& options);
/// For each target in turn the largest regions it has candidates for, as BYOC, TensorRT in
/// frameworks and the execution providers of ONNX Runtime do. Costs play no part.
[[nodiscard]] Result<Cover> GreedySearch(const CoverProblem& problem, const SearchOptions& options);
/// Collage as published: candidates of small regions by dynamic programming with a constant for
/// each region, then an evolutionary search over which regions one target takes together.
[[nodiscard]] Result<Cover> PaperSearch(const CoverProblem& problem, const SearchOptions& options);
/// Integer program, solved by CBC; absent where the build has none.
[[nodiscard]] Result<Cover> IlpSearch(const CoverProblem& problem, const SearchOptions& options);
[[nodiscard]] bool HasIlp();
}  // namespace detail

}  // namespace msc
