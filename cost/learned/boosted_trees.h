#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace msc::cost {

struct BoostOptions {
  int trees = 200;     ///< >= 0
  int depth = 4;       ///< splits between the root and a leaf, at most; >= 1
  double rate = 0.1;   ///< learning rate: factor on the prediction of a tree, in (0, 1]
  int least = 4;       ///< fewest samples on either side of a split; >= 1
  double share = 0.9;  ///< of the samples, drawn anew for each tree, in (0, 1]
};

/// Gradient boosted regression trees for the squared error: each tree is fitted to the residuals of
/// the trees before it. A split takes one of at most 31 thresholds of a feature. The result is
/// repeatable: the same samples give the same trees.
/// Source: J. Friedman, "Stochastic gradient boosting", 2002, section 2.
class BoostedTrees {
 public:
  /// Makes a model that predicts 0.
  BoostedTrees() = default;
  /// Fits trees in time O(trees * depth * samples * features). InternalError unless there is at
  /// least one sample, there are as many targets as rows, all rows have the same length, and all
  /// numbers are finite.
  BoostedTrees(std::span<const std::vector<double>> rows, std::span<const double> targets,
               const BoostOptions& options = {});

  /// Returns the prediction for a row of as many features as the fitted rows have.
  [[nodiscard]] double Predict(std::span<const double> row) const;

 private:
  struct Node {
    int feature = -1;      // -1 for a leaf
    double threshold = 0;  // values up to this one go left
    std::size_t left = 0;  // the right child follows it
    double value = 0;
  };
  using Tree = std::vector<Node>;
  class Fitter;
  [[nodiscard]] static double At(const Tree& tree, std::span<const double> row);

  double base_ = 0;
  std::vector<Tree> trees_;
};

}  // namespace msc::cost
