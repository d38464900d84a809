#include "cost/partition/boundary.h"

#include <algorithm>

namespace msc::cost {
namespace {

/// Returns BoundaryCost::scale.
double ScaleOf(const std::vector<TimedPartition>& plans) {
  constexpr double kMost = 1.25;
  const TimedPartition* fastest = nullptr;
  for (const TimedPartition& plan : plans) {
    if (!plan.chosen.empty() || !plan.measured_micros || !plan.predicted_micros) continue;
    if (fastest == nullptr || *plan.measured_micros < *fastest->measured_micros) fastest = &plan;
  }
  if (fastest == nullptr || *fastest->predicted_micros <= 0) return 1;
  return std::clamp(*fastest->measured_micros / *fastest->predicted_micros, 1 / kMost, kMost);
}

double BytesHandedOver(const CoverProblem& problem, const std::vector<std::uint32_t>& chosen) {
  double bytes = 0;
  for (const std::uint32_t i : chosen) {
    for (const FlowIndex tensor : TensorsOut(problem.flow, problem.candidates[i].nodes)) {
      if (!problem.flow.tensor(tensor).leaves) {
        bytes += static_cast<double>(problem.flow.tensor(tensor).bytes);
      }
    }
  }
  return bytes;
}

}  // namespace

BoundaryCost FitBoundary(const CoverProblem& problem, const std::vector<TimedPartition>& plans) {
  const double scale = ScaleOf(plans);
  // Normal equations of y = a * regions + b * bytes, with rows weighted by 1 / measured.
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double ay = 0;
  double by = 0;
  for (const TimedPartition& plan : plans) {
    if (plan.chosen.size() < 2 || !plan.measured_micros || !plan.predicted_micros) continue;
    // Relative errors count, so that slow plans do not dominate the fit.
    const double weight = 1 / *plan.measured_micros;
    const double a = weight * static_cast<double>(plan.chosen.size() - 1);
    const double b = weight * BytesHandedOver(problem, plan.chosen);
    const double y = weight * (*plan.measured_micros / scale - *plan.predicted_micros);
    aa += a * a;
    ab += a * b;
    bb += b * b;
    ay += a * y;
    by += b * y;
  }
  const auto alone = [](double xy, double xx) { return xx > 0 ? std::max(0.0, xy / xx) : 0.0; };
  const double determinant = aa * bb - ab * ab;
  // If the matrix is singular, regions and bytes cannot be told apart.
  if (determinant > 1e-9 * aa * bb) {
    const BoundaryCost both{.scale = scale,
                            .micros_per_region = (ay * bb - by * ab) / determinant,
                            .micros_per_byte = (by * aa - ay * ab) / determinant};
    if (both.micros_per_region >= 0 && both.micros_per_byte >= 0) return both;
  }
  // At least one factor is 0. Keep the one that reduces the squared error more.
  const BoundaryCost regions{
      .scale = scale, .micros_per_region = alone(ay, aa), .micros_per_byte = 0};
  const BoundaryCost bytes{
      .scale = scale, .micros_per_region = 0, .micros_per_byte = alone(by, bb)};
  // A factor alone reduces the squared error by the factor times its product with y.
  return regions.micros_per_region * ay >= bytes.micros_per_byte * by ? regions : bytes;
}

CoverProblem WithBoundaries(const CoverProblem& problem, const BoundaryCost& boundary) {
  CoverProblem priced = problem;
  for (CandidateRegion& candidate : priced.candidates) {
    if (candidate.cost.invalid()) continue;
    double bytes = 0;
    // Outputs of the model leave a region in every cover, so they raise all covers alike.
    for (const FlowIndex tensor : TensorsOut(problem.flow, candidate.nodes)) {
      bytes += static_cast<double>(problem.flow.tensor(tensor).bytes);
    }
    const double price = boundary.micros_per_region + boundary.micros_per_byte * bytes;
    const double micros = std::min(candidate.cost.at_least() + price, Cost::kMaxMicros);
    candidate.cost = candidate.cost.known() ? Cost::Micros(micros) : Cost::Unknown(micros);
  }
  return priced;
}

}  // namespace msc::cost
