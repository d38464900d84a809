#pragma once

#include <cstddef>
#include <functional>

namespace msc {

/// Cores that this process may run on. >= 1.
[[nodiscard]] int CoreCount();

/// body(i) for each i in [0, count), in that order but on `threads` threads at once, which end with
/// the call: for work done once, such as compiling or hashing. Loops of a model that runs go
/// through ParallelFor of compiler/runtime/threads.h. After `body` threw, no further one is begun,
/// and what was thrown first is thrown on.
void ForEachOnThreads(int threads, std::size_t count, const std::function<void(std::size_t)>& body);

}  // namespace msc
