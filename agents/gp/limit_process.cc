#include "agents/gp/limit_process.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "agents/common/additive.h"
#include "agents/gp/improvement.h"

namespace msc::agents {

using gym::Assignment;

namespace {

constexpr std::array<double, 3> kScales = {0.1, 1, 4};
/// Processes whose log likelihood is this much below the best one, with weights below 0.1 % of its
/// weight, are dropped.
constexpr double kLeastLogWeight = -7;

/// Returns log(exp(a) + exp(b)) without overflow or underflow.
double LogOfSum(double a, double b) {
  const double most = std::max(a, b);
  if (!std::isfinite(most)) return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most));
}

}  // namespace

LimitProcess::LimitProcess(std::span<const gym::Decision> decisions,
                           std::span<const Assignment* const> at, std::span<const double> excesses,
                           std::span<const double> relevance, const gym::AdditiveCost* expected) {
  if (expected != nullptr) expected_ = *expected;
  double most = -std::numeric_limits<double>::infinity();
  for (const double scale : kScales) {
    std::vector<double> values;
    // Likelihoods of differently transformed values are comparable only with the Jacobian.
    double jacobian = 0;  // log of the derivative of asinh(scale * x), summed over the excesses
    for (std::size_t i = 0; i < excesses.size(); ++i) {
      const double excess = excesses[i];
      values.push_back(std::asinh(scale * excess) - std::asinh(scale * ExpectedAt(*at[i])));
      jacobian += std::log(scale) - std::log(std::hypot(1, scale * excess));
    }
    GaussianProcess process(decisions, at, values, relevance);
    const double likelihood = process.log_likelihood() + jacobian;
    most = std::max(most, likelihood);
    parts_.push_back({scale, likelihood, std::move(process)});
  }
  double sum = -std::numeric_limits<double>::infinity();
  std::erase_if(parts_, [&](const Part& part) { return part.log_weight < most + kLeastLogWeight; });
  for (const Part& part : parts_) sum = LogOfSum(sum, part.log_weight);
  for (Part& part : parts_) part.log_weight -= sum;
}

double LimitProcess::ExpectedAt(const Assignment& point) const {
  return expected_ ? ValueOf(*expected_, point) : 0;
}

void LimitProcess::Believe(const Assignment& assignment) {
  for (Part& part : parts_) part.process.Believe(assignment);
}

std::vector<double> LimitProcess::LogChances(std::span<const Assignment* const> points) const {
  std::vector<double> chances(points.size(), -std::numeric_limits<double>::infinity());
  for (const Part& part : parts_) {
    const std::vector<Prediction> predictions = part.process.Predict(points);
    // asinh is increasing and keeps 0, so the excess is at most 0 if and only if its asinh is.
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double mean = predictions[i].mean + std::asinh(part.scale * ExpectedAt(*points[i]));
      const double own = LogNormalProbability(-mean / predictions[i].deviation) + part.log_weight;
      chances[i] = LogOfSum(chances[i], own);
    }
  }
  return chances;
}

}  // namespace msc::agents
