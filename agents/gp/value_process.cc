#include "agents/gp/value_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace msc::agents {

using gym::Assignment;

namespace {

/// How far the floor is below the least value, relative to how far the median is above it. Nearer,
/// the least value would be an outlier among logarithms; by how much matters little, and more
/// floors to choose from gained nothing on made-up problems.
constexpr double kFloor = 0.3;

}  // namespace

ValueProcess::ValueProcess(Shape shape, std::span<const gym::Decision> decisions,
                           std::span<const Assignment* const> at, std::span<const double> values,
                           std::span<const double> relevance)
    : process_(decisions, at, values, relevance), floor_(-std::numeric_limits<double>::infinity()) {
  if (shape == Shape::kAsTheyAre) return;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double spread = sorted[sorted.size() / 2] - sorted.front();
  // What differs by rounding only has no shape.
  if (spread <= 1e-9 * (1 + std::abs(sorted.front()))) return;
  const double floor = sorted.front() - kFloor * spread;
  std::vector<double> logarithms;
  double jacobian = 0;  // its logarithm
  for (const double value : values) {
    logarithms.push_back(std::log(value - floor));
    jacobian -= logarithms.back();
  }
  GaussianProcess process(decisions, at, logarithms, relevance);
  if (process.log_likelihood() + jacobian <= process_.log_likelihood()) return;
  process_ = std::move(process);
  floor_ = floor;
}

std::vector<Prediction> ValueProcess::Predict(std::span<const Assignment* const> points) const {
  std::vector<Prediction> predictions = process_.Predict(points);
  for (Prediction& prediction : predictions) prediction.floor = floor_;
  return predictions;
}

double ValueProcess::Median(const Assignment& at) const {
  const Assignment* const point = &at;
  return agents::Median(Predict({&point, 1})[0]);
}

bool ValueProcess::is_of_logarithms() const noexcept {
  return std::isfinite(floor_);
}

}  // namespace msc::agents
