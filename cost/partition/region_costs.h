#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/targets/target.h"
#include "cost/cache/store.h"
#include "cost/learned/region_model.h"
#include "cost/model/outcome.h"
#include "cost/partition/region_meter.h"

namespace msc::cost {

/// A region and the target that computes it.
struct MeasuredRegion {
  std::vector<std::string> nodes;  ///< in the graph's order
  std::string target;              ///< target spec
};

/// Everything that a cost depends on besides the region and its target.
struct RegionCostContext {
  std::string cpu;      ///< CpuFingerprint
  std::string program;  ///< version of this program, since its kernels affect times
  int threads = 1;
  RegionTiming timing;  ///< how regions are timed
};

/// Returns a key made from all parts; no two different lists give the same bytes to hash.
[[nodiscard]] std::string KeyFrom(const std::vector<std::string>& parts);

/// Returns the timing of regions of `graph` for searches that request hundreds of them: a few
/// rounds within 40 ms per runner, after a short warm-up; slow runners are dropped. Weights are as
/// cold as in the whole graph, so that costs of regions add up to the time of the graph.
[[nodiscard]] RegionTiming QuickTiming(const Graph& graph);

/// Costs of regions, cached by structure (StructureHash): regions of equal structure, in this and
/// in all other models that use the same folder, are measured once. Repeatable failures are cached
/// as well (see CachingEvaluator). Several processes may share the folder; one object is for one
/// thread.
class RegionCosts {
 public:
  /// All references must outlive this object. Creates `folder` if it is missing.
  RegionCosts(const RegionSource& source, const TargetRegistry& targets, RegionMeter& meter,
              const std::string& folder, RegionCostContext context);
  RegionCosts(const RegionCosts&) = delete;
  RegionCosts& operator=(const RegionCosts&) = delete;
  ~RegionCosts();

  /// Returns a cached cost without measuring.
  [[nodiscard]] std::optional<Result<Outcome>> Find(const MeasuredRegion& region);

  /// Called once for every region, as soon as its cost is known.
  using Done = std::function<void(std::size_t region, const Result<Outcome>& outcome)>;
  /// Finds costs in the cache or measures them. Targets of regions of one structure are timed
  /// against each other. Returns when all costs are reported, or soon after `stop` returns true.
  /// `watch` is that of RegionMeter::Measure, for the regions that are not cached.
  void Measure(std::span<const MeasuredRegion> regions, const Done& done,
               const std::function<bool()>& stop = {}, const RegionMeter::Watch& watch = {});
  /// Returns the approximate seconds to build and time one region.
  [[nodiscard]] double ExpectedSeconds() const;

  /// Enables the model of costs. Costs that Measure finds or measures become samples for later
  /// studies, if the folder is writable.
  void Learn();
  /// Returns the model of costs. It is fitted on the first call, which takes a few seconds, to
  /// samples of other models in the folder that were measured with this processor, program and
  /// number of threads. Samples of this model are excluded, so that a second run requests the same
  /// costs. nullptr if Learn was not called, or if the folder has no samples and cannot be written.
  [[nodiscard]] const RegionModel* model();
  /// Returns whether the model predicts costs on a target.
  [[nodiscard]] bool CanPredict(const std::string& target);
  /// Returns the predicted cost; nothing if the model does not know the target.
  [[nodiscard]] std::optional<RegionModel::Prediction> Predict(const MeasuredRegion& region);

  struct Counts {
    std::int64_t found = 0;     ///< regions found in the cache, or by a region of equal structure
    std::int64_t measured = 0;  ///< regions that were compiled and timed
    std::int64_t failed = 0;    ///< measured regions that failed
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// Returns the time spent on measuring so far.
  [[nodiscard]] const RegionMeter::Spent& spent() const noexcept { return spent_; }
  /// Returns a number for each region; regions of the same number have the same cost.
  [[nodiscard]] std::vector<std::uint32_t> Alike(std::span<const MeasuredRegion> regions);
  /// Returns how many measurements these regions need: pairs of structure and target without a
  /// known cost.
  [[nodiscard]] std::size_t CountUnknown(std::span<const MeasuredRegion> regions);

 private:
  [[nodiscard]] std::string KeyOf(const MeasuredRegion& region);
  /// Returns the hash of the region's structure, as cut out for its target.
  [[nodiscard]] const std::string& StructureOf(const MeasuredRegion& region);
  [[nodiscard]] const std::string& StructureOf(const RegionSource& source,
                                               const std::vector<std::string>& nodes,
                                               bool channels_last);
  [[nodiscard]] Graph Cut(const MeasuredRegion& region) const;
  [[nodiscard]] std::optional<Result<Outcome>> Read(const std::string& key);
  void Keep(const std::string& key, const Result<Outcome>& outcome);
  struct Learned;
  [[nodiscard]] const std::vector<double>& FeaturesOf(const MeasuredRegion& region);
  [[nodiscard]] std::string SampledTarget(const std::string& spec) const;
  /// Stores a sample for later studies, if Learn was called.
  void Sample(const std::string& key, const MeasuredRegion& region, const Result<Outcome>& outcome);

  const RegionSource& source_;
  const TargetRegistry& targets_;
  RegionMeter& meter_;
  std::string folder_;
  OutcomeStore store_;
  RegionCostContext context_;
  std::string context_text_;
  /// By source, nodes, and whether images are exchanged channels last.
  std::map<std::tuple<const RegionSource*, std::vector<std::string>, bool>, std::string>
      structures_;
  std::map<std::string, Result<Outcome>> known_;  ///< by key
  Counts counts_;
  RegionMeter::Spent spent_;
  std::unique_ptr<Learned> learned_;
};

}  // namespace msc::cost
