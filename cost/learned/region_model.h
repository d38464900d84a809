#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "cost/learned/boosted_trees.h"

namespace msc::cost {

/// What decides how long a region takes, as far as its shape tells: work, bytes read, written and
/// kept inside, weights, nodes by kind, and of the layer with most work kernel, stride, groups,
/// channels, places and type. `region` is a graph of its own with known sizes; `cold_bytes` as in
/// RegionTiming. Finite; sizes by their logarithm.
[[nodiscard]] std::vector<double> RegionFeatures(const Graph& region, std::int64_t cold_bytes);
/// How many these are.
[[nodiscard]] std::size_t RegionFeatureCount();

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
  double factor = 1;       ///< predicted / factor <= measured <= predicted * factor: 95 % of them
  bool trusted = false;    ///< predicted from at all
};

/// Predicts what regions cost from what others did, for each target by itself: boosted trees on the
/// logarithm of the time. What it says of its error comes from predicting the regions of every
/// model by trees that were fitted to the other models alone, five groups of models at most.
/// A target is trusted where that was possible, at least three models with 60 regions in all, and
/// the ranks agree: correlation 0.9.
class RegionModel {
 public:
  RegionModel() = default;
  /// Samples with other than RegionFeatureCount() finite features, or no time, are left out.
  explicit RegionModel(std::span<const CostSample> samples);

  struct Range {
    double low = 0;  ///< microseconds; with `high` an interval that holds 95 %
    double high = 0;
  };
  /// Nothing where the target is not trusted.
  [[nodiscard]] std::optional<Range> Predict(const std::string& target,
                                             std::span<const double> features) const;
  /// By target, of all that have samples.
  [[nodiscard]] const std::map<std::string, LearnedError>& errors() const noexcept {
    return errors_;
  }

 private:
  std::map<std::string, BoostedTrees> trees_;  // of trusted targets
  std::map<std::string, LearnedError> errors_;
};

}  // namespace msc::cost
