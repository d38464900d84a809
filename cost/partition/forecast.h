#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/problem.h"
#include "cost/learned/region_model.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {

/// Error of a forecast for the regions of one model.
struct ForecastError {
  std::size_t regions = 0;  ///< regions with a prediction and a measurement
  double correlation = 0;   ///< rank correlation of predicted and measured costs
  double error = 0;         ///< mean of |predicted / measured - 1|
  double typical = 0;       ///< median of the relative error
};

/// Predicted costs of a problem's candidates. Known costs correct the predictions of the model of
/// costs: separately for each target, and for regions with and without layers.
class Forecast {
 public:
  /// `costs` must have a model. `alike` gives candidates of equal cost the same number, see
  /// LazyOptions.
  Forecast(const CoverProblem& problem, RegionCosts& costs, std::span<const std::uint32_t> alike);

  /// Corrects the forecasts by the costs that are known now: by the mean logarithm of measured /
  /// predicted, and by the spread around it. In both, the model weighs as much as three regions.
  void Correct(const CoverProblem& problem);

  /// Returns whether there is a forecast, that is, whether the model is trusted for the candidate's
  /// target.
  [[nodiscard]] bool Has(std::uint32_t candidate) const { return of(candidate).has_value(); }
  /// Returns microseconds, `deviations` standard deviations of the logarithm above the likely cost.
  /// InternalError unless Has.
  [[nodiscard]] double At(std::uint32_t candidate, double deviations) const;
  [[nodiscard]] double Likely(std::uint32_t candidate) const { return At(candidate, 0); }
  /// Returns a cost that the candidate exceeds with a probability of 84 % if logarithms are
  /// normally distributed: one deviation below the likely cost.
  [[nodiscard]] double AtLeast(std::uint32_t candidate) const { return At(candidate, -1); }

  /// Returns the error of the predictions, before correction, on the costs that are known.
  [[nodiscard]] ForecastError ErrorOn(const CoverProblem& problem) const;

 private:
  struct One {
    std::string target;
    bool has_layer = false;
    double log = 0;     ///< of the predicted cost
    double spread = 0;  ///< as given by the model
  };
  struct Correction {
    double mean = 0;
    double spread = 0;
  };
  [[nodiscard]] const std::optional<One>& of(std::uint32_t candidate) const {
    return forecasts_.at(candidate);
  }
  [[nodiscard]] Correction CorrectionOf(const One& one) const;
  /// Returns the logarithms of measured / predicted cost, one for all candidates of equal cost.
  [[nodiscard]] std::vector<std::pair<const One*, double>> Answers(
      const CoverProblem& problem) const;

  std::vector<std::optional<One>> forecasts_;
  std::vector<std::uint32_t> alike_;
  std::map<std::pair<std::string, bool>, Correction> corrections_;
};

}  // namespace msc::cost
