#include "agents/common/additive.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "compiler/base/error.h"
#include "gym/core/pareto.h"

namespace msc::agents {

using gym::AdditiveCost;
using gym::Assignment;

double ValueOf(const AdditiveCost& cost, const Assignment& assignment) {
  double value = cost.offset;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    value += cost.effects[i][static_cast<std::size_t>(assignment[i])];
  }
  return value;
}

std::vector<double> RangesOf(const AdditiveCost& cost) {
  std::vector<double> ranges;
  for (const std::vector<double>& effects : cost.effects) {
    const auto [least, most] = std::minmax_element(effects.begin(), effects.end());
    ranges.push_back(*most - *least);
  }
  return ranges;
}

namespace {

/// The normal equations of a weighted least-squares fit. The unknowns are in one vector, the offset
/// first, then one per choice; those of `base` stay 0.
class FitEquations {
 public:
  FitEquations(std::span<const gym::Decision> decisions, const Assignment& base,
               std::span<const Assignment* const> at, std::span<const double> weights)
      : at_(at), weights_(weights) {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
      first_.push_back(size_);
      size_ += decisions[i].choices.size();
      fixed_.push_back(first_[i] + static_cast<std::size_t>(base[i]));
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t Place(std::size_t decision, std::int32_t choice) const {
    return first_[decision] + static_cast<std::size_t>(choice);
  }

  /// Returns A^T W `residuals`, where A has one row per assignment and W holds the weights.
  [[nodiscard]] std::vector<double> Gather(std::span<const double> residuals) const {
    std::vector<double> sums(size_, 0.0);
    for (std::size_t k = 0; k < at_.size(); ++k) {
      const double value = weights_[k] * residuals[k];
      sums[0] += value;
      for (std::size_t i = 0; i < first_.size(); ++i) sums[Place(i, (*at_[k])[i])] += value;
    }
    // Effects of `base` are fixed, as a constant could move between the offset and the effects of a
    // decision without changing any sum.
    for (const std::size_t place : fixed_) sums[place] = 0;
    return sums;
  }
  /// Returns A `unknowns`: the fitted value of each assignment.
  [[nodiscard]] std::vector<double> Sums(std::span<const double> unknowns) const {
    std::vector<double> sums(at_.size(), unknowns[0]);
    for (std::size_t k = 0; k < at_.size(); ++k) {
      for (std::size_t i = 0; i < first_.size(); ++i) sums[k] += unknowns[Place(i, (*at_[k])[i])];
    }
    return sums;
  }

 private:
  std::span<const Assignment* const> at_;
  std::span<const double> weights_;
  std::vector<std::size_t> first_;  // by decision, index of the unknown of its first choice
  std::vector<std::size_t> fixed_;
  std::size_t size_ = 1;
};

double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

AdditiveCost FitAdditive(std::span<const gym::Decision> decisions, const Assignment& base,
                         std::span<const Assignment* const> at, std::span<const double> values,
                         std::span<const double> weights) {
  Check(!at.empty() && at.size() == values.size() && at.size() == weights.size(),
        "values and weights belong to assignments");
  // Conjugate gradients with a Jacobi preconditioner: exact after as many steps as there are
  // unknowns, accurate enough long before.
  constexpr int kMaxSteps = 30;
  constexpr double kPull = 0.02;  // ridge penalty, in units of one value of weight 1
  const FitEquations equations(decisions, base, at, weights);
  std::vector<double> diagonal = equations.Gather(std::vector<double>(at.size(), 1.0));
  // The penalty also keeps the divisors of choices that no assignment takes above 0.
  for (double& value : diagonal) value += kPull;
  std::vector<double> unknowns(equations.size(), 0.0);
  std::vector<double> residual = equations.Gather(values);
  std::vector<double> direction(equations.size());
  std::vector<double> scaled(equations.size());
  const auto rescale = [&] {
    for (std::size_t j = 0; j < scaled.size(); ++j) scaled[j] = residual[j] / diagonal[j];
    return Dot(residual, scaled);
  };
  double length = rescale();
  // `length` is a squared norm: stop once the residual has fallen by a factor of 1e8.
  const double enough = 1e-16 * length;
  direction = scaled;
  for (int step = 0; step < kMaxSteps && length > enough; ++step) {
    std::vector<double> image = equations.Gather(equations.Sums(direction));
    // The offset has no ridge penalty.
    for (std::size_t j = 1; j < image.size(); ++j) image[j] += kPull * direction[j];
    const double rate = length / Dot(direction, image);
    for (std::size_t j = 0; j < unknowns.size(); ++j) {
      unknowns[j] += rate * direction[j];
      residual[j] -= rate * image[j];
    }
    const double before = length;
    length = rescale();
    for (std::size_t j = 0; j < direction.size(); ++j) {
      direction[j] = scaled[j] + length / before * direction[j];
    }
  }
  AdditiveCost cost;
  cost.offset = unknowns[0];
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const auto first = unknowns.begin() + static_cast<std::ptrdiff_t>(equations.Place(i, 0));
    cost.effects.emplace_back(first,
                              first + static_cast<std::ptrdiff_t>(decisions[i].choices.size()));
  }
  return cost;
}

namespace {

/// The partial sums after some decisions: one row of values each, with the index of its predecessor
/// and the choice that leads from there.
struct Layer {
  std::vector<std::vector<double>> values;
  std::vector<std::size_t> from;
  std::vector<std::int32_t> choices;
};

/// Returns the indices of the Pareto set by ascending values; for up to two values by a sweep.
std::vector<std::size_t> SortedFront(const std::vector<std::vector<double>>& values) {
  std::vector<std::size_t> order(values.size());
  // Dominance between more than two sums needs pairwise comparison; the sweep below is for up to
  // two.
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (values[0].size() > 2) order = gym::ParetoFront(values);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  if (values[0].size() > 2) return order;
  // In ascending order of the first value, then of the second, a point is non-dominated if and only
  // if its second value is less than that of every point before.
  std::vector<std::size_t> front;
  double least = std::numeric_limits<double>::infinity();
  for (const std::size_t i : order) {
    const double last = values[i].size() == 2 ? values[i][1] : 0;
    if (last >= least) continue;
    least = last;
    front.push_back(i);
  }
  return front;
}

/// Keeps `most` evenly spaced members, both ends included.
void Thin(std::vector<std::size_t>& front, std::size_t most) {
  std::vector<std::size_t> kept;
  for (std::size_t k = 0; k < most; ++k) {
    kept.push_back(front[k * (front.size() - 1) / (most - 1)]);
  }
  front = std::move(kept);
}

Layer Extend(const Layer& layer, std::span<const AdditiveCost> costs, std::size_t decision) {
  Layer all;
  for (std::size_t k = 0; k < layer.values.size(); ++k) {
    for (std::size_t choice = 0; choice < costs[0].effects[decision].size(); ++choice) {
      std::vector<double> sum = layer.values[k];
      for (std::size_t m = 0; m < costs.size(); ++m) sum[m] += costs[m].effects[decision][choice];
      all.values.push_back(std::move(sum));
      all.from.push_back(k);
      all.choices.push_back(static_cast<std::int32_t>(choice));
    }
  }
  return all;
}

/// For each decision the least that it and those after it add to each sum.
std::vector<std::vector<double>> LeastRest(std::span<const AdditiveCost> costs) {
  const std::size_t decisions = costs[0].effects.size();
  std::vector<std::vector<double>> rest(decisions + 1, std::vector<double>(costs.size(), 0.0));
  for (std::size_t i = decisions; i-- > 0;) {
    for (std::size_t m = 0; m < costs.size(); ++m) {
      rest[i][m] = rest[i + 1][m] + *std::ranges::min_element(costs[m].effects[i]);
    }
  }
  return rest;
}

/// Removes the partial sums that exceed a bound even with the least rest, unless all do.
void DropBeyond(std::span<const double> bounds, std::span<const double> rest, Layer& layer) {
  Layer within;
  for (std::size_t k = 0; k < layer.values.size(); ++k) {
    bool fits = true;
    for (std::size_t m = 0; m < bounds.size(); ++m) {
      fits = fits && layer.values[k][m] + rest[m] <= bounds[m];
    }
    if (!fits) continue;
    within.values.push_back(layer.values[k]);
    within.from.push_back(layer.from[k]);
    within.choices.push_back(layer.choices[k]);
  }
  if (!within.values.empty()) layer = std::move(within);
}

}  // namespace

AdditiveFront SolveAdditive(std::span<const AdditiveCost> costs, std::size_t most,
                            std::span<const double> bounds) {
  Check(!costs.empty() && most >= 2, "a front has sums and room for two");
  Check(bounds.empty() || bounds.size() == costs.size(), "each sum has a bound");
  const std::size_t decisions = costs[0].effects.size();
  const std::vector<std::vector<double>> rest = LeastRest(costs);
  AdditiveFront result;
  std::vector<Layer> layers(1);
  for (const AdditiveCost& cost : costs) {
    layers[0].values.resize(1);
    layers[0].values[0].push_back(cost.offset);
  }
  for (std::size_t i = 0; i < decisions; ++i) {
    Layer all = Extend(layers.back(), costs, i);
    if (!bounds.empty()) DropBeyond(bounds, rest[i + 1], all);
    // Dropping dominated partial sums is exact: whatever choices follow, the dominating partial sum
    // with the same choices has a total at least as good.
    std::vector<std::size_t> front = SortedFront(all.values);
    if (front.size() > most) {
      Thin(front, most);
      result.exact = false;
    }
    Layer& next = layers.emplace_back();
    for (const std::size_t k : front) {
      next.values.push_back(std::move(all.values[k]));
      next.from.push_back(all.from[k]);
      next.choices.push_back(all.choices[k]);
    }
  }
  result.values = layers.back().values;
  // Each member is traced back through the layers, from its last choice to its first.
  for (std::size_t k = 0; k < result.values.size(); ++k) {
    Assignment assignment(decisions);
    std::size_t place = k;
    for (std::size_t i = decisions; i > 0; --i) {
      assignment[i - 1] = layers[i].choices[place];
      place = layers[i].from[place];
    }
    result.assignments.push_back(std::move(assignment));
  }
  return result;
}

}  // namespace msc::agents
