#include "agents/gp/reference_point.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "compiler/base/error.h"

namespace msc::agents {

namespace {

/// In benchmarks/agents/made_up, lower values lose useful answers and higher ones gain less.
constexpr double kExpectedBelow = 0.95;

double Quantile(std::vector<double>& values, double share) {
  const auto place =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace

std::vector<double> ReferencePoint(std::span<const std::vector<double>> front,
                                   std::span<const double> worst,
                                   std::vector<std::vector<double>> expected) {
  Check(expected.size() == worst.size(), "values of each objective");
  std::vector<double> reference;
  for (std::size_t k = 0; k < worst.size(); ++k) {
    Check(!expected[k].empty(), "values of some assignments");
    double least = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& point : front) least = std::min(least, point[k]);
    const double bound = Quantile(expected[k], kExpectedBelow);
    reference.push_back(bound > least ? bound : worst[k]);
  }
  return reference;
}

}  // namespace msc::agents
