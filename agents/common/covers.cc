#include "agents/common/covers.h"

#include <algorithm>
#include <utility>

namespace msc::agents {

using gym::CoverPoint;
using gym::TrialResult;

namespace {

/// Predicted objective of a cover: factor * cost + price * boundaries, both coefficients >= 0.
struct Fit {
  double factor = 1;
  double price = 0;
  [[nodiscard]] double Expect(const CoverPoint& point) const {
    return factor * point.cost + price * point.boundaries;
  }
};

/// Fits the coefficients by least squares to the covers with full results; returns the default with
/// fewer than two.
Fit FitPrice(const std::vector<CoverPoint>& front, const History& history) {
  double cc = 0;
  double cb = 0;
  double bb = 0;
  double cy = 0;
  double by = 0;
  int count = 0;
  for (const CoverPoint& point : front) {
    const TrialResult* told = history.Find(point.assignment);
    if (told == nullptr || !told->Complete()) continue;
    const double y = told->objectives.front();
    cc += point.cost * point.cost;
    cb += point.cost * point.boundaries;
    bb += point.boundaries * point.boundaries;
    cy += point.cost * y;
    by += point.boundaries * y;
    ++count;
  }
  if (count < 2 || cc == 0) return {};
  const Fit sums{.factor = std::max(0.0, cy / cc), .price = 0};
  const double determinant = cc * bb - cb * cb;
  // The determinant is cc * bb times the squared sine of the angle between the two columns.
  // Cost and boundaries are nearly proportional: they cannot be told apart.
  if (determinant <= 1e-9 * cc * bb) return sums;
  const Fit both{.factor = (cy * bb - by * cb) / determinant,
                 .price = (by * cc - cy * cb) / determinant};
  // Non-negative least squares: a negative coefficient is replaced by 0.
  if (both.price < 0) return sums;
  return both.factor < 0 ? Fit{.factor = 0, .price = by / bb} : both;
}

}  // namespace

std::vector<gym::Assignment> CoversInOrder(const gym::AgentSetup& setup, const History& history) {
  std::vector<CoverPoint> front = setup.prior.cover_front;
  const Fit fit = FitPrice(front, history);
  std::stable_sort(front.begin(), front.end(), [&](const CoverPoint& a, const CoverPoint& b) {
    return fit.Expect(a) < fit.Expect(b);
  });
  std::vector<gym::Assignment> covers;
  covers.reserve(front.size());
  for (CoverPoint& point : front) covers.push_back(std::move(point.assignment));
  return covers;
}

}  // namespace msc::agents
