#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/base/sanitizer.h"

namespace msc {

/// How many random cases a test goes through where it would be `all`: a quarter under a sanitizer,
/// which takes ten times as long and looks for mistakes that few cases show.
constexpr std::uint64_t Seeds(std::uint64_t all) {
  return kSanitized ? (all + 3) / 4 : all;
}

/// The step through a list of cases that a test has all at hand: one of five under a sanitizer.
/// Odd, so that each bit of a byte has its turn.
constexpr std::size_t kStride = kSanitized ? 5 : 1;

}  // namespace msc
