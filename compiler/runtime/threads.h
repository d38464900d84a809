#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

namespace msc {

// One pool for all: the one of OpenMP. Generated code, our own loops and the libraries built on
// OpenMP share its threads, so that none waits for cores that another holds. Libraries with threads
// of their own are told to put them to sleep when a call ends. PinTo binds all of them, since
// threads inherit it: call it before the first parallel loop. OpenMP has such a pool for each
// thread that comes from outside, so threads that run executables at once do not wait for each
// other, and together have as many threads as they ask for.

/// Sets how many threads the kernels of every library use for calls from this thread. >= 1.
void UseThreads(int count);

/// Calls `body(object, begin, end)` for up to `threads` equal parts of [0, count), each on a thread
/// of the pool, with the FloatMode of the caller. No allocation. `body` must not throw.
void ParallelParts(int threads, std::int64_t count,
                   void (*body)(void* object, std::int64_t begin, std::int64_t end), void* object);

/// As ParallelParts, with a callable `body(begin, end)`.
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

/// Cores this process may run on, ascending.
[[nodiscard]] std::vector<int> AllowedCores();

/// Binds the calling process to these cores. SystemError if the system refuses.
void PinTo(const std::vector<int>& cores);

}  // namespace msc
