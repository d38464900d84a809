#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cost/learned/boosted_trees.h"

namespace msc::cost {

/// A region that was measured on a target.
struct CostSample {
  std::string target;  ///< spec and version
  std::string model;   ///< of which it is a region: a hash
  std::vector<double> features;
  double micros = 0;  ///< > 0
};

/// How far a target's model is off for models of which it knows no region.
struct LearnedError {
  std::size_t samples = 0;
  std::size_t models = 0;
  double correlation = 0;  ///< of ranks, predicted and measured
  double error = 0;        ///< mean of |predicted / measured - 1|
  double typical = 0;      ///< half of them are off by no more than this part
  double factor = 1;       ///< predicted / factor <= measured <= predicted * factor: 95 % of them
  bool trusted = false;    ///< predicted from at all
};

/// Predicts what regions cost from what others did, for each target by itself: a sum over work,
/// bytes and nodes with fitted factors (FitSum), which holds for sizes that were never seen, times
/// what boosted trees say of all features. What it says of its error comes from predicting the
/// regions of every model from those of the other models alone, five groups of models at most.
/// A target is trusted where that was possible, at least three models with 60 regions in all, and
/// the ranks agree: correlation 0.8. Of a target's samples 3000 count, drawn at random.
class RegionModel {
 public:
  RegionModel() = default;
  /// Samples with other than RegionFeatureCount() features, or with features or times that no
  /// region can have, are left out.
  explicit RegionModel(std::span<const CostSample> samples);

  struct Prediction {
    double micros = 0;
    double spread = 0;  ///< deviation of the logarithm on models left out, of regions with layers
                        ///< or of those without
  };
  /// Nothing where the target is not trusted.
  [[nodiscard]] std::optional<Prediction> Predict(const std::string& target,
                                                  std::span<const double> features) const;
  /// By target, of all that have samples.
  [[nodiscard]] const std::map<std::string, LearnedError>& errors() const noexcept {
    return errors_;
  }

 private:
  /// Of the logarithm of the time.
  class Regression {
   public:
    Regression() = default;
    explicit Regression(std::span<const CostSample* const> samples);
    [[nodiscard]] double Predict(std::span<const double> features) const;

   private:
    [[nodiscard]] double LogOfSum(std::span<const double> features) const;
    std::vector<double> factors_;
    BoostedTrees trees_;
  };
  struct OfTarget {
    LearnedError error;
    Regression regression;            // where it is trusted
    std::array<double, 2> spreads{};  // of regions without layers, and with
  };
  static void Prove(std::span<const CostSample* const> samples, OfTarget& of);
  [[nodiscard]] static double SpreadOf(const std::vector<double>& off);

  std::map<std::string, OfTarget> targets_;
  std::map<std::string, LearnedError> errors_;
};

}  // namespace msc::cost
