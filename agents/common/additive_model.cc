#include "agents/common/additive_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "agents/common/ranking.h"
#include "compiler/base/error.h"

namespace msc::agents {

using gym::Assignment;
using gym::TrialResult;

namespace {

std::size_t Differing(const Assignment& a, const Assignment& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0 : 1;
  return count;
}

/// Excess over a limit, relative to it, beyond which losses no longer grow as sums do.
constexpr double kFar = 4;
/// Weight of a factor of 1, relative to that of a result.
constexpr double kTrust = 0.1;
/// Largest expected excess over a limit, relative to it, that a front has.
constexpr double kBeyondLimit = 0.25;
/// Largest factor of an estimate.
constexpr double kMostFactor = 5;
/// Largest factor of what an estimate of a constraint, by its power, comes to.
constexpr double kMostOfLimit = 20;
/// Powers of sums that losses may be.
constexpr std::array<double, 4> kPowers = {1, 0.7, 0.5, 0.35};
/// Weight of a power of 1, for the square of the logarithm, relative to that of a result.
constexpr double kTrustInPower = 0.3;

/// What a trial tells of the factors of some parts: their sum, scaled, should be 1.
struct Ratio {
  std::vector<double> parts;  ///< >= 0, by quantity: the estimate over the result
  double of_limit = 0;        ///< the result over the limit
  double weight = 0;
};

/// Factors of parts, with the sum of the squares of what they leave. Where a result is far beyond
/// the limit, they leave nothing if what they give is far beyond it, too.
struct Factors {
  std::vector<double> of;
  double left = 0;
};

/// Returns the factors of `count` parts for which the sums of the scaled parts are nearest to 1, by
/// the squares of their logarithms; few results leave factors near 1. All logarithms are those of
/// the `power` of sums.
Factors FactorsOf(std::span<const Ratio> ratios, std::size_t count, double power) {
  constexpr int kSweeps = 30;
  const double most = std::log(kMostOfLimit) / power;
  std::vector<double> logs(count, 0.0);
  // Newton's method for one factor after another.
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t q = 0; q < count; ++q) {
      double slope = kTrust * logs[q];
      double curvature = kTrust;
      for (const Ratio& ratio : ratios) {
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += std::exp(logs[i]) * ratio.parts[i];
        const double share = std::exp(logs[q]) * ratio.parts[q] / sum;
        slope += ratio.weight * std::log(sum) * share;
        curvature += ratio.weight * share * share;
      }
      logs[q] = std::clamp(logs[q] - slope / curvature, -most, most);
    }
  }
  Factors factors;
  for (const double log : logs) {
    factors.of.push_back(std::exp(log));
    factors.left += kTrust * power * power * log * log;
  }
  for (const Ratio& ratio : ratios) {
    double log = power * std::log(std::inner_product(factors.of.begin(), factors.of.end(),
                                                     ratio.parts.begin(), 0.0));
    const double far = std::log((1 + kFar) / ratio.of_limit);
    if (far < 0) log = std::min(log - far, 0.0);
    factors.left += ratio.weight * log * log;
  }
  return factors;
}

/// Returns (1 + excess) to the 1 / power, less 1; finite.
double RootOf(double excess, double power) {
  constexpr double kMost = 1e100;
  if (power == 1) return excess;
  return std::min(std::pow(std::max(1 + excess, 0.0), 1 / power), kMost) - 1;
}

/// Results at assignments, each with its weight.
struct Results {
  std::span<const Assignment* const> at;
  std::span<const double> values;
  std::span<const double> weights;
};

/// Fits what the expected sum misses of the results. The ridge penalty pulls effects towards those
/// expected instead of towards 0.
gym::AdditiveCost FitRest(std::span<const gym::Decision> decisions, const Assignment& base,
                          const Results& results, const gym::AdditiveCost& expected,
                          bool is_constraint) {
  std::vector<double> rest;
  std::vector<double> weights(results.weights.begin(), results.weights.end());
  for (std::size_t t = 0; t < results.at.size(); ++t) {
    const double value = results.values[t];
    const double difference = value - ValueOf(expected, *results.at[t]);
    rest.push_back(difference);
    if (!is_constraint || value <= 0) continue;
    weights[t] /= 1 + value * value;
    // Far beyond a limit only that it is far beyond counts.
    if (value >= kFar) rest[t] = std::max(difference + kFar - value, 0.0);
  }
  return FitAdditive(decisions, base, results.at, rest, weights);
}

