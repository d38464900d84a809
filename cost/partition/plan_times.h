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

/// Times of whole plans, kept beside the costs of regions: those that were timed in turn are one
/// entry, since their ratios hold among them. For one thread.
class PlanTimes {
 public:
  /// All references outlive this. `fresh`: measures what is kept, too, and keeps that.
  PlanTimes(const RegionSource& source, const TargetRegistry& targets, RegionMeter& meter,
            const std::string& folder, RegionCostContext context, bool fresh);

  struct Timed {
    std::vector<Result<Outcome>> outcomes;  ///< by runner; kLost where it was stopped before
    std::string taken;  ///< "2026-01-31 12:00 UTC" where these were kept; empty: just now
  };
  /// Times the whole graph by each of `runners`, in turn; ratios are to the first that runs. How is
  /// what the context says. The same runners for the second time are timed a second time, and that
  /// is kept apart.
  [[nodiscard]] Timed Time(std::span<const RegionRunner> runners,
                           const std::function<bool()>& stop = {});
  /// What measuring took so far.
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
  std::map<std::string, int> asked_;  ///< how often, by key
  std::string graph_hash_;            ///< made when needed
  RegionMeter::Spent spent_;
};

}  // namespace msc::cost
