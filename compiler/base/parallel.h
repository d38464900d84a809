#pragma once

#include <cstddef>
#include <functional>

namespace msc {

/// Returns the number of cores that this process may run on; at least 1.
[[nodiscard]] int CoreCount();

/// Calls body(i) for each i in [0, count) on up to `threads` threads, which start the calls in this
/// order and end before the function returns. For one-time work such as compilation or hashing;
/// loops of a running model use ParallelFor of compiler/runtime/threads.h. After the first
/// exception from `body` no further call starts, and the exception is rethrown.
void ForEachOnThreads(int threads, std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace msc
