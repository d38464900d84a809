#include "compiler/partition/search/cycle.h"

#include <algorithm>
#include <map>

namespace msc::detail {
namespace {

/// Owner of nodes that no chosen candidate contains.
constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

/// A dependency between two regions, from a node of one to a node of the other.
struct Edge {
  std::size_t to = 0;  ///< the region that reads
  /// Node of the region that is read.
  FlowIndex leaves = 0;
  /// Node of `to`.
  FlowIndex enters = 0;
};

/// Returns whether a path from `from` to `to` stays within `nodes`.
bool ReachesWithin(const DataflowGraph& flow, const IndexSet& nodes, FlowIndex from, FlowIndex to) {
  IndexSet reached = flow.EmptySet();
  reached.Insert(from);
  // Indices rise along paths, so one sweep in order finds all that `from` reaches.
  for (std::size_t i = nodes.Next(from); i <= to; i = nodes.Next(i + 1)) {
    const std::vector<FlowIndex>& producers = flow.producers(i);
    if (std::any_of(producers.begin(), producers.end(), [&](FlowIndex producer) {
          return nodes.Contains(producer) && reached.Contains(producer);
        })) {
      reached.Insert(i);
    }
  }
  return reached.Contains(to);
}

/// The graph of the chosen regions and the dependencies between them.
class Quotient {
 public:
  Quotient(const CoverProblem& problem, std::span<const std::uint32_t> chosen)
      : problem_(problem), chosen_(chosen), edges_(chosen.size()), waits_(chosen.size(), 0) {
    const DataflowGraph& flow = problem.flow;
    std::vector<std::size_t> owner(flow.size(), kNobody);
    for (std::size_t region = 0; region < chosen.size(); ++region) {
      problem.candidates[chosen[region]].nodes.ForEach(
          [&](std::size_t node) { owner[node] = region; });
    }
    for (FlowIndex node = 0; node < flow.size(); ++node) {
      for (const FlowIndex producer : flow.producers(node)) {
        const std::size_t from = owner[producer];
        const std::size_t to = owner[node];
        if (from == to || from == kNobody || to == kNobody) continue;
        edges_[from].push_back({to, producer, node});
        ++waits_[to];
      }
    }
  }

  /// Returns the regions that are on a cycle or wait for one; empty if all can run.
  [[nodiscard]] std::vector<std::size_t> Stuck() {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const std::size_t region = ready.back();
      ready.pop_back();
      for (const Edge& edge : edges_[region]) {
        if (--waits_[edge.to] == 0) ready.push_back(edge.to);
      }
    }
    std::vector<std::size_t> stuck;
    for (std::size_t i = 0; i < waits_.size(); ++i) {
      if (waits_[i] > 0) stuck.push_back(i);
    }
    return stuck;
  }

  /// Returns the edges of a shortest cycle through `start`; empty if there is none.
  [[nodiscard]] std::vector<Edge> CycleThrough(std::size_t start) const {
    std::map<std::size_t, std::pair<std::size_t, Edge>> came;  // region -> previous region and edge
    std::vector<std::size_t> queue = {start};
    // Breadth first, so the first way back to `start` is a shortest one.
    for (std::size_t head = 0; head < queue.size() && !came.contains(start); ++head) {
      for (const Edge& edge : edges_[queue[head]]) {
        if (came.emplace(edge.to, std::pair(queue[head], edge)).second) queue.push_back(edge.to);
      }
    }
    std::vector<Edge> cycle;
    if (!came.contains(start)) return cycle;
    std::size_t at = start;
    do {
      const auto& [from, edge] = came.at(at);
      cycle.push_back(edge);
      at = from;
    } while (at != start);
    std::reverse(cycle.begin(), cycle.end());
    return cycle;
  }

  /// Returns the members of a cycle without those that FindCycle leaves out.
  [[nodiscard]] std::vector<std::uint32_t> Members(const std::vector<Edge>& cycle) const {
    std::vector<std::uint32_t> members;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const Edge& in = cycle[i];
      const Edge& out = cycle[(i + 1) % cycle.size()];
      const std::uint32_t candidate = chosen_[in.to];
      if (!ReachesWithin(problem_.flow, problem_.candidates[candidate].nodes, in.enters,
                         out.leaves)) {
        members.push_back(candidate);
      }
    }
    return members;
  }

 private:
  const CoverProblem& problem_;
  std::span<const std::uint32_t> chosen_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::size_t> waits_;
};

}  // namespace

std::vector<std::uint32_t> FindCycle(const CoverProblem& problem,
                                     std::span<const std::uint32_t> chosen) {
  Quotient quotient(problem, chosen);
  // The shorter the cycle, the more covers its cut excludes. No cycle has fewer than two regions.
  std::vector<Edge> shortest;
  for (const std::size_t region : quotient.Stuck()) {
    std::vector<Edge> cycle = quotient.CycleThrough(region);
    if (!cycle.empty() && (shortest.empty() || cycle.size() < shortest.size())) {
      shortest = std::move(cycle);
    }
    if (shortest.size() == 2) break;
  }
  if (shortest.empty()) return {};
  return quotient.Members(shortest);
}

}  // namespace msc::detail
