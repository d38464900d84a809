#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "compiler/partition/search/baselines.h"
#include "compiler/partition/search/table.h"

namespace msc {
namespace {

using Indices = std::vector<std::uint32_t>;

class Pruner {
 public:
  explicit Pruner(const CoverProblem& problem) : problem_(problem) {}

  /// Returns the candidates of `pool` that no other candidate of the same target contains.
  [[nodiscard]] Indices Maximal(const Indices& pool) const {
    const std::vector<Indices> around = Around(pool);
    Indices maximal;
    for (const std::uint32_t i : pool) {
      const CandidateRegion& small = At(i);
      const Indices& rivals = around[small.nodes.First()];
      const bool contained = std::any_of(rivals.begin(), rivals.end(), [&](std::uint32_t j) {
        const CandidateRegion& large = At(j);
        if (i == j || large.target != small.target || !small.nodes.SubsetOf(large.nodes)) {
          return false;
        }
        return small.nodes != large.nodes || j < i;
      });
      if (!contained) maximal.push_back(i);
    }
    return maximal;
  }

  /// Returns the members of `kept` that share nodes with another member of different nodes.
  [[nodiscard]] std::set<std::uint32_t> Overlapping(const std::set<std::uint32_t>& kept) const {
    const std::vector<Indices> around = Around(Indices(kept.begin(), kept.end()));
    std::set<std::uint32_t> overlapping;
    for (const Indices& rivals : around) {
      for (const std::uint32_t i : rivals) {
        for (const std::uint32_t j : rivals) {
          if (At(i).nodes != At(j).nodes) overlapping.insert({i, j});
        }
      }
    }
    return overlapping;
  }

 private:
  [[nodiscard]] const CandidateRegion& At(std::uint32_t i) const { return problem_.candidates[i]; }
  [[nodiscard]] std::vector<Indices> Around(const Indices& pool) const {
    std::vector<Indices> around(problem_.flow.size());
    for (const std::uint32_t i : pool) {
      At(i).nodes.ForEach([&](std::size_t node) { around[node].push_back(i); });
    }
    return around;
  }

  const CoverProblem& problem_;
};

/// Cheapest known way to a set of covered nodes: its cost, the set before, and the last candidate.
struct Reached {
  Picoseconds cost = 0;
  const IndexSet* from = nullptr;
  std::uint32_t candidate = 0;
};

}  // namespace

std::vector<std::uint32_t> PruneAsCollage(const CoverProblem& problem) {
  const Pruner pruner(problem);
  Indices pool;
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) pool.push_back(i);
  std::set<std::uint32_t> kept;
  while (true) {
    const std::size_t before = kept.size();
    for (const std::uint32_t i : pruner.Maximal(pool)) kept.insert(i);
    if (kept.size() == before) break;
    const std::set<std::uint32_t> overlapping = pruner.Overlapping(kept);
    std::erase_if(pool, [&](std::uint32_t i) { return overlapping.contains(i); });
  }
  return {kept.begin(), kept.end()};
}

Result<CollagePath> SearchAsCollage(const CoverProblem& problem,
                                    const std::vector<std::uint32_t>& candidates) {
  std::vector<Indices> starting(problem.flow.size());
  for (const std::uint32_t i : candidates) {
    const CandidateRegion& candidate = problem.candidates[i];
    if (candidate.cost.known()) starting[candidate.nodes.First()].push_back(i);
  }
  for (Indices& list : starting) {
    std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      return problem.candidates[a].nodes < problem.candidates[b].nodes;
    });
  }
  CollagePath path;
  std::unordered_map<IndexSet, Reached, IndexSetHash> reached;  // addresses of keys are stable
  std::set<std::pair<Picoseconds, IndexSet>> queue;
  const auto start = reached.emplace(problem.flow.EmptySet(), Reached{}).first;
  queue.emplace(0, start->first);
  // Costs are not negative, so the first complete set at the head of the queue is reached at the
  // least cost (Dijkstra).
  while (!queue.empty()) {
    const auto [cost, covered] = *queue.begin();
    queue.erase(queue.begin());
    ++path.states;
    const auto here = reached.find(covered);
    const std::size_t next = covered.FirstOutside();
    if (next == problem.flow.size()) {
      path.micros = ToMicros(cost);
      for (const Reached* at = &here->second; at->from != nullptr;
           at = &reached.find(*at->from)->second) {
        path.chosen.push_back(at->candidate);
      }
      std::reverse(path.chosen.begin(), path.chosen.end());
      return path;
    }
    bool moved = false;
    // All nodes before `next` are covered, so any candidate that covers it begins there.
    for (const std::uint32_t i : starting[next]) {
      ++path.transitions;
      const CandidateRegion& candidate = problem.candidates[i];
      if (!candidate.nodes.Disjoint(covered)) continue;
      moved = true;
      const Picoseconds sum = cost + ToPicoseconds(candidate.cost.micros());
      const auto [it, added] =
          reached.emplace(covered | candidate.nodes, Reached{sum, &here->first, i});
      if (!added) {
        if (it->second.cost <= sum) continue;
        queue.erase({it->second.cost, it->first});
        it->second = {sum, &here->first, i};
      }
      queue.emplace(sum, it->first);
    }
    if (!moved) {
      return Failure{FailureKind::kUnsupported, "the search is stuck: no candidate covers node '" +
                                                    problem.flow.node(next).name + "'"};
    }
  }
  return Failure{FailureKind::kUnsupported, "no path covers every node"};
}

namespace detail {

Result<Cover> CollageSearch(const CoverProblem& problem, const SearchOptions& /*options*/) {
  std::vector<std::uint32_t> pool = PruneAsCollage(problem);
  std::erase_if(pool,
                [&](std::uint32_t i) { return !Usable(problem, i, UnknownCosts::kLeaveOut); });
  Result<CollagePath> path = SearchAsCollage(problem, pool);
  if (!path.ok()) return path.failure();
  Cover cover;
  cover.chosen = std::move(path.value().chosen);
  cover.statistics = {
      .states = path.value().states, .transitions = path.value().transitions, .solves = 1};
  return cover;
}

}  // namespace detail

}  // namespace msc
