#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/ir/tensor.h"

namespace msc::cost {

/// A sound.
struct Wave {
  std::int64_t rate = 0;  ///< samples per second
  Tensor samples;         ///< f32 [channels, samples]; integers are scaled to [-1, 1)
};

/// Reads a WAV file: PCM of 8, 16, 24 or 32 bits, or floats of 32 or 64 bits. UserError for other
/// files, a damaged file, and files of more than 256 MiB.
/// Source: Multimedia Programming Interface and Data Specifications 1.0 (RIFF), and RFC 2361.
[[nodiscard]] Wave ReadWave(const std::string& path);

/// What a model wants of a sound.
struct WaveFit {
  std::int64_t channels = 1;                ///< 1: all channels are averaged
  std::optional<std::int64_t> length = {};  ///< in samples; nothing = any
  bool cut = false;                         ///< whether a sound may be cut or filled up with 0
};
/// Returns a sound as f32 [channels, samples]: a sound of one channel is repeated for each channel
/// of the model. UserError naming `path` if channels or length do not fit.
[[nodiscard]] Tensor FitWave(const Wave& wave, const WaveFit& fit, const std::string& path);

}  // namespace msc::cost
