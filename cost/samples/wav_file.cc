#include "cost/samples/wav_file.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "compiler/base/error.h"
#include "compiler/base/file.h"

namespace msc::cost {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 28U;
constexpr std::int64_t kMaxChannels = 64;

[[noreturn]] void Reject(const std::string& path, const std::string& why) {
  throw UserError("'" + path + "' " + why);
}

/// Returns an unsigned number of `size` bytes, the lowest first. The caller checked the range.
std::uint64_t Number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0;) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

/// The contents of a "fmt " chunk.
struct Format {
  bool floats = false;
  std::int64_t channels = 0;
  std::int64_t rate = 0;
  std::size_t bytes = 0;  ///< of a number
};

Format ReadFormat(std::string_view chunk, const std::string& path) {
  if (chunk.size() < 16) Reject(path, "has no complete WAV header");
  constexpr std::uint64_t kPcm = 1;
  constexpr std::uint64_t kFloat = 3;
  constexpr std::uint64_t kExtensible = 0xFFFE;
  std::uint64_t tag = Number(chunk, 0, 2);
  // The extended form has the tag in the first bytes of a GUID.
  if (tag == kExtensible && chunk.size() >= 26) tag = Number(chunk, 24, 2);
  Format format{.floats = tag == kFloat,
                .channels = static_cast<std::int64_t>(Number(chunk, 2, 2)),
                .rate = static_cast<std::int64_t>(Number(chunk, 4, 4)),
                .bytes = 0};
  const std::uint64_t bits = Number(chunk, 14, 2);
  const bool known = tag == kPcm     ? bits == 8 || bits == 16 || bits == 24 || bits == 32
                     : tag == kFloat ? bits == 32 || bits == 64
                                     : false;
  if (!known) {
    Reject(path, "is WAV of format " + std::to_string(tag) + " with " + std::to_string(bits) +
                     " bits; PCM of 8, 16, 24 or 32 bits and floats of 32 or 64 bits are read");
  }
  if (format.channels < 1 || format.channels > kMaxChannels || format.rate < 1) {
    Reject(path, "has " + std::to_string(format.channels) + " channels at " +
                     std::to_string(format.rate) + " Hz: no sound, or more than 64 channels");
  }
  format.bytes = static_cast<std::size_t>(bits / 8);
  return format;
}

float SampleAt(std::string_view data, std::size_t at, const Format& format) {
  if (format.floats && format.bytes == 4) {
    float value = 0;
    std::memcpy(&value, data.data() + at, sizeof value);
    return value;
  }
  if (format.floats) {
    double value = 0;
    std::memcpy(&value, data.data() + at, sizeof value);
    return static_cast<float>(value);
  }
  const auto bits = static_cast<unsigned>(format.bytes * 8);
  const double half = static_cast<double>(std::uint64_t{1} << (bits - 1));
  auto number = static_cast<double>(Number(data, at, format.bytes));
  // 8 bits are unsigned; the others are in two's complement.
  if (bits == 8) return static_cast<float>((number - half) / half);
  if (number >= half) number -= 2 * half;
  return static_cast<float>(number / half);
}

}  // namespace

Wave ReadWave(const std::string& path) {
  const std::string bytes = ReadFile(path, kMaxFile);
  const std::string_view all = bytes;
  if (!all.starts_with("RIFF") || all.size() < 12 || all.substr(8, 4) != "WAVE") {
    Reject(path, "is not a WAV file");
  }
  std::optional<Format> format;
  for (std::size_t at = 12; at + 8 <= all.size();) {
    const std::string_view name = all.substr(at, 4);
    const std::uint64_t size = Number(all, at + 4, 4);
    const std::string_view rest = all.substr(at + 8);
    // Programs that write to a pipe do not know the size.
    constexpr std::uint64_t kUnknown = 0xFFFFFFFF;
    const bool open = name == "data" && size == kUnknown;
    if (!open && size > rest.size()) Reject(path, "is truncated");
    const std::string_view chunk = open ? rest : rest.substr(0, static_cast<std::size_t>(size));
    if (name == "fmt ") format = ReadFormat(chunk, path);
    if (name == "data") {
      if (!format) Reject(path, "has no WAV header before its data");
      const std::size_t frame = format->bytes * static_cast<std::size_t>(format->channels);
      const std::size_t frames = chunk.size() / frame;
      if (frames == 0) Reject(path, "holds no sound");
      Wave wave{
          .rate = format->rate,
          .samples = Tensor(DType::kF32, {format->channels, static_cast<std::int64_t>(frames)})};
      const auto out = wave.samples.MutableValues<float>();
      for (std::size_t c = 0; c < static_cast<std::size_t>(format->channels); ++c) {
        for (std::size_t i = 0; i < frames; ++i) {
          out[c * frames + i] = SampleAt(chunk, i * frame + c * format->bytes, *format);
        }
      }
      return wave;
    }
    at += 8 + chunk.size() + chunk.size() % 2;
  }
  Reject(path, "holds no sound");
}

Tensor FitWave(const Wave& wave, const WaveFit& fit, const std::string& path) {
  const std::int64_t channels = wave.samples.dims().at(0);
  const std::int64_t own = wave.samples.dims().at(1);
  if (fit.channels != 1 && channels != 1 && fit.channels != channels) {
    Reject(path, "has " + std::to_string(channels) + " channels; the model's input needs " +
                     std::to_string(fit.channels));
  }
  const std::int64_t length = fit.length.value_or(own);
  if (length != own && !fit.cut) {
    Reject(path, "has " + std::to_string(own) + " samples; the model's input needs " +
                     std::to_string(length) +
                     ". Set 'cut' to take the beginning and to fill up with zeros");
  }
  Tensor fitted(DType::kF32, {fit.channels, length});
  const auto from = wave.samples.Values<float>();
  const auto to = fitted.MutableValues<float>();
  const bool mixed = fit.channels == 1 && channels > 1;
  for (std::int64_t c = 0; c < fit.channels; ++c) {
    for (std::int64_t i = 0; i < std::min(length, own); ++i) {
      float sum = 0;
      for (std::int64_t k = 0; k < (mixed ? channels : 1); ++k) {
        const std::int64_t channel = mixed ? k : std::min(c, channels - 1);
        sum += from[static_cast<std::size_t>(channel * own + i)];
      }
      to[static_cast<std::size_t>(c * length + i)] =
          mixed ? sum / static_cast<float>(channels) : sum;
    }
  }
  return fitted;
}

}  // namespace msc::cost
