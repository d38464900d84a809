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

/// Nodes that one target computes as one region.
struct MeasuredRegion {
  std::vector<std::string> nodes;  ///< in the graph's order
  std::string target;              ///< spec
};

/// What a cost depends on besides the region and its target.
struct RegionCostContext {
  std::string cpu;      ///< CpuFingerprint
  std::string program;  ///< version of this program: its kernels take their time too
  int threads = 1;
  RegionTiming timing;  ///< how regions are timed
};

/// Something of a context, named in keys: every part with its length.
[[nodiscard]] std::string KeyFrom(const std::vector<std::string>& parts);

/// How regions of `graph` are timed in a search that asks for hundreds: a few rounds, a tenth of a
/// second at most; slow ones are given up; weights are as cold as in the graph as a whole, so that
/// costs of regions add up to what the graph takes.
[[nodiscard]] RegionTiming QuickTiming(const Graph& graph);

/// Costs of regions, measured once: regions of one structure (see StructureHash) are one, in this
/// model and in any other whose costs are kept in the same folder. Failures are kept where they
/// would come again (see CachingEvaluator). Several processes may share the folder; one object is
/// for one thread.
class RegionCosts {
 public:
  /// All references outlive this. `folder` is made where it is missing.
  RegionCosts(const RegionSource& source, const TargetRegistry& targets, RegionMeter& meter,
              const std::string& folder, RegionCostContext context);
  RegionCosts(const RegionCosts&) = delete;
  RegionCosts& operator=(const RegionCosts&) = delete;
  ~RegionCosts();

  /// What is known without measuring.
  [[nodiscard]] std::optional<Result<Outcome>> Find(const MeasuredRegion& region);

  /// Called for every region once, as soon as it is known.
  using Done = std::function<void(std::size_t region, const Result<Outcome>& outcome)>;
  /// Finds or measures. Targets that are asked about one structure are timed against each other.
  /// Returns when all are reported, or soon after `stop` says true. `watch` as
  /// RegionMeter::Measure: of what is not known yet.
  void Measure(std::span<const MeasuredRegion> regions, const Done& done,
               const std::function<bool()>& stop = {}, const RegionMeter::Watch& watch = {});
  /// Seconds that building and timing one takes, about.
  [[nodiscard]] double ExpectedSeconds() const;

  /// From now on there is a model, and costs that Measure finds or measures become samples for
  /// later studies, as far as the folder can be written to.
  void Learn();
  /// Fitted, when it is first asked for, to samples of other models in the folder that were taken
  /// here: on this processor, with this program and as many threads. Those of this one would make a
  /// second run ask for something else. Takes a second or a few. nullptr where Learn was not
  /// called, or the folder has no samples and cannot have any.
  [[nodiscard]] const RegionModel* model();
  /// Whether it predicts what regions cost on a target.
  [[nodiscard]] bool CanPredict(const std::string& target);
  /// What it predicts; nothing where it does not know the target.
  [[nodiscard]] std::optional<RegionModel::Prediction> Predict(const MeasuredRegion& region);

  struct Counts {
    std::int64_t found = 0;     ///< regions answered from the folder, or from a region like it
    std::int64_t measured = 0;  ///< that were compiled and timed
    std::int64_t failed = 0;    ///< of those
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// What measuring took so far.
  [[nodiscard]] const RegionMeter::Spent& spent() const noexcept { return spent_; }
  /// A number for each region: those of the same number have the same cost.
  [[nodiscard]] std::vector<std::uint32_t> Alike(std::span<const MeasuredRegion> regions);
  /// How many measurements regions of these would take: distinct structures and targets that are
  /// not known.
  [[nodiscard]] std::size_t CountUnknown(std::span<const MeasuredRegion> regions);

 private:
  [[nodiscard]] std::string KeyOf(const MeasuredRegion& region);
  /// Of what is cut out for its target.
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
  /// Keeps a sample for later studies, where Learn was called.
  void Sample(const std::string& key, const MeasuredRegion& region, const Result<Outcome>& outcome);

  const RegionSource& source_;
  const TargetRegistry& targets_;
  RegionMeter& meter_;
  std::string folder_;
  OutcomeStore store_;
  RegionCostContext context_;
  std::string context_text_;
  /// By what it is cut out of, nodes, and whether channels last.
  std::map<std::tuple<const RegionSource*, std::vector<std::string>, bool>, std::string>
      structures_;
  std::map<std::string, Result<Outcome>> known_;  ///< by key
  Counts counts_;
  RegionMeter::Spent spent_;
  std::unique_ptr<Learned> learned_;
};

}  // namespace msc::cost
