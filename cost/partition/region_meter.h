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
  std::vector<std::string> child;  ///< {"/path/of/mscgym", "measure-regions"}
  std::vector<int> cores;          ///< children are bound to these, held exclusively
  /// Before many regions are measured, code is generated for all of them by a child on these cores,
  /// held shared. None: each region waits for its own.
  std::vector<int> build_cores;
  int threads = 1;                       ///< a runner may use
  std::string lock_folder = "/tmp";      ///< the same for all who share the machine
  std::string scratch = "/tmp";          ///< for a folder of files, which does not stay
  std::vector<std::string> environment;  ///< "NAME=value", added to what a child gets
  std::int64_t patience_ms = 60'000;     ///< for one runner to be built, or a group to be timed
  std::int64_t memory_mb = 0;            ///< of a child, see ChildLimits; 0 = unlimited
};

/// Measures regions of one model, many in one child, one child after another. A runner that crashes
/// its child or takes too long costs the rest of that child's work a new child and nothing else;
/// where that happens while a group is timed, its runners are timed each by itself. A child that
/// was killed or stopped from outside goes on in another one; what was interrupted kMostTries times
/// in a row fails with kLost. For one thread at a time.
class RegionMeter {
 public:
  /// `source` outlives this.
  RegionMeter(const RegionSource& source, RegionMeterOptions options);
  RegionMeter(const RegionMeter&) = delete;
  RegionMeter& operator=(const RegionMeter&) = delete;
  ~RegionMeter();

  /// Where time went, in seconds.
  struct Spent {
    double kernels = 0;  ///< generating and compiling code of many regions
    double build = 0;    ///< cutting, compiling and first running, and the start of children
    double timing = 0;
    double waiting = 0;  ///< for cores that others held
    Spent& operator+=(const Spent& other);
  };
  /// How far a call of Measure is.
  struct Progress {
    std::size_t groups = 0;    ///< whose code is compiled first; 0 = none
    std::size_t compiled = 0;  ///< of these, how many it is past
    std::size_t runners = 0;   ///< to be measured
    std::size_t measured = 0;  ///< or given up
  };
  using Watch = std::function<void(const Progress& progress)>;
  /// Called for every runner of every group as soon as it is known; quality is empty.
  using Done =
      std::function<void(std::size_t group, std::size_t runner, const Result<Outcome>& outcome)>;
  /// Returns what it took when every runner was reported, or soon after `stop` (where given) says
  /// true; then the others are dropped. `watch`, where given, hears how far it is, from the start.
  /// SystemError where the graph cannot be written to `scratch`.
  Spent Measure(std::span<const RegionGroup> groups, const RegionTiming& timing, const Done& done,
                const std::function<bool()>& stop = {}, const Watch& watch = {});

 private:
  class Batch;
  class Folder;
  /// Index of its files, which are written at first.
  [[nodiscard]] std::int64_t IndexOf(const RegionSource& source);
  const RegionSource& source_;
  RegionMeterOptions options_;
  std::unique_ptr<Folder> folder_;
  std::vector<const RegionSource*> written_;
  std::vector<SourceFiles> files_;  ///< of those
};

}  // namespace msc::cost
