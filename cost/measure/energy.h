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

/// Reads the energy used by the CPU packages from the counters under /sys/class/powercap (RAPL).
/// They include cores, caches and everything else in the package, whichever process used it. Not
/// thread-safe.
/// Source: Linux documentation, "Power Capping Framework".
class EnergyMeter {
 public:
  /// Opens the packages below `root` (which tests replace). Returns kUnsupported with the reason if
  /// there are none or if this process may not read them.
  [[nodiscard]] static Result<EnergyMeter> Open(const std::string& root = "");

  /// Returns the joules of all packages since Open. Must be called at least once a minute, because
  /// counters wrap around. SystemError if a counter is no longer readable.
  [[nodiscard]] double Joules();

 private:
  struct Package {
    std::string file;
    std::uint64_t range = 0;  ///< microjoules after which it wraps to 0; 0 = unknown
    std::uint64_t last = 0;   ///< microjoules
  };
  std::vector<Package> packages_;
  double microjoules_ = 0;
};

/// Functions that read the machine's clock and energy. Tests replace them.
struct EnergyProbe {
  std::function<std::chrono::nanoseconds()> now;  ///< monotonic
  std::function<double()> joules;                 ///< used so far; monotonic
};

/// Measures the energy per call of each candidate and of `reference`. In each of five rounds every
/// side is called for 200 ms, much longer than the update interval of a counter, in an order that
/// reverses every round. Returns medians over rounds; the interval spans all rounds. The counters
/// include all load of the package, so ratios are more reliable than joules. InternalError if a
/// counter does not change in 200 ms.
[[nodiscard]] std::vector<Energy> MeasureEnergy(const Call& reference,
                                                std::span<const Call> candidates,
                                                const EnergyProbe& probe);

/// Runs MeasureTogether, then MeasureEnergy if `energy` is given, and repeats both `repeats` times,
/// so that changes of the machine affect time and energy alike. Combines the repeats of each
/// candidate (Combine).
[[nodiscard]] std::vector<Latency> MeasureRepeats(const Call& reference,
                                                  std::span<const Call> candidates,
                                                  const LatencyOptions& options,
                                                  std::int64_t repeats, const Probe& probe,
                                                  const std::optional<EnergyProbe>& energy);

}  // namespace msc::cost
