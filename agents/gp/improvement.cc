#include "agents/gp/improvement.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "agents/common/ranking.h"
#include "compiler/base/error.h"

namespace msc::agents {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Below this many standard deviations the leading term of the asymptotic series is used. Its
/// relative error there is 1/x^2 = 1.6 % for a probability and 3/x^2 = 5 % for an improvement, so
/// at most 0.05 in the logarithm.
constexpr double kFar = -8;

double LogNormalDensity(double x) {
  return -0.5 * x * x - 0.5 * std::log(2 * 3.14159265358979323846);
}

double NormalProbability(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

/// Returns the expected value of max(z - x, 0) for standard normal x.
double StandardImprovement(double z) {
  return z * NormalProbability(z) + std::exp(LogNormalDensity(z));
}

bool IsNormal(const Prediction& expected) {
  return !std::isfinite(expected.floor);
}

}  // namespace

double LogNormalProbability(double x) {
  return x < kFar ? LogNormalDensity(x) - std::log(-x) : std::log(NormalProbability(x));
}

double ExpectedImprovement(const Prediction& expected, double least) {
  if (least == -kInfinity) return 0;
  if (IsNormal(expected)) {
    return expected.deviation * StandardImprovement((least - expected.mean) / expected.deviation);
  }
  const double room = least - expected.floor;
  if (room <= 0) return 0;
  const double z = (std::log(room) - expected.mean) / expected.deviation;
  // Computed by its logarithm, as the mean of an uncertain value may overflow a double.
  const double above = std::exp(expected.mean + 0.5 * expected.deviation * expected.deviation +
                                LogNormalProbability(z - expected.deviation));
  // Rounding may make the difference negative.
  return std::max(room * NormalProbability(z) - above, 0.0);
}

double LogExpectedImprovement(const Prediction& expected, double least) {
  Check(IsNormal(expected), "logarithms of improvements are of normal values");
  const double z = (least - expected.mean) / expected.deviation;
  return std::log(expected.deviation) +
         (z < kFar ? LogNormalDensity(z) - 2 * std::log(-z) : std::log(StandardImprovement(z)));
}

HypervolumeGain::HypervolumeGain(std::vector<std::vector<double>> front,
                                 std::vector<double> reference) {
  Check(!reference.empty(), "a hypervolume has a reference point");
  // A member that reaches the reference in some objective dominates nothing below the reference.
  std::erase_if(front, [&](const std::vector<double>& point) {
    Check(point.size() == reference.size(), "points have as many values as the reference");
    return !std::equal(point.begin(), point.end(), reference.begin(), std::less<>{});
  });
  for (std::size_t k = 0; k < reference.size(); ++k) {
    std::vector<double>& ends = ends_.emplace_back();
    ends = {-kInfinity, reference[k]};
    for (const std::vector<double>& point : front) ends.push_back(point[k]);
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  }
  std::vector<Place> box(2 * reference.size());
  Cut(front, reference.size(), box);
}

HypervolumeGain::Place HypervolumeGain::PlaceOf(std::size_t objective, double value) const {
  const std::vector<double>& ends = ends_[objective];
  return static_cast<Place>(std::lower_bound(ends.begin(), ends.end(), value) - ends.begin());
}

void HypervolumeGain::Cut(const std::vector<std::vector<double>>& points, std::size_t objectives,
                          std::vector<Place>& box) {
  const std::size_t last = objectives - 1;
  const auto reference = static_cast<Place>(ends_[last].size() - 1);
  if (last == 0) {
    Place high = reference;
    // In one objective the points up to the least one leave a single interval, which is open below.
    for (const std::vector<double>& point : points) high = std::min(high, PlaceOf(0, point[0]));
    box[0] = 0;
    box[1] = high;
    bounds_.insert(bounds_.end(), box.begin(), box.end());
    return;
  }
  // Between two successive values of the last objective, the points up to the lower one count.
  std::vector<Place> cuts = {0, reference};
  for (const std::vector<double>& point : points) cuts.push_back(PlaceOf(last, point[last]));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::vector<std::vector<double>> slice;
    for (const std::vector<double>& point : points) {
      if (point[last] <= ends_[last][cuts[i]]) slice.push_back(point);
    }
    box[2 * last] = cuts[i];
    box[2 * last + 1] = cuts[i + 1];
    Cut(slice, last, box);
  }
}

double HypervolumeGain::Expect(std::span<const Prediction> point) const {
  Check(point.size() == ends_.size(), "a point has a prediction for each objective");
  std::vector<std::vector<double>> below(ends_.size());  // expected improvement on each end
  for (std::size_t k = 0; k < ends_.size(); ++k) {
    for (const double end : ends_[k]) below[k].push_back(ExpectedImprovement(point[k], end));
  }
  double sum = 0;
  for (auto bound = bounds_.begin(); bound != bounds_.end();) {
    double gain = 1;
    for (std::size_t k = 0; k < ends_.size(); ++k) {
      const Place low = *bound++;
      const Place high = *bound++;
      gain *= below[k][high] - below[k][low];
    }
    sum += gain;
  }
  return sum;
}

std::vector<std::vector<double>> SparseFront(std::vector<std::vector<double>> front) {
  constexpr double kMaxBoxes = 2000;
  if (front.empty() || front[0].size() < 2) return front;
  // A front of n members has up to the order of n^(m - 1) boxes for m objectives.
  const auto most =
      static_cast<std::size_t>(std::pow(kMaxBoxes, 1 / static_cast<double>(front[0].size() - 1)));
  if (front.size() <= most) return front;
  // The ends of the front have infinite distance, so they are kept first.
  const std::vector<double> distances = CrowdingDistances(front);
  std::vector<std::size_t> order(front.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distances[a] > distances[b]; });
  std::vector<std::vector<double>> kept;
  for (std::size_t i = 0; i < most; ++i) kept.push_back(std::move(front[order[i]]));
  return kept;
}

}  // namespace msc::agents
