#include "cost/partition/forecast.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/base/error.h"
#include "compiler/base/ranks.h"
#include "cost/partition/propose.h"

namespace msc::cost {
namespace {

/// Number of regions that the model's own mean and spread weigh as much as.
constexpr double kPriorRegions = 3;
/// Bound on the logarithms: a larger deviation comes from a disturbed machine.
constexpr double kMostOff = 2;
// A cost of 0 has no logarithm.
constexpr double kLeastMicros = 1e-3;

}  // namespace

Forecast::Forecast(const CoverProblem& problem, RegionCosts& costs,
                   std::span<const std::uint32_t> alike)
    : alike_(alike.begin(), alike.end()) {
  Check(costs.model() != nullptr, "costs have learned before they predict");
  Check(alike.size() == problem.candidates.size(), "every candidate has a number");
  for (const CandidateRegion& candidate : problem.candidates) {
    std::optional<One>& one = forecasts_.emplace_back();
    const auto predicted = costs.Predict({NodeNames(problem, candidate), candidate.target});
    if (!predicted) continue;
    const auto is_layer = [&](std::size_t node) {
      return problem.flow.node(node).kind == OpKind::kAnchor;
    };
    bool has_layer = false;
    candidate.nodes.ForEach([&](std::size_t node) { has_layer = has_layer || is_layer(node); });
    one = One{.target = candidate.target,
              .has_layer = has_layer,
              .log = std::log(std::max(predicted->micros, kLeastMicros)),
              .spread = predicted->spread};
  }
}

std::vector<std::pair<const Forecast::One*, double>> Forecast::Answers(
    const CoverProblem& problem) const {
  std::set<std::uint32_t> seen;
  std::vector<std::pair<const One*, double>> answers;
  for (std::uint32_t i = 0; i < forecasts_.size(); ++i) {
    const Cost& cost = problem.candidates.at(i).cost;
    if (!forecasts_[i] || !cost.known() || !seen.insert(alike_[i]).second) continue;
    answers.emplace_back(&*forecasts_[i],
                         std::log(std::max(cost.micros(), kLeastMicros)) - forecasts_[i]->log);
  }
  return answers;
}

void Forecast::Correct(const CoverProblem& problem) {
  std::map<std::pair<std::string, bool>, std::vector<double>> off;
  std::map<std::pair<std::string, bool>, double> spreads;
  for (const auto& [one, difference] : Answers(problem)) {
    off[{one->target, one->has_layer}].push_back(std::clamp(difference, -kMostOff, kMostOff));
    spreads[{one->target, one->has_layer}] = one->spread;
  }
  corrections_.clear();
  for (const auto& [of, differences] : off) {
    // Shrinkage: the model's own mean, 0, and its own spread count as kPriorRegions further
    // regions.
    const double count = kPriorRegions + static_cast<double>(differences.size());
    double sum = 0;
    for (const double x : differences) sum += x;
    Correction& correction = corrections_[of];
    correction.mean = sum / count;
    double squares = kPriorRegions * spreads.at(of) * spreads.at(of);
    for (const double x : differences) {
      squares += (x - correction.mean) * (x - correction.mean);
    }
    correction.spread = std::sqrt(squares / count);
  }
}

Forecast::Correction Forecast::CorrectionOf(const One& one) const {
  const auto it = corrections_.find({one.target, one.has_layer});
  return it == corrections_.end() ? Correction{.spread = one.spread} : it->second;
}

double Forecast::At(std::uint32_t candidate, double deviations) const {
  Check(Has(candidate), "there is a forecast");
  const One& one = *of(candidate);
  const Correction correction = CorrectionOf(one);
  return std::min(std::exp(one.log + correction.mean + deviations * correction.spread),
                  Cost::kMaxMicros);
}

ForecastError Forecast::ErrorOn(const CoverProblem& problem) const {
  ForecastError error;
  std::vector<double> predicted;
  std::vector<double> measured;
  std::vector<double> parts;
  for (const auto& [one, difference] : Answers(problem)) {
    predicted.push_back(one->log);
    measured.push_back(one->log + difference);
    // predicted / measured - 1.
    parts.push_back(std::abs(std::exp(-difference) - 1));
    error.error += parts.back();
  }
  error.regions = parts.size();
  if (parts.size() < 2) return error;
  error.error /= static_cast<double>(parts.size());
  error.correlation = RankCorrelation(predicted, measured).value_or(0);
  const auto middle = parts.begin() + std::ssize(parts) / 2;
  std::nth_element(parts.begin(), middle, parts.end());
  error.typical = *middle;
  return error;
}

}  // namespace msc::cost
