#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/partition/problem.h"
#include "cost/partition/region_costs.h"

namespace msc::cost {

/// The target as it exchanges images channels last: "native:images=channels_last".
[[nodiscard]] std::string ChannelsLastSpec(const std::string& spec);

/// Labels what candidates of targets that exchange images channels last exchange so: a label for
/// each such target, as each turns images by itself; where two of them want one that is dense, the
/// sum counts two turns and LowerFor makes one. With `others`, candidates of
/// targets that lay images channels last but exchange them dense (see Target) get a rival that does
/// not, where there are images to exchange.
void ExchangeChannelsLast(const RegionSource& source, const TargetRegistry& registry, bool others,
                          CoverProblem& problem);

/// Edges of a cover problem: what it costs each target that exchanges images channels last to turn
/// one from dense or back, for every size and type that occurs. Measured like regions, alone, and
/// kept with them: a size is measured once for all models.
class TurnCosts {
 public:
  /// `targets` outlives this. As RegionCosts, with `meter` for how children are started.
  TurnCosts(const CoverProblem& problem, const RegionSource& source, const TargetRegistry& targets,
            const RegionMeterOptions& meter, const std::string& folder,
            const RegionCostContext& context);
  TurnCosts(const TurnCosts&) = delete;
  TurnCosts& operator=(const TurnCosts&) = delete;
  ~TurnCosts();

  /// How many are not known.
  [[nodiscard]] std::size_t CountUnknown();
  /// Finds or measures, and sets problem.conversions. What its target cannot turn, or `stop` left
  /// out, cannot be converted. Nothing to do where no candidate exchanges images channels last.
  void Measure(CoverProblem& problem, const std::function<bool()>& stop = {});

  [[nodiscard]] RegionCosts::Counts counts() const;
  [[nodiscard]] RegionMeter::Spent spent() const;

 private:
  struct Turn;
  struct Measuring;
  std::vector<Turn> turns_;
  std::unique_ptr<Measuring> measuring_;  ///< nullptr where there are no turns
};

}  // namespace msc::cost
