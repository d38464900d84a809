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

/// Measured time of a region on a target.
struct CostSample {
  std::string target;  ///< target spec and version
  std::string model;   ///< hash of the model that the region belongs to
  std::vector<double> features;
  double micros = 0;  ///< > 0
};

/// Error of a target's predictions for models that were left out of the fit.
struct LearnedError {
  std::size_t samples = 0;
  std::size_t models = 0;
  double correlation = 0;  ///< rank correlation of predicted and measured times
  double error = 0;        ///< mean of |predicted / measured - 1|
  double typical = 0;      ///< median of the relative error
  /// 95 % of the times lie in [predicted / factor, predicted * factor].
  double factor = 1;
  bool trusted = false;  ///< whether the target's costs are predicted at all
};

/// Predicts the times of regions from measured regions, separately for each target.
///
/// A prediction is the product of two parts. The first is a sum over work, bytes and nodes with
/// fitted factors (FitSum), which holds for sizes that were never seen. The second comes from
/// boosted trees over all features. For the error, the regions of every model are predicted from
/// other models only, in at most five groups of models. A target is trusted if it has at least
/// three models and 60 regions in all, and if the ranks of predicted and measured times correlate
/// by 0.8. At most 3000 samples of a target are used, drawn at random but repeatably.
class RegionModel {
 public:
  RegionModel() = default;
  /// Fits the model. Skips samples that do not have RegionFeatureCount() features, or whose
  /// features or times are impossible.
  explicit RegionModel(std::span<const CostSample> samples);

  struct Prediction {
    double micros = 0;
    /// Standard deviation of the logarithm of the time on models left out, separately for regions
    /// with and without layers.
    double spread = 0;
  };
  /// Returns nothing if the target is not trusted.
  [[nodiscard]] std::optional<Prediction> Predict(const std::string& target,
                                                  std::span<const double> features) const;
  /// Returns the errors of all targets that have samples.
  [[nodiscard]] const std::map<std::string, LearnedError>& errors() const noexcept {
    return errors_;
  }

 private:
  /// Predicts the natural logarithm of the time in microseconds.
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
    Regression regression;            // only for trusted targets
    std::array<double, 2> spreads{};  // of regions without and with layers
  };
  static void Prove(std::span<const CostSample* const> samples, OfTarget& of);
  [[nodiscard]] static double SpreadOf(const std::vector<double>& off);

  std::map<std::string, OfTarget> targets_;
  std::map<std::string, LearnedError> errors_;
};

}  // namespace msc::cost
