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

namespace msc {
class TemporaryFolder;
}  // namespace msc

namespace msc::cost {

/// Where and how regions are measured.
struct RegionMeterOptions {
  /// Start of the command line of the child; the path of the request is appended.
  std::vector<std::string> child;  ///< {"/path/of/mscgym", "measure-regions"}
  std::vector<int> cores;          ///< children are bound to these, exclusively
  /// Before many regions are measured, a child on these cores, which it shares, generates code for
  /// all of them. If empty, each region compiles its own code.
  std::vector<int> build_cores;
  int threads = 1;                       ///< threads of a runner
  std::string lock_folder = "/tmp";      ///< must be the same for all processes on the machine
  std::string scratch = "/tmp";          ///< for a folder of files, which is removed after use
  std::vector<std::string> environment;  ///< "NAME=value", added to the environment of a child
  std::int64_t patience_ms = 60'000;     ///< time limit for building a runner, or timing a group
  std::int64_t memory_mb = 0;            ///< of a child, see ChildLimits; 0 = unlimited
};

/// Measures regions of one model in children, one child after another, each for many regions.
///
/// If a runner crashes its child or takes too long, a new child continues with the remaining work.
/// If that happens while a group is timed, the group's runners are then timed separately. If
/// another process kills or stops a child, another child continues; a runner that was interrupted
/// kMaxTries times in a row fails with kLost. For one thread at a time.
class RegionMeter {
 public:
  /// `source` must outlive this object.
  RegionMeter(const RegionSource& source, RegionMeterOptions options);
  RegionMeter(const RegionMeter&) = delete;
  RegionMeter& operator=(const RegionMeter&) = delete;
  ~RegionMeter();

  /// How time was spent, in seconds.
  struct Spent {
    double kernels = 0;  ///< generating and compiling code of many regions
    double build = 0;    ///< cutting, compiling, first runs, and starting children
    double timing = 0;
    double waiting = 0;  ///< for cores that other processes held
    Spent& operator+=(const Spent& other);
  };
  /// Progress of a call of Measure.
  struct Progress {
    std::size_t groups = 0;    ///< whose code is compiled in advance; 0 = none
    std::size_t compiled = 0;  ///< groups whose code is compiled
    std::size_t runners = 0;   ///< to be measured
    std::size_t measured = 0;  ///< measured or failed
  };
  using Watch = std::function<void(const Progress& progress)>;
  /// Called for every runner of every group as soon as its outcome is known; quality is empty.
  using Done =
      std::function<void(std::size_t group, std::size_t runner, const Result<Outcome>& outcome)>;
  /// Measures all runners and returns the time spent. Returns early, without the remaining
  /// outcomes, soon after `stop` (optional) returns true. `watch` (optional) receives the progress
  /// from the start on. SystemError if the graph cannot be written to `scratch`.
  Spent Measure(std::span<const RegionGroup> groups, const RegionTiming& timing, const Done& done,
                const std::function<bool()>& stop = {}, const Watch& watch = {});

 private:
  /// Returns the index of a source's files; writes them on first use.
  [[nodiscard]] std::int64_t IndexOf(const RegionSource& source);
  /// Returns the request for all groups; writes the files of their sources on first use.
  [[nodiscard]] RegionRequest RequestFor(std::span<const RegionGroup> groups,
                                         const RegionTiming& timing);
  const RegionSource& source_;
  RegionMeterOptions options_;
  std::unique_ptr<TemporaryFolder> folder_;  ///< made on first use
  std::vector<const RegionSource*> written_;
  std::vector<SourceFiles> files_;  ///< of the sources in written_
};

}  // namespace msc::cost
