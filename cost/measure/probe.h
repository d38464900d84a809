#pragma once

#include <chrono>
#include <functional>

namespace msc::cost {

/// Functions that read the machine's clocks and load. Tests replace them.
struct Probe {
  std::function<std::chrono::nanoseconds()> now;  ///< monotonic
  /// Total time that threads of this process were ready to run but had no core.
  std::function<std::chrono::nanoseconds()> waited;
  /// Total time that a hypervisor took from the machine.
  std::function<std::chrono::nanoseconds()> stolen;
  /// A fixed piece of work of about 10 microseconds; its time shows the speed of the core.
  std::function<void()> yardstick;
};
/// Returns the probe of the real machine.
[[nodiscard]] Probe SystemProbe();

}  // namespace msc::cost
