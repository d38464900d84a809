#pragma once

#include <vector>

namespace msc {

/// Sets how many threads the kernels of every library use for calls from this thread. >= 1.
void UseThreads(int count);

/// Cores this process may run on, ascending.
[[nodiscard]] std::vector<int> AllowedCores();

/// Binds the calling process to these cores. SystemError if the system refuses.
void PinTo(const std::vector<int>& cores);

}  // namespace msc
