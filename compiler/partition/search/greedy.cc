#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/cycle.h"
#include "compiler/partition/search/table.h"

namespace msc::detail {
namespace {

/// Returns `priority`, then all other targets in the order of candidates.
std::vector<std::string> TargetsInOrder(const CoverProblem& problem,
                                        const std::vector<std::string>& priority) {
  std::vector<std::string> targets = priority;
  for (const CandidateRegion& candidate : problem.candidates) {
    if (std::find(targets.begin(), targets.end(), candidate.target) == targets.end()) {
      targets.push_back(candidate.target);
    }
  }
  return targets;
}

/// Returns whether `nodes` has one exit. All its nodes lead to that exit, so a cycle of such
/// regions would be a cycle of nodes, which a graph does not have.
bool HasOneExit(const DataflowGraph& flow, const IndexSet& nodes) {
  std::size_t exits = 0;
  nodes.ForEach([&](std::size_t node) {
    const std::vector<FlowIndex>& consumers = flow.consumers(node);
    exits += flow.Leaves(node) || consumers.empty() ||
                     std::any_of(consumers.begin(), consumers.end(),
                                 [&](FlowIndex consumer) { return !nodes.Contains(consumer); })
                 ? 1
                 : 0;
  });
  return exits == 1;
}

}  // namespace

Result<Cover> GreedySearch(const CoverProblem& problem, const SearchOptions& options) {
  Cover cover;
  IndexSet covered = problem.flow.EmptySet();
  bool many_exits = false;
  for (const std::string& target : TargetsInOrder(problem, options.priority)) {
    std::vector<std::uint32_t> offers;
    for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
      if (problem.candidates[i].target == target && Usable(problem, i, UnknownCosts::kByBound)) {
        offers.push_back(i);
      }
    }
    std::stable_sort(offers.begin(), offers.end(), [&](std::uint32_t a, std::uint32_t b) {
      return problem.candidates[a].nodes.Count() > problem.candidates[b].nodes.Count();
    });
    for (const std::uint32_t i : offers) {
      const IndexSet& nodes = problem.candidates[i].nodes;
      ++cover.statistics.transitions;
      if (nodes.Intersects(covered)) continue;
      cover.chosen.push_back(i);
      const bool one_exit = HasOneExit(problem.flow, nodes);
      if ((many_exits || !one_exit) && !FindCycle(problem, cover.chosen).empty()) {
        cover.chosen.pop_back();
        continue;
      }
      many_exits = many_exits || !one_exit;
      covered |= nodes;
    }
  }
  const std::size_t left = covered.FirstOutside();
  if (left < problem.flow.size()) {
    return Failure{FailureKind::kUnsupported, "taking the largest regions first leaves node '" +
                                                  problem.flow.node(left).name +
                                                  "' without a candidate"};
  }
  cover.statistics.solves = 1;
  return cover;
}

}  // namespace msc::detail
