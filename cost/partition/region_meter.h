#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "cost/measure/latency.h"
#include "cost/model/outcome.h"
#include "cost/partition/region_protocol.h"
#include "cost/partition/source.h"

namespace msc::cost {

/// Where and by what regions are measured.
struct RegionMeterOptions {
  /// Start of the command line of the child; the path of the request follows.
  std::vector<std::string> child;        ///< {"/path/of/mscgym", "measure-regions"}
  std::vector<int> cores;                ///< children are bound to these, held exclusively
  int threads = 1;                       ///< a runner may use
  std::string lock_folder = "/tmp";      ///< the same for all who share the machine
  std::string scratch = "/tmp";          ///< for a folder of files, which does not stay
  std::vector<std::string> environment;  ///< "NAME=value", added to what a child gets
  std::int64_t patience_ms = 60'000;     ///< for one runner to be built, or a group to be timed
  std::int64_t memory_mb = 0;            ///< address space of a child; 0 = unlimited
};

/// What one request to measure is about.
struct RegionTiming {
  LatencyOptions latency;
  double tolerance = 0;  ///< of the outputs of a group, against its first runner; 0: any
};

/// Measures regions of one model, many in one child, one child after another. A runner that crashes
/// its child or takes too long costs the rest of that child's work a new child and nothing else;
/// where that happens while a group is timed, its runners are timed each by itself. For one thread
/// at a time.
class RegionMeter {
 public:
  /// Writes the graph to a folder in `scratch`. SystemError if that fails. `source` outlives this.
  RegionMeter(const RegionSource& source, RegionMeterOptions options);
  RegionMeter(const RegionMeter&) = delete;
  RegionMeter& operator=(const RegionMeter&) = delete;
  ~RegionMeter();

  /// Called for every runner of every group as soon as it is known; quality is empty.
  using Done =
      std::function<void(std::size_t group, std::size_t runner, const Result<Outcome>& outcome)>;
  /// Returns when every runner was reported, or soon after `stop` (where given) says true; then the
  /// others are dropped.
  void Measure(std::span<const RegionGroup> groups, const RegionTiming& timing, const Done& done,
               const std::function<bool()>& stop = {});

 private:
  class Batch;
  class Folder;
  const RegionSource& source_;
  RegionMeterOptions options_;
  std::unique_ptr<Folder> folder_;
};

}  // namespace msc::cost
