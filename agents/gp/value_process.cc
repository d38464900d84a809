#include "agents/gp/value_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace msc::agents {

using gym::Assignment;

namespace {

/// Distance of the floor below the least value, relative to that of the median above it. With a
/// smaller distance the least value would be an outlier among logarithms; otherwise the value
/// matters little, and a choice of several floors gained nothing on made-up problems.
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
  // Values that differ only by rounding have no shape to fit.
  if (spread <= 1e-9 * (1 + std::abs(sorted.front()))) return;
  const double floor = sorted.front() - kFloor * spread;
  std::vector<double> logarithms;
  double jacobian = 0;  // log of the derivative of log(x - floor), summed over the values
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
