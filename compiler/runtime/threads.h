#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

namespace msc {

// One pool of threads for all: that of OpenMP. Generated code, MSCGym's own loops and libraries
// built on OpenMP share its threads, so none of them waits for cores that another one holds.
// Libraries with threads of their own are configured to let them sleep when a call ends. PinTo
// binds all threads, since threads inherit the binding: it must be called before the first parallel
// loop. OpenMP has such a pool for each external thread, so threads that run executables at once do
// not wait for each other, and together use as many threads as they request.

/// Sets how many threads the kernels of every library use for calls from this thread. UserError if
/// `count` < 1.
void UseThreads(int count);

/// Calls `body(object, begin, end)` for up to `threads` equal parts of [0, count), each on a thread
/// of the pool, with the FloatMode of the caller. Does not allocate. `body` must not throw.
void ParallelParts(int threads, std::int64_t count,
                   void (*body)(void* object, std::int64_t begin, std::int64_t end), void* object);

/// Works as ParallelParts, with a callable `body(begin, end)`.
template <class Body>
void ParallelFor(int threads, std::int64_t count, Body&& body) {
  using Callable = std::remove_reference_t<Body>;
  ParallelParts(
      threads, count,
      [](void* object, std::int64_t begin, std::int64_t end) {
        (*static_cast<Callable*>(object))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// Returns the cores that this process may run on, ascending. SystemError if they cannot be read.
[[nodiscard]] std::vector<int> AllowedCores();

/// Binds the calling process to these cores. UserError if there are none or one does not exist;
/// SystemError if the system refuses.
void PinTo(const std::vector<int>& cores);

}  // namespace msc
