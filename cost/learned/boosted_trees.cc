#include "cost/learned/boosted_trees.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"

namespace msc::cost {
namespace {

constexpr std::size_t kBins = 32;

/// Returns thresholds that split the values of a feature into bins of about equal counts.
std::vector<double> Thresholds(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> thresholds;
  for (std::size_t k = 1; k < kBins; ++k) {
    const std::size_t at = k * values.size() / kBins;
    if (at == 0 || values[at] == values[at - 1]) continue;
    const double middle = values[at - 1] + (values[at] - values[at - 1]) / 2;
    if (thresholds.empty() || thresholds.back() < middle) thresholds.push_back(middle);
  }
  // If a feature has few distinct values, the quantiles can miss the gaps between them. Each gap
  // then gets a threshold.
  if (thresholds.size() + 1 < kBins) {
    values.erase(std::unique(values.begin(), values.end()), values.end());
    if (values.size() <= kBins) {
      thresholds.clear();
      for (std::size_t i = 1; i < values.size(); ++i) {
        thresholds.push_back(values[i - 1] + (values[i] - values[i - 1]) / 2);
      }
    }
  }
  return thresholds;
}

struct Split {
  double gain = 0;
  std::size_t feature = 0;
  std::size_t bin = 0;  ///< the left side has the bins up to this one
};

}  // namespace

class BoostedTrees::Fitter {
 public:
  Fitter(std::span<const std::vector<double>> rows, std::span<const double> targets,
         const BoostOptions& options)
      : options_(options), left_(targets.begin(), targets.end()) {
    const std::size_t features = rows.front().size();
    thresholds_.resize(features);
    bins_.assign(features, std::vector<std::uint8_t>(rows.size()));
    std::vector<double> values(rows.size());
    for (std::size_t f = 0; f < features; ++f) {
      for (std::size_t i = 0; i < rows.size(); ++i) values[i] = rows[i][f];
      thresholds_[f] = Thresholds(values);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        // A value equal to a threshold goes to the left, as in At.
        const auto bin = std::lower_bound(thresholds_[f].begin(), thresholds_[f].end(), values[i]);
        bins_[f][i] = static_cast<std::uint8_t>(bin - thresholds_[f].begin());
      }
    }
  }

  /// Returns the next tree, fitted to the residuals.
  Tree Grow() {
    std::vector<std::size_t> samples;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      if (rng_.Uniform() < options_.share) samples.push_back(i);
    }
    if (samples.empty()) samples.push_back(0);
    Tree tree(1);
    Grow(tree, 0, std::move(samples), options_.depth);
    return tree;
  }

  void Subtract(std::size_t sample, double value) { left_[sample] -= value; }

 private:
  void Grow(Tree& tree, std::size_t node, std::vector<std::size_t> samples, int depth) {
    const Split split = depth > 0 ? BestSplit(samples) : Split();
    if (split.gain <= 0) {
      double sum = 0;
      for (const std::size_t i : samples) sum += left_[i];
      tree[node].value = options_.rate * sum / static_cast<double>(samples.size());
      return;
    }
    const std::vector<std::uint8_t>& bins = bins_[split.feature];
    const auto middle = std::stable_partition(samples.begin(), samples.end(),
                                              [&](std::size_t i) { return bins[i] <= split.bin; });
    const std::size_t left = tree.size();
    tree.resize(left + 2);
    tree[node].feature = static_cast<int>(split.feature);
    tree[node].threshold = thresholds_[split.feature][split.bin];
    tree[node].left = left;
    Grow(tree, left, {samples.begin(), middle}, depth - 1);
    Grow(tree, left + 1, {middle, samples.end()}, depth - 1);
  }

  /// Returns the split that reduces the squared error most; its gain is 0 if there is none.
  [[nodiscard]] Split BestSplit(const std::vector<std::size_t>& samples) const {
    double all = 0;
    for (const std::size_t i : samples) all += left_[i];
    const auto count = static_cast<double>(samples.size());
    Split best;
    // A smaller gain may come from rounding alone.
    best.gain = 1e-12 * std::abs(all);
    bool found = false;
    for (std::size_t f = 0; f < bins_.size(); ++f) {
      if (thresholds_[f].empty()) continue;
      std::array<double, kBins> sums{};
      std::array<int, kBins> counts{};
      for (const std::size_t i : samples) {
        sums[bins_[f][i]] += left_[i];
        ++counts[bins_[f][i]];
      }
      double sum = 0;
      int below = 0;
      for (std::size_t bin = 0; bin < thresholds_[f].size(); ++bin) {
        sum += sums[bin];
        below += counts[bin];
        const int above = static_cast<int>(samples.size()) - below;
        // Squared error before the split less that after it, where every leaf predicts its mean.
        if (below < options_.least || above < options_.least) continue;
        const double gain =
            sum * sum / below + (all - sum) * (all - sum) / above - all * all / count;
        if (gain > best.gain) {
          best = {gain, f, bin};
          found = true;
        }
      }
    }
    return found ? best : Split();
  }

  const BoostOptions& options_;
  std::vector<double> left_;                     // residuals of the targets
  std::vector<std::vector<double>> thresholds_;  // by feature, in rising order
  std::vector<std::vector<std::uint8_t>> bins_;  // by feature and sample
  // A fixed seed, so that equal samples give equal trees.
  Rng rng_{1};
};

BoostedTrees::BoostedTrees(std::span<const std::vector<double>> rows,
                           std::span<const double> targets, const BoostOptions& options) {
  Check(!rows.empty() && rows.size() == targets.size(), "trees are fitted to samples");
  for (const std::vector<double>& row : rows) {
    Check(row.size() == rows.front().size(), "samples have the same features");
    Check(std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); }),
          "features are finite");
  }
  Check(std::all_of(targets.begin(), targets.end(), [](double x) { return std::isfinite(x); }),
        "targets are finite");
  base_ =
      std::accumulate(targets.begin(), targets.end(), 0.0) / static_cast<double>(targets.size());
  Fitter fitter(rows, targets, options);
  for (std::size_t i = 0; i < rows.size(); ++i) fitter.Subtract(i, base_);
  for (int k = 0; k < options.trees; ++k) {
    Tree tree = fitter.Grow();
    for (std::size_t i = 0; i < rows.size(); ++i) fitter.Subtract(i, At(tree, rows[i]));
    trees_.push_back(std::move(tree));
  }
}

double BoostedTrees::At(const Tree& tree, std::span<const double> row) {
  std::size_t node = 0;
  while (tree[node].feature >= 0) {
    const bool right = row[static_cast<std::size_t>(tree[node].feature)] > tree[node].threshold;
    node = tree[node].left + (right ? 1 : 0);
  }
  return tree[node].value;
}

double BoostedTrees::Predict(std::span<const double> row) const {
  double sum = base_;
  for (const Tree& tree : trees_) sum += At(tree, row);
  return sum;
}

}  // namespace msc::cost
