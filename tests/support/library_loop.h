#pragma once

namespace msc::test {

/// Calls `body` once on each of `threads` threads of OpenMP's pool, as a library would that does
/// not know this program.
void LibraryLoop(int threads, void (*body)(void* object), void* object);

}  // namespace msc::test
