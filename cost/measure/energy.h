#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "cost/measure/latency.h"
#include "cost/model/outcome.h"

namespace msc::cost {

/// The energy that the CPU packages used, by the counters that the kernel shows under
/// /sys/class/powercap (RAPL): cores, caches and what else is in the package, whoever used it.
/// Not thread-safe.
/// Source: Linux documentation, "Power Capping Framework".
class EnergyMeter {
 public:
  /// The packages below `root` (a test gives one of its own). kUnsupported, saying why, where there
  /// are none, or none that this process may read.
  [[nodiscard]] static Result<EnergyMeter> Open(const std::string& root = "");

  /// Joules of all packages since it was opened. Counters start again at their range, so it must be
  /// asked once a minute or more often. SystemError where one cannot be read any more.
  [[nodiscard]] double Joules();

 private:
  struct Package {
    std::string file;
    std::uint64_t range = 0;  ///< microjoules after which it starts at 0; 0 = not known
    std::uint64_t last = 0;   ///< microjoules
  };
  std::vector<Package> packages_;
  double microjoules_ = 0;
};

/// What MeasureEnergy asks of the machine.
struct EnergyProbe {
  std::function<std::chrono::nanoseconds()> now;  ///< monotonic
  std::function<double()> joules;                 ///< used so far; monotonic
};

/// Energy of a call of each candidate beside that of `reference`: five rounds in which each side is
/// called for 200 ms, far longer than a counter takes to move on, in an order that turns round.
/// Medians over rounds; the interval is their hull. All that the package does meanwhile counts, so
/// ratios say more than joules. InternalError if the counter does not move in a round.
[[nodiscard]] std::vector<Energy> MeasureEnergy(const Call& reference,
                                                std::span<const Call> candidates,
                                                const EnergyProbe& probe);

/// MeasureTogether, then MeasureEnergy where `energy` is given, and all of it `repeats` times over:
/// what changes meanwhile meets time and energy alike. Of each candidate what Combine makes of its
/// repeats.
[[nodiscard]] std::vector<Latency> MeasureRepeats(const Call& reference,
                                                  std::span<const Call> candidates,
                                                  const LatencyOptions& options,
                                                  std::int64_t repeats, const Probe& probe,
                                                  const std::optional<EnergyProbe>& energy);

}  // namespace msc::cost
