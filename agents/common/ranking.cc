#include "agents/common/ranking.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "gym/core/pareto.h"

namespace msc::agents {

using gym::TrialResult;

namespace {

/// Returns 0 for full results, 1 for rough ones, 2 for none.
int Lack(const TrialResult& told) {
  return told.failed ? 2 : told.rough ? 1 : 0;
}

}  // namespace

bool IsBetterTrial(const TrialResult& a, const TrialResult& b) {
  if (Lack(a) != Lack(b)) return Lack(a) < Lack(b);
  if (a.violation != b.violation) return a.violation < b.violation;
  return a.objectives < b.objectives;
}

bool ConstrainedDominates(const TrialResult& a, const TrialResult& b) {
  // Failed trials have no objectives to compare, so neither of two dominates the other.
  if (Lack(a) != Lack(b) || a.failed) return Lack(a) < Lack(b);
  if (a.violation > 0 || b.violation > 0) return a.violation < b.violation;
  return gym::Dominates(a.objectives, b.objectives);
}

std::vector<std::uint32_t> FrontNumbers(std::span<const TrialResult* const> trials) {
  // This is the fast non-dominated sort of Deb et al., 2002, section III-A.
  const std::size_t n = trials.size();
  std::vector<std::uint32_t> fronts(n, 0);
  std::vector<std::size_t> beaten_by(n, 0);
  std::vector<std::vector<std::size_t>> beats(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      if (ConstrainedDominates(*trials[i], *trials[j])) {
        beats[i].push_back(j);
        ++beaten_by[j];
      } else if (ConstrainedDominates(*trials[j], *trials[i])) {
        beats[j].push_back(i);
        ++beaten_by[i];
      }
    }
  }
  std::vector<std::size_t> now;
  for (std::size_t i = 0; i < n; ++i) {
    if (beaten_by[i] == 0) now.push_back(i);
  }
  for (std::uint32_t front = 0; !now.empty(); ++front) {
    std::vector<std::size_t> next;
    for (const std::size_t i : now) {
      fronts[i] = front;
      for (const std::size_t j : beats[i]) {
        if (--beaten_by[j] == 0) next.push_back(j);
      }
    }
    now = std::move(next);
  }
  return fronts;
}

std::vector<double> CrowdingDistances(std::span<const std::vector<double>> points) {
  std::vector<double> distances(points.size(), 0);
  if (points.empty()) return distances;
  std::vector<std::size_t> order(points.size());
  for (std::size_t k = 0; k < points[0].size(); ++k) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return points[a][k] < points[b][k]; });
    distances[order.front()] = std::numeric_limits<double>::infinity();
    distances[order.back()] = std::numeric_limits<double>::infinity();
    const double range = points[order.back()][k] - points[order.front()][k];
    // An objective that is equal for all members tells none apart, and would divide by 0.
    if (range <= 0) continue;
    for (std::size_t i = 1; i + 1 < order.size(); ++i) {
      distances[order[i]] += (points[order[i + 1]][k] - points[order[i - 1]][k]) / range;
    }
  }
  return distances;
}

std::vector<std::size_t> SurvivalOrder(std::span<const TrialResult* const> trials) {
  const std::vector<std::uint32_t> fronts = FrontNumbers(trials);
  std::vector<double> crowding(trials.size(), 0);
  const std::uint32_t last = fronts.empty() ? 0 : *std::max_element(fronts.begin(), fronts.end());
  for (std::uint32_t front = 0; front <= last; ++front) {
    std::vector<std::size_t> members;
    std::vector<std::vector<double>> points;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      // Failed trials have no objectives; their crowding distance of 0 puts them last in their
      // front.
      if (fronts[i] != front || trials[i]->failed) continue;
      members.push_back(i);
      points.push_back(trials[i]->objectives);
    }
    const std::vector<double> distances = CrowdingDistances(points);
    for (std::size_t m = 0; m < members.size(); ++m) crowding[members[m]] = distances[m];
  }
  std::vector<std::size_t> order(trials.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return fronts[a] != fronts[b] ? fronts[a] < fronts[b] : crowding[a] > crowding[b];
  });
  return order;
}

std::size_t FrontSize(std::span<const TrialResult* const> survivors) {
  // In survival order the front is a prefix; a later trial is dominated by one of its members.
  const auto beaten =
      std::find_if(survivors.begin(), survivors.end(), [&](const TrialResult* const& trial) {
        return std::any_of(survivors.data(), &trial, [&](const TrialResult* before) {
          return ConstrainedDominates(*before, *trial);
        });
      });
  return static_cast<std::size_t>(beaten - survivors.begin());
}

}  // namespace msc::agents