/// The quantities that decisions have, and which each of them has.
struct Quantities {
  explicit Quantities(std::span<const gym::Decision> decisions) {
    std::vector<std::string> names;
    for (const gym::Decision& decision : decisions) {
      const auto known = std::ranges::find(names, decision.quantity);
      of.push_back(static_cast<std::size_t>(known - names.begin()));
      if (known == names.end()) names.push_back(decision.quantity);
    }
    count = names.size();
  }

  /// Returns the sum of the effects of the decisions with each quantity.
  [[nodiscard]] std::vector<double> Parts(const gym::AdditiveCost& cost,
                                          const Assignment& at) const {
    std::vector<double> parts(count, 0.0);
    for (std::size_t i = 0; i < of.size(); ++i) {
      parts[of[i]] += cost.effects[i][static_cast<std::size_t>(at[i])];
    }
    return parts;
  }

  [[nodiscard]] gym::AdditiveCost Scaled(gym::AdditiveCost cost,
                                         std::span<const double> factors) const {
    for (std::size_t i = 0; i < of.size(); ++i) {
      for (double& effect : cost.effects[i]) effect *= factors[of[i]];
    }
    return cost;
  }

  std::size_t count = 0;
  std::vector<std::size_t> of;  ///< by decision
};

/// Returns what trials tell of the factors of an estimate, of which they are the `power`.
std::vector<Ratio> RatiosOf(const Quantities& quantities, const gym::AdditiveCost& estimate,
                            std::span<const Assignment* const> at, std::span<const double> values,
                            double power) {
  std::vector<Ratio> ratios;
  for (std::size_t t = 0; t < at.size(); ++t) {
    Ratio ratio{.parts = quantities.Parts(estimate, *at[t])};
    const double expected = std::accumulate(ratio.parts.begin(), ratio.parts.end(), 0.0);
    const double found = RootOf(values[t], power) - estimate.offset;
    const double of_limit = 1 + values[t];
    // Parts of both signs have no ratio, nor have numbers near the smallest of their type.
    const bool same_sign =
        std::ranges::all_of(ratio.parts, [&](double part) { return part * found >= 0; });
    if (!same_sign || !std::isnormal(expected / found) || !(of_limit > 0)) continue;
    for (double& part : ratio.parts) part /= found;
    const double distance = std::log(of_limit);
    ratio.of_limit = of_limit;
    ratio.weight = 1 / (1 + distance * distance);
    ratios.push_back(std::move(ratio));
  }
  return ratios;
}

}  // namespace

gym::AdditiveCost ScaledToResults(std::span<const gym::Decision> decisions,
                                  const gym::AdditiveCost& estimate,
                                  std::span<const Assignment* const> at,
                                  std::span<const double> values) {
  // The usual error of estimates is a common factor: losses add up to more than the single ones,
  // and steps in a row take less time than alone.
  constexpr int kSweeps = 100;
  const Quantities quantities(decisions);
  const std::size_t count = quantities.count;
  std::vector<double> products(count * count, 0.0);  // of the parts with each other
  std::vector<double> of_values(count, 0.0);         // of the parts with the values
  for (std::size_t t = 0; t < at.size(); ++t) {
    const std::vector<double> parts = quantities.Parts(estimate, *at[t]);
    for (std::size_t q = 0; q < count; ++q) {
      of_values[q] += parts[q] * (values[t] - estimate.offset);
      for (std::size_t r = 0; r < count; ++r) products[q * count + r] += parts[q] * parts[r];
    }
  }
  const auto results = static_cast<double>(std::max<std::size_t>(at.size(), 1));
  std::vector<double> factors(count, 1.0);
  // Least squares for one factor after another; what pulls it to 1 weighs as a part of a result.
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (std::size_t q = 0; q < count; ++q) {
      const double square = products[q * count + q];
      if (!(square > 0)) continue;
      double product = of_values[q];
      for (std::size_t r = 0; r < count; ++r) {
        if (r != q) product -= factors[r] * products[q * count + r];
      }
      const double trust = kTrust * square / results;
      factors[q] = std::clamp((product + trust) / (square + trust), 1 / kMostFactor, kMostFactor);
    }
  }
  return quantities.Scaled(estimate, factors);
}

