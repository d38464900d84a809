#include "gym/core/pareto.h"

#include <algorithm>
#include <numeric>

#include "compiler/base/error.h"

namespace msc::gym {

bool Dominates(std::span<const double> a, std::span<const double> b) {
  Check(a.size() == b.size(), "points have as many values as there are objectives");
  bool smaller = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
    smaller = smaller || a[i] < b[i];
  }
  return smaller;
}

std::vector<std::size_t> ParetoFront(std::span<const std::vector<double>> points) {
  // In lexicographic order no point is dominated by a later one, so comparing with the front found
  // so far is enough; equal points stand side by side, the first of them first.
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    const bool beaten = std::any_of(front.rbegin(), front.rend(), [&](std::size_t j) {
      return points[j] == points[i] || Dominates(points[j], points[i]);
    });
    if (!beaten) front.push_back(i);
  }
  std::sort(front.begin(), front.end());
  return front;
}

}  // namespace msc::gym
