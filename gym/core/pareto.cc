#include "gym/core/pareto.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

/// Returns the points that are below `reference` in every coordinate.
std::vector<std::vector<double>> Below(std::span<const std::vector<double>> points,
                                       std::span<const double> reference) {
  std::vector<std::vector<double>> below;
  for (const std::vector<double>& point : points) {
    Check(point.size() == reference.size(), "points have as many values as the reference");
    if (std::equal(point.begin(), point.end(), reference.begin(), std::less<>{})) {
      below.push_back(point);
    }
  }
  return below;
}

/// Returns the hypervolume of points that are all below the reference.
double Volume(std::vector<std::vector<double>> points, std::span<const double> reference) {
  if (points.empty()) return 0;
  const std::size_t last = reference.size() - 1;
  std::sort(points.begin(), points.end(),
            [&](const auto& a, const auto& b) { return a[last] < b[last]; });
  if (last == 0) return reference[0] - points[0][0];
  if (last == 1) {
    // In the order of the second value, each point adds the strip between its first value and the
    // least one so far. Dominated points add nothing.
    double volume = 0;
    double width = reference[0];
    for (const auto& point : points) {
      if (point[0] >= width) continue;
      volume += (width - point[0]) * (reference[1] - point[1]);
      width = point[0];
    }
    return volume;
  }
  // Slices along the last objective: between two successive values, the points up to the lower one
  // dominate.
  double volume = 0;
  std::vector<std::vector<double>> slice;
  for (std::size_t i = 0; i < points.size(); ++i) {
    slice.emplace_back(points[i].begin(), points[i].end() - 1);
    const double top = i + 1 < points.size() ? points[i + 1][last] : reference[last];
    if (top > points[i][last]) {
      volume += (top - points[i][last]) * Volume(slice, reference.first(last));
    }
  }
  return volume;
}

}  // namespace

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
  // In lexicographic order no point is dominated by a later one, so each is compared only with the
  // front so far. The stable sort keeps equal points adjacent, the first of them first.
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

double Hypervolume(std::span<const std::vector<double>> points, std::span<const double> reference) {
  Check(!reference.empty(), "a hypervolume has a reference point");
  return Volume(Below(points, reference), reference);
}

std::vector<double> HypervolumeContributions(std::span<const std::vector<double>> points,
                                             std::span<const double> reference) {
  const double whole = Hypervolume(points, reference);
  std::vector<double> contributions;
  // The contribution of a point is what its removal loses; of two equal points neither has any.
  for (std::size_t i = 0; i < points.size(); ++i) {
    std::vector<std::vector<double>> others(points.begin(), points.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    // Rounding may make the difference negative.
    contributions.push_back(std::max(whole - Hypervolume(others, reference), 0.0));
  }
  return contributions;
}

}  // namespace msc::gym
