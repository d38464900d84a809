#pragma once

#include <cstdint>

namespace msc {

/// Bytes of address space that OpenBLAS maps for each of its threads: a buffer of 128 MiB plus 64
/// KiB for alignment. Read from OpenBLAS 0.3.21 (Debian) on x86-64; other builds map no more.
inline constexpr std::int64_t kOpenBlasBufferBytes = (std::int64_t{128} << 20) + (1 << 16);

/// Returns the bytes of address space that mscgym needs to start while OpenBLAS may use `threads`
/// threads: the program and its libraries, one buffer per thread, which OpenBLAS maps when it is
/// loaded, and one buffer that the first matrix product maps. OpenBLAS retries a failed mapping
/// forever, so mscgym rejects a lower limit on address space (ulimit -v, RLIMIT_AS) and never sets
/// one.
constexpr std::int64_t LeastAddressSpace(int threads) {
  constexpr std::int64_t kProgramBytes = std::int64_t{256} << 20;
  return kProgramBytes + (threads + 1) * kOpenBlasBufferBytes;
}

}  // namespace msc
