#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/kernel/func.h"

namespace msc {

/// A kernel that Verify accepts: nested loops, branches, locals, loads and stores of all and of
/// some lanes, every type and operation. Computed from the inputs of RandomInputs its results are
/// exact, so that an interpreter and any compiler agree in every bit: f32 holds small multiples of
/// 1/4, and rounded functions come last. The same seed gives the same kernel.
[[nodiscard]] kernel::KernelFunc RandomKernel(std::uint64_t seed);

/// Bytes for each buffer; what is only written is filled with a pattern.
[[nodiscard]] std::vector<std::vector<std::byte>> RandomInputs(const kernel::KernelFunc& func,
                                                               std::uint64_t seed);

}  // namespace msc
