#include "compiler/partition/search/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/exact.h"

namespace msc {
namespace {

constexpr std::string_view kIlp = "ilp";

std::vector<Search> List() {
  std::vector<Search> searches = {
      {.name = "exact",
       .help = "dynamic programming over frontiers with bounds: optimal, with proof",
       .exact = true,
       .regions = true,
       .run = detail::ExactSearch},
      {.name = "beam",
       .help = "the best few partial covers at each node; reports its gap",
       .regions = true,
       .run = detail::BeamSearch},
      {.name = "greedy",
       .help = "the largest regions of each target in order of priority",
       .unknown = true,
       .run = detail::GreedySearch},
      {.name = "collage",
       .help = "Collage in TVM: prunes, then a shortest path that knows no conversions",
       .run = detail::CollageSearch},
      {.name = "paper",
       .help = "Collage as published: operator level, then evolutionary graph level",
       .run = detail::PaperSearch},
  };
  if (detail::HasIlp()) {
    searches.insert(searches.begin() + 1,
                    {.name = std::string(kIlp),
                     .help = "integer program, solved by CBC: keeps a memory limit too",
                     .exact = true,
                     .regions = true,
                     .memory = true,
                     .run = detail::IlpSearch});
  }
  return searches;
}

void CheckConditions(const CoverProblem& problem, const Search& search) {
  const SideConditions& conditions = problem.conditions;
  if (conditions.max_bytes && !search.memory) {
    throw UserError("search '" + search.name + "' cannot keep a memory limit; use ilp");
  }
  if (!conditions.max_regions.empty() && !search.regions) {
    throw UserError("search '" + search.name +
                    "' cannot limit the regions of a target; use exact, beam or ilp");
  }
  if (search.unknown) return;
  for (const CandidateRegion& candidate : problem.candidates) {
    if (candidate.cost.unknown()) {
      throw UserError("the cost of " + candidate.target + " " + ToString(candidate.nodes) +
                      " is unknown: measure it, or use the search greedy, which needs no costs");
    }
  }
}

/// Returns the cost of the chosen candidates, with unknown costs at their lower bounds.
Result<double> Recompute(const CoverProblem& problem, const std::vector<std::uint32_t>& chosen) {
  const bool known = std::all_of(chosen.begin(), chosen.end(), [&](std::uint32_t i) {
    return problem.candidates[i].cost.known();
  });
  if (known) return CheckCover(problem, chosen);
  CoverProblem bounded = problem;
  for (CandidateRegion& candidate : bounded.candidates) {
    if (candidate.cost.unknown()) candidate.cost = Cost::Micros(candidate.cost.at_least());
  }
  return CheckCover(bounded, chosen);
}

}  // namespace

std::span<const Search> CoverSearches() {
  static const std::vector<Search> searches = List();
  return searches;
}

const Search& FindSearch(std::string_view name) {
  std::string known;
  for (const Search& search : CoverSearches()) {
    if (search.name == name) return search;
    known += (known.empty() ? "" : ", ") + search.name;
  }
  if (name == kIlp) {
    throw UserError("this build has no search 'ilp': it was made without CBC (coinor-libcbc-dev)");
  }
  throw UserError("there is no search '" + std::string(name) + "'; there are " + known);
}

Result<Cover> FindCover(const CoverProblem& problem, std::string_view name,
                        const SearchOptions& options) {
  const Search& search = FindSearch(name);
  CheckProblem(problem);
  CheckConditions(problem, search);
  const auto unknown =
      search.unknown ? detail::UnknownCosts::kByBound : detail::UnknownCosts::kLeaveOut;
  if (auto failure = detail::Uncoverable(problem, unknown)) return *std::move(failure);
  if (problem.flow.size() == 0) return Cover{};
  Result<Cover> found = search.run(problem, options);
  if (!found.ok()) return found.failure();
  Cover cover = std::move(found).value();
  // Baselines may choose regions that cannot run; the other searches must not.
  Result<std::vector<std::uint32_t>> order = ExecutionOrder(problem, cover.chosen);
  const bool trusted = search.exact || search.name == "beam";
  Check(order.ok() || !trusted, "a search finds covers that can run");
  if (!order.ok()) return order.failure();
  cover.chosen = std::move(order).value();
  Result<double> micros = Recompute(problem, cover.chosen);
  Check(micros.ok() || !trusted, "a search finds covers that keep the conditions");
  if (!micros.ok()) return micros.failure();
  if (trusted) {
    Check(std::abs(cover.micros - micros.value()) <= 1e-6 * std::max(1.0, micros.value()),
          "the cost of a cover is what it was found for");
  }
  cover.micros = micros.value();
  if (!trusted) {
    // Dual prices bound every cover, so the gap of a baseline is known, too.
    const detail::Table table(problem, unknown);
    cover.lower_bound = ToMicros(table.LowerBound());
  }
  return cover;
}

}  // namespace msc
