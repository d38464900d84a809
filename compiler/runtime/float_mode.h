#pragma once

#include <cstdint>

namespace msc {

/// While it lives, subnormal numbers of f32 and f64 are read and written as 0 by the calling
/// thread, and by those that it has in the pool of threads.h up to the count given, as XNNPACK and
/// TensorFlow Lite have it: a multiplication of one takes many CPUs over a hundred times as long.
/// Results change by less than the smallest normal number (1.2e-38 in f32) times what it is
/// multiplied by. Does nothing on CPUs other than x86.
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

/// How the calling thread treats subnormal numbers, and rounds: what SetFloatMode takes.
[[nodiscard]] std::uint32_t FloatMode();
void SetFloatMode(std::uint32_t mode);

}  // namespace msc
