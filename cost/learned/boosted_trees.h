#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace msc::cost {

struct BoostOptions {
  int trees = 200;     ///< >= 0
  int depth = 4;       ///< of a tree, splits from the root; >= 1
  double rate = 0.1;   ///< what a tree's answer counts, in (0, 1]
  int least = 4;       ///< samples on either side of a split; >= 1
  double share = 0.9;  ///< of the samples, another one for each tree, in (0, 1]
};

/// Gradient boosted regression trees for the squared error: each tree is fitted to what those
/// before it leave. Splits are sought among at most 32 values of a feature. The same samples give
/// the same trees.
/// Source: J. Friedman, "Stochastic gradient boosting", 2002, section 2.
class BoostedTrees {
 public:
  /// Answers 0.
  BoostedTrees() = default;
  /// Time: trees * depth * samples * features. InternalError unless there is a sample, as many
  /// targets as rows, all rows are of one length, and all numbers are finite.
  BoostedTrees(std::span<const std::vector<double>> rows, std::span<const double> targets,
               const BoostOptions& options = {});

  /// For a row as long as those it was fitted to.
  [[nodiscard]] double Predict(std::span<const double> row) const;

 private:
  struct Node {
    int feature = -1;      // -1: a leaf
    double threshold = 0;  // left: at most this
    std::size_t left = 0;  // right is the one after it
    double value = 0;
  };
  using Tree = std::vector<Node>;
  class Fitter;
  [[nodiscard]] static double At(const Tree& tree, std::span<const double> row);

  double base_ = 0;
  std::vector<Tree> trees_;
};

}  // namespace msc::cost
