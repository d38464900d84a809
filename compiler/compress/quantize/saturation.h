#pragma once

#include <cstdint>
#include <span>

namespace msc {

/// How often kernels saturate that add pairs of u8 x i8 products in 16 bits, as the instruction
/// pmaddubsw of CPUs without VNNI does: it clips sums beyond 32767.
struct PairSums {
  double can_saturate = 0;  ///< share of all pairs of weights that overflow for some activations
  double saturated = 0;     ///< share of the observed outputs in which some pair overflowed
};

/// Emulates such kernels. A pair consists of the weights of channels 2k and 2k + 1 at one tap, as
/// kernels lay them out. `levels` are the weights [outputs, channels * taps]; `activations` are
/// [rows, channels * taps] unsigned 8-bit values; signed ones are stored with 128 added. Weights of
/// 7 bits never overflow: 255 * (63 + 63) < 32768.
[[nodiscard]] PairSums CheckPairSums(std::span<const std::int8_t> levels,
                                     std::span<const std::uint8_t> activations,
                                     std::int64_t channels, std::int64_t taps);

}  // namespace msc
