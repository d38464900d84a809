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

/// How far a forecast was off for the regions of one model.
struct ForecastError {
  std::size_t regions = 0;  ///< that were measured and had been predicted
  double correlation = 0;   ///< of ranks, predicted and measured
  double error = 0;         ///< mean of |predicted / measured - 1|
  double typical = 0;       ///< half of them are off by no more than this part
};

/// What the model of costs predicts for the candidates of a problem, corrected by what some of them
/// took: for each target by itself, regions with layers and those without.
class Forecast {
 public:
  /// `costs` has a model. `alike` numbers candidates whose costs are the same, see LazyOptions.
  Forecast(const CoverProblem& problem, RegionCosts& costs, std::span<const std::uint32_t> alike);

  /// By the costs that are known now: the mean logarithm of measured by predicted, and how these
  /// differ from it. Counts as if three regions more had been as the model says.
  void Correct(const CoverProblem& problem);

  /// Whether there is one: the model trusts itself for the candidate's target.
  [[nodiscard]] bool Has(std::uint32_t candidate) const { return of(candidate).has_value(); }
  /// Microseconds, so many deviations above what is likely. InternalError unless Has.
  [[nodiscard]] double At(std::uint32_t candidate, double deviations) const;
  [[nodiscard]] double Likely(std::uint32_t candidate) const { return At(candidate, 0); }
  /// What the candidate takes at least, with a probability of 84 % if logarithms are spread
  /// normally: one deviation below.
  [[nodiscard]] double AtLeast(std::uint32_t candidate) const { return At(candidate, -1); }

  /// What was predicted, before any correction, beside the costs that are known.
  [[nodiscard]] ForecastError ErrorOn(const CoverProblem& problem) const;

 private:
  struct One {
    std::string target;
    bool has_layer = false;
    double log = 0;     ///< of what is predicted
    double spread = 0;  ///< of the model
  };
  struct Correction {
    double mean = 0;
    double spread = 0;
  };
  [[nodiscard]] const std::optional<One>& of(std::uint32_t candidate) const {
    return forecasts_.at(candidate);
  }
  [[nodiscard]] Correction CorrectionOf(const One& one) const;
  /// Differences of logarithms, measured by predicted, of candidates that are alike once.
  [[nodiscard]] std::vector<std::pair<const One*, double>> Answers(
      const CoverProblem& problem) const;

  std::vector<std::optional<One>> forecasts_;
  std::vector<std::uint32_t> alike_;
  std::map<std::pair<std::string, bool>, Correction> corrections_;
};

}  // namespace msc::cost
