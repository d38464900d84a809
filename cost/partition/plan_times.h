#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/targets/target.h"
#include "cost/cache/store.h"
#include "cost/model/outcome.h"
#include "cost/partition/region_costs.h"
#include "cost/partition/region_meter.h"

namespace msc::cost {

/// Times of whole plans, cached beside the costs of regions. Plans that were timed interleaved
/// share an entry, because their ratios only hold among them. For one thread.
class PlanTimes {
 public:
  /// All references must outlive this object. With `fresh`, cached plans are measured and cached
  /// again.
  PlanTimes(const RegionSource& source, const TargetRegistry& targets, RegionMeter& meter,
            const std::string& folder, RegionCostContext context, bool fresh);

  struct Timed {
    std::vector<Result<Outcome>> outcomes;  ///< by runner; kLost if stopped before
    /// "2026-01-31 12:00 UTC" if the times were cached; empty if they were measured now.
    std::string taken = {};
  };
  /// Times the whole graph on each of `runners`, interleaved, as the context says. Ratios are to
  /// the first runner that runs. If the same runners are given again, they are measured again and
  /// cached separately.
  [[nodiscard]] Timed Time(std::span<const RegionRunner> runners,
                           const std::function<bool()>& stop = {});
  /// Returns the time spent on measuring so far.
  [[nodiscard]] const RegionMeter::Spent& spent() const noexcept { return spent_; }

 private:
  [[nodiscard]] std::string KeyOf(std::span<const RegionRunner> runners);
  [[nodiscard]] Timed Read(const std::string& key, std::size_t runners) const;
  void Keep(const std::string& key, const Timed& timed) const;

  const RegionSource& source_;
  const TargetRegistry& targets_;
  RegionMeter& meter_;
  OutcomeStore store_;
  RegionCostContext context_;
  bool fresh_;
  std::map<std::string, int> asked_;  ///< number of calls by key
  std::string graph_hash_;            ///< computed on demand
  RegionMeter::Spent spent_;
};

}  // namespace msc::cost
