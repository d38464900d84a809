#pragma once

#include <cstdint>

namespace msc {

/// A guard: while it exists, the calling thread, and its threads in the pool of threads.h up to
/// `pool_threads`, read and write subnormal numbers of f32 and f64 as 0, as in XNNPACK and
/// TensorFlow Lite. On many CPUs, multiplying a subnormal number takes over a hundred times as
/// long. Results change by less than the smallest normal number (1.2e-38 in f32) times the factors
/// it is multiplied by. Does nothing on CPUs other than x86.
class FlushSubnormals {
 public:
  explicit FlushSubnormals(int pool_threads = 1);
  ~FlushSubnormals();
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
  std::uint32_t before_;
  int pool_threads_;
};

/// FloatMode returns how the calling thread treats subnormal numbers and rounds; SetFloatMode sets
/// it.
[[nodiscard]] std::uint32_t FloatMode();
void SetFloatMode(std::uint32_t mode);

}  // namespace msc
