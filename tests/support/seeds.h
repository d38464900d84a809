#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "compiler/base/sanitizer.h"

namespace msc {

/// Whether a test goes through a part of its cases: under a sanitizer, which takes ten times as
/// long and looks for mistakes that few cases show, and where ctest asks for it (SWEEPS in
/// tests/CMakeLists.txt), which then runs the test under label slow too, with all of them.
inline bool Sampled() {
  return kSanitized || std::getenv("MSC_SAMPLE_CASES") != nullptr;
}

/// How many random cases a test goes through where it would be `all`: a quarter of them in a
/// sample.
inline std::uint64_t Seeds(std::uint64_t all) {
  return Sampled() ? (all + 3) / 4 : all;
}

/// The step through a list of cases that a test has all at hand: one of five in a sample. Odd, so
/// that each bit of a byte has its turn.
inline std::size_t Stride() {
  return Sampled() ? 5 : 1;
}

}  // namespace msc
