#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/partition/problem.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {

/// Returns the spec of the target with images exchanged channels last:
/// "native:images=channels_last".
[[nodiscard]] std::string ChannelsLastSpec(const std::string& spec);

/// Sets the labels of candidates that exchange images channels last. Each target has its own label,
/// because it converts images with its own code. If two such targets read one dense image, the sum
/// counts two layout conversions, although LowerFor makes one. With `others`, each candidate that
/// lays out images channels last but exchanges them dense (see Target) gets a second version that
/// does not, if it exchanges images.
void ExchangeChannelsLast(const RegionSource& source, const TargetRegistry& registry, bool others,
                          CoverProblem& problem);

/// Costs of layout conversions: for every target that exchanges images channels last, of converting
/// an image from dense and back, for every size and type in the problem. They are measured alone,
/// like regions, and cached with them, so a size is measured once for all models.
class LayoutConversionCosts {
 public:
  /// `targets` must outlive this object. The other arguments are those of RegionCosts; `meter` says
  /// how to start children.
  LayoutConversionCosts(const CoverProblem& problem, const RegionSource& source,
                        const TargetRegistry& targets, const RegionMeterOptions& meter,
                        const std::string& folder, const RegionCostContext& context);
  LayoutConversionCosts(const LayoutConversionCosts&) = delete;
  LayoutConversionCosts& operator=(const LayoutConversionCosts&) = delete;
  ~LayoutConversionCosts();

  /// Returns how many costs are not cached.
  [[nodiscard]] std::size_t CountUnknown();
  /// Finds the costs in the cache or measures them, and sets problem.conversions. A conversion that
  /// the target does not support, or that `stop` prevented, is impossible. Does nothing if no
  /// candidate exchanges images channels last.
  void Measure(CoverProblem& problem, const std::function<bool()>& stop = {});

  [[nodiscard]] RegionCosts::Counts counts() const;
  [[nodiscard]] RegionMeter::Spent spent() const;

 private:
  struct Turn;
  struct Measuring;
  std::vector<Turn> turns_;
  std::unique_ptr<Measuring> measuring_;  ///< nullptr if there are no conversions
};

}  // namespace msc::cost
