#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "compiler/base/sanitizer.h"

namespace msc {

/// Returns whether a test runs only a sample of its cases. That is so under a sanitizer, where
/// tests take ten times as long and look for mistakes that few cases show, and where ctest asks for
/// it (SWEEPS in tests/CMakeLists.txt); ctest then also runs the test with all cases under the
/// label slow.
inline bool Sampled() {
  return kSanitized || std::getenv("MSC_SAMPLE_CASES") != nullptr;
}

/// Returns the number of random cases for a test that has `all`: a quarter of them in a sample.
inline std::uint64_t Seeds(std::uint64_t all) {
  return Sampled() ? (all + 3) / 4 : all;
}

/// Returns the step through a list of cases: 5 in a sample, else 1. It is odd, so that each bit of
/// a byte is tested.
inline std::size_t Stride() {
  return Sampled() ? 5 : 1;
}

}  // namespace msc
