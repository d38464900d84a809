#pragma once

namespace msc::test {

/// Calls `body` once on each of `threads` threads of OpenMP's pool, as a library that knows nothing
/// of us would.
void LibraryLoop(int threads, void (*body)(void* object), void* object);

}  // namespace msc::test
