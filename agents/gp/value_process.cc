#include "agents/gp/value_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "agents/common/additive.h"
#include "compiler/base/error.h"

namespace msc::agents {

using gym::Assignment;

namespace {

/// Distance of the floor below the least value, relative to that of the median above it. With a
/// smaller distance the least value would be an outlier among logarithms; otherwise the value
/// matters little, and a choice of several floors gained nothing on made-up problems.
constexpr double kFloor = 0.3;

using Process = std::variant<GaussianProcess, MixedProcess>;

Process MakeProcess(Shape shape, std::span<const gym::Decision> decisions,
                    std::span<const Assignment* const> at, std::span<const double> values,
                    std::span<const double> relevance) {
  if (shape == Shape::kMixed) return MixedProcess(decisions, at, values, relevance);
  return GaussianProcess(decisions, at, values, relevance);
}

double LogLikelihood(const Process& process) {
  return std::visit([](const auto& own) { return own.log_likelihood(); }, process);
}

/// Returns the floors whose distances may be modelled by their logarithms.
std::vector<double> FloorsOf(Shape shape, std::span<const double> values) {
  std::vector<double> floors;
  if (shape == Shape::kAsTheyAre) return floors;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double least = sorted.front();
  const double spread = sorted[sorted.size() / 2] - least;
  // Values that differ only by rounding have no shape to fit.
  if (spread <= 1e-9 * (1 + std::abs(least))) return floors;
  if (shape == Shape::kMixed && least > 0) floors.push_back(0);
  floors.push_back(least - kFloor * spread);
  return floors;
}

std::vector<double> WithoutExpected(const gym::AdditiveCost* expected,
                                    std::span<const Assignment* const> at,
                                    std::span<const double> values) {
  std::vector<double> rest(values.begin(), values.end());
  if (expected == nullptr) return rest;
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= ValueOf(*expected, *at[i]);
  return rest;
}

}  // namespace

ValueProcess::ValueProcess(Shape shape, std::span<const gym::Decision> decisions,
                           std::span<const Assignment* const> at, std::span<const double> values,
                           std::span<const double> relevance, const gym::AdditiveCost* expected)
    : expected_(expected == nullptr ? std::nullopt : std::optional(*expected)),
      process_(MakeProcess(shape, decisions, at, WithoutExpected(expected, at, values), relevance)),
      floor_(-std::numeric_limits<double>::infinity()) {
  Check(expected == nullptr || shape == Shape::kAsTheyAre, "sums are expected of plain values");
  double most = LogLikelihood(process_);
  for (const double floor : FloorsOf(shape, values)) {
    std::vector<double> logarithms;
    double jacobian = 0;  // log of the derivative of log(x - floor), summed over the values
    for (const double value : values) {
      logarithms.push_back(std::log(value - floor));
      jacobian -= logarithms.back();
    }
    Process process = MakeProcess(shape, decisions, at, logarithms, relevance);
    const double likelihood = LogLikelihood(process) + jacobian;
    if (likelihood <= most) continue;
    most = likelihood;
    process_ = std::move(process);
    floor_ = floor;
  }
}

void ValueProcess::Believe(const Assignment& assignment) {
  std::visit([&](auto& own) { own.Believe(assignment); }, process_);
}

std::vector<Prediction> ValueProcess::Predict(std::span<const Assignment* const> points) const {
  std::vector<Prediction> predictions =
      std::visit([&](const auto& own) { return own.Predict(points); }, process_);
  for (std::size_t i = 0; i < points.size(); ++i) {
    predictions[i].floor = floor_;
    if (expected_) predictions[i].mean += ValueOf(*expected_, *points[i]);
  }
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
