#include "agents/gp/relevance.h"

#include <cmath>
#include <numeric>

#include "agents/common/additive.h"
#include "compiler/base/error.h"

namespace msc::agents {

namespace {

/// Returns values divided by their sum, or equal shares if the sum is 0 or not finite.
std::vector<double> Shares(std::span<const double> values) {
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<double> shares(values.size(), 1 / static_cast<double>(values.size()));
  if (!(total > 0) || !std::isfinite(total)) return shares;
  for (std::size_t i = 0; i < values.size(); ++i) shares[i] = values[i] / total;
  return shares;
}

std::vector<double> Mixed(std::span<const double> a, std::span<const double> b, double share_of_a) {
  std::vector<double> mixed;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mixed.push_back(share_of_a * a[i] + (1 - share_of_a) * b[i]);
  }
  return mixed;
}

}  // namespace

std::vector<std::vector<double>> ExpectedRelevance(const gym::AgentSetup& setup) {
  constexpr double kTrust = 0.5;
  const std::vector<double> none(setup.decisions.size(), 0.0);
  const std::vector<double>& known = setup.prior.relevance.empty() ? none : setup.prior.relevance;
  std::vector<std::vector<double>> expected;
  for (std::size_t k = 0; k < setup.objectives + setup.constraints; ++k) {
    const std::vector<double> ranges =
        setup.estimates.empty() ? none : RangesOf(setup.estimates.at(k));
    const bool estimated = std::accumulate(ranges.begin(), ranges.end(), 0.0) > 0;
    expected.push_back(Mixed(Shares(estimated ? ranges : known), Shares(none), kTrust));
  }
  return expected;
}

std::vector<double> UpdatedRelevance(std::span<const gym::Decision> decisions,
                                     std::span<const double> expected,
                                     std::span<const double> fitted, std::size_t seen) {
  Check(expected.size() == decisions.size() && fitted.size() == decisions.size(),
        "each decision has a relevance");
  // Each decision keeps part of its expected relevance: an effect of 0 so far may be chance.
  constexpr double kMostTrust = 0.8;
  double effects = 0;
  for (const gym::Decision& decision : decisions) {
    effects += static_cast<double>(decision.choices.size() - 1);
  }
  const auto results = static_cast<double>(seen);
  // Results are trusted half of the most once there are as many as unknown effects.
  const double trust = results > 0 ? kMostTrust * results / (results + effects) : 0;
  return Mixed(Shares(fitted), Shares(expected), trust);
}

}  // namespace msc::agents
