#pragma once

#include <cstdint>

namespace msc {

/// What OpenBLAS maps for each of its threads: a buffer of 128 MiB, with what aligns it. As of
/// Debian's 0.3.21 on x86-64; that of other builds is no larger.
inline constexpr std::int64_t kOpenBlasBufferBytes = (std::int64_t{128} << 20) + (1 << 16);

/// Address space that mscgym needs to start where OpenBLAS may use so many threads: its program and
/// libraries, a buffer a thread, which OpenBLAS takes when it is loaded, and one for the first who
/// multiplies. Where it cannot have them it tries for ever, so a limit on address space (ulimit -v,
/// RLIMIT_AS) below this is refused and not set.
constexpr std::int64_t LeastAddressSpace(int threads) {
  constexpr std::int64_t kProgramBytes = std::int64_t{256} << 20;
  return kProgramBytes + (threads + 1) * kOpenBlasBufferBytes;
}

}  // namespace msc
