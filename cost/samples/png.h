#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace msc::cost {

/// Returns a PNG file with 8-bit pixels in rows from top to bottom: grey for 1 channel, red, green
/// and blue side by side for 3 (W3C, "Portable Network Graphics", third edition). InternalError if
/// the sizes do not fit `pixels`, or for other channels.
[[nodiscard]] std::string EncodePng(std::span<const std::uint8_t> pixels, std::uint32_t width,
                                    std::uint32_t height, std::uint32_t channels);

}  // namespace msc::cost
