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

FlushSubnormals::FlushSubnormals() : before_(FloatMode()) {
  SetFloatMode(before_ | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
}

#else

std::uint32_t FloatMode() {
  return 0;
}

void SetFloatMode(std::uint32_t /*mode*/) {}

FlushSubnormals::FlushSubnormals() : before_(0) {}

#endif

FlushSubnormals::~FlushSubnormals() {
  SetFloatMode(before_);
}

}  // namespace msc