LimitEstimate ScaledNearLimit(std::span<const gym::Decision> decisions,
                              const gym::AdditiveCost& estimate,
                              std::span<const Assignment* const> at,
                              std::span<const double> values) {
  LimitEstimate best{.cost = estimate};
  double least = std::numeric_limits<double>::infinity();
  const Quantities quantities(decisions);
  // Only of what is 0 without compression, as losses are, a power may add up.
  const bool starts_at_zero = std::abs(estimate.offset + 1) < 1e-9;
  for (const double power : kPowers) {
    if (power != 1 && !starts_at_zero) break;
    const std::vector<Ratio> ratios = RatiosOf(quantities, estimate, at, values, power);
    const Factors factors = FactorsOf(ratios, quantities.count, power);
    const double log = std::log(power);
    const double left = factors.left + kTrustInPower * log * log;
    if (left >= least) continue;
    least = left;
    best = {.cost = quantities.Scaled(estimate, factors.of), .power = power};
  }
  return best;
}

AdditiveModel::AdditiveModel(const gym::AgentSetup& setup, const History& history)
    : objectives_(setup.objectives), costs_(setup.costs) {
  if (!costs_.empty()) return;
  const TrialResult& best = *history.Best();
  // Each trial with the number of decisions in which it differs from the best one.
  std::vector<std::pair<std::size_t, const TrialResult*>> ran;
  for (const TrialResult& told : history.trials()) {
    // Rough results may be off by a factor, which the fit would take for effects.
    if (told.Complete()) ran.emplace_back(Differing(told.assignment, best.assignment), &told);
  }
  // Distant trials weigh almost nothing, and the time of a fit grows with their number.
  constexpr std::size_t kMost = 300;
  if (ran.size() > kMost) {
    std::stable_sort(ran.begin(), ran.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    ran.resize(kMost);
  }
  // A weight halves about every four decisions that differ.
  constexpr double kPerDifference = 0.85;
  std::vector<const Assignment*> at;
  std::vector<double> weights;
  for (const auto& [differing, told] : ran) {
    at.push_back(&told->assignment);
    weights.push_back(std::pow(kPerDifference, static_cast<double>(differing)));
  }
  Check(!ran.empty(), "an additive model has results to fit");
  std::vector<double> values(ran.size());
  for (std::size_t k = 0; k < setup.objectives + setup.constraints; ++k) {
    for (std::size_t t = 0; t < ran.size(); ++t) {
      const TrialResult& told = *ran[t].second;
      values[t] = k < objectives_ ? told.objectives[k] : told.constraints[k - objectives_];
    }
    if (setup.estimates.empty()) {
      costs_.push_back(FitAdditive(setup.decisions, best.assignment, at, values, weights));
      continue;
    }
    gym::AdditiveCost expected;
    if (k < objectives_) {
      expected = ScaledToResults(setup.decisions, setup.estimates[k], at, values);
    } else {
      LimitEstimate scaled = ScaledNearLimit(setup.decisions, setup.estimates[k], at, values);
      expected = std::move(scaled.cost);
      powers_.push_back(scaled.power);
      for (double& value : values) value = RootOf(value, scaled.power);
    }
    estimates_.push_back(expected);
    const gym::AdditiveCost rest = FitRest(setup.decisions, best.assignment, {at, values, weights},
                                           expected, k >= objectives_);
    expected.offset += rest.offset;
    for (std::size_t i = 0; i < rest.effects.size(); ++i) {
      for (std::size_t c = 0; c < rest.effects[i].size(); ++c) {
        expected.effects[i][c] += rest.effects[i][c];
      }
    }
    costs_.push_back(std::move(expected));
  }
}

double AdditiveModel::AsSum(std::size_t constraint, double excess) const {
  return powers_.empty() ? excess : RootOf(excess, powers_[constraint]);
}

TrialResult AdditiveModel::Expect(const Assignment& assignment) const {
  // A sum that meets a limit exactly must not exceed it by rounding.
  constexpr double kRounding = 1e-9;
  TrialResult told;
  told.assignment = assignment;
  for (std::size_t k = 0; k < costs_.size(); ++k) {
    double value = ValueOf(costs_[k], assignment);
    if (k < objectives_) {
      told.objectives.push_back(value);
    } else {
      if (!powers_.empty()) value = RootOf(value, 1 / powers_[k - objectives_]);
      told.constraints.push_back(value);
      told.violation += value > kRounding ? value : 0;
    }
  }
  return told;
}

AdditiveModel::ExpectedFront AdditiveModel::Front(std::size_t most) const {
  // With several objectives under constraints, the best answer by the first objective is sought as
  // well: the joint front keeps few partial sums, as most of many sums are non-dominated, and may
  // miss it.
  constexpr std::size_t kMostOfMany = 32;
  const bool constrained = costs_.size() > objectives_;
  std::vector<gym::AdditiveCost> first(1, costs_[0]);
  first.insert(first.end(), costs_.begin() + static_cast<std::ptrdiff_t>(objectives_),
               costs_.end());
  ExpectedFront front;
  std::set<Assignment> members;
  const auto solve = [&](std::span<const gym::AdditiveCost> sums) {
    std::vector<double> bounds(sums.size(), std::numeric_limits<double>::infinity());
    const auto constraints = static_cast<std::ptrdiff_t>(costs_.size() - objectives_);
    std::fill(bounds.end() - constraints, bounds.end(), kBeyondLimit);
    const AdditiveFront solved =
        SolveAdditive(sums, sums.size() > 2 ? std::min(most, kMostOfMany) : most, bounds);
    front.exact = front.exact && solved.exact;
    members.insert(solved.assignments.begin(), solved.assignments.end());
  };
  if (constrained) solve(first);
  if (!constrained || objectives_ > 1) solve(costs_);
  std::vector<TrialResult> expected;
  expected.reserve(members.size());
  for (const Assignment& member : members) expected.push_back(Expect(member));
  std::stable_sort(expected.begin(), expected.end(), IsBetterTrial);
  for (TrialResult& told : expected) front.assignments.push_back(std::move(told.assignment));
  return front;
}

std::vector<double> AdditiveModel::Ranges(std::size_t k) const {
  return RangesOf(costs_[k]);
}

std::vector<Assignment> SingleChanges(const gym::AgentSetup& setup, const Assignment& base) {
  const std::vector<gym::Decision>& decisions = setup.decisions;
  std::vector<Assignment> changes;
  // The most distant choice of every decision comes before the second most distant of any.
  std::size_t most = 0;
  for (const gym::Decision& decision : decisions) most = std::max(most, decision.choices.size());
  for (std::size_t rank = 0; rank + 1 < most; ++rank) {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      std::vector<std::int32_t> others;
      for (std::int32_t c = 0; c < static_cast<std::int32_t>(decisions[i].choices.size()); ++c) {
        if (c != base[i]) others.push_back(c);
      }
      if (rank >= others.size()) continue;
      std::stable_sort(others.begin(), others.end(), [&](std::int32_t a, std::int32_t b) {
        return std::abs(a - base[i]) > std::abs(b - base[i]);
      });
      Assignment change = base;
      change[i] = others[rank];
      change = gym::MakeLegal(setup.mask, std::move(change));
      if (change[i] == others[rank]) changes.push_back(std::move(change));
    }
  }
  return changes;
}

}  // namespace msc::agents
