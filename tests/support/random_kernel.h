#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/kernel/func.h"

namespace msc {

/// Returns a random kernel that Verify accepts: nested loops, branches, locals, loads and stores of
/// all or some lanes, every type and operation. For inputs from RandomInputs its results are exact,
/// so an interpreter and any compiler agree in every bit: f32 values are small multiples of 1/4,
/// and functions that round come last. The same seed gives the same kernel.
[[nodiscard]] kernel::KernelFunc RandomKernel(std::uint64_t seed);

/// Returns the bytes of each buffer; write-only buffers contain random values too.
[[nodiscard]] std::vector<std::vector<std::byte>> RandomInputs(const kernel::KernelFunc& func,
                                                               std::uint64_t seed);

}  // namespace msc
