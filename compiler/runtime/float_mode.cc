#include "compiler/runtime/float_mode.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace msc {

#if defined(__x86_64__)

std::uint32_t FloatMode() {
  return _mm_getcsr();
}

void SetFloatMode(std::uint32_t mode) {
  _mm_setcsr(mode);
}

namespace {

/// Sets the mode of the caller's threads in the pool, and of the calling thread, which is the first
/// of them.
void SetInPool(int threads, std::uint32_t mode) {
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    SetFloatMode(mode);
  }
  SetFloatMode(mode);
}

}  // namespace

FlushSubnormals::FlushSubnormals(int pool_threads)
    : before_(FloatMode()), pool_threads_(pool_threads) {
  // On some CPUs an operation with a subnormal number takes many times as long as others (decision
  // 0012). The first mode makes such results 0, the second such operands.
  SetInPool(pool_threads_, before_ | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
}

FlushSubnormals::~FlushSubnormals() {
  SetInPool(pool_threads_, before_);
}

#else

std::uint32_t FloatMode() {
  return 0;
}

void SetFloatMode(std::uint32_t /*mode*/) {}

FlushSubnormals::FlushSubnormals(int pool_threads) : before_(0), pool_threads_(pool_threads) {}

FlushSubnormals::~FlushSubnormals() = default;

#endif

}  // namespace msc
