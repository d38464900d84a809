#include "cost/samples/wav_file.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "tests/support/error_of.h"

namespace msc::cost {
namespace {

std::string Low(std::uint64_t number, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
  return bytes;
}

struct Header {
  std::uint64_t tag = 1;
  std::uint64_t channels = 1;
  std::uint64_t rate = 8000;
  std::uint64_t bits = 16;
  bool extensible = false;
};

std::string Chunk(const std::string& name, const std::string& bytes) {
  return name + Low(bytes.size(), 4) + bytes + (bytes.size() % 2 == 0 ? "" : std::string(1, '\0'));
}

std::string Wav(const Header& header, const std::string& data) {
  const std::uint64_t frame = header.channels * header.bits / 8;
  std::string format = Low(header.extensible ? 0xFFFE : header.tag, 2) + Low(header.channels, 2) +
                       Low(header.rate, 4) + Low(header.rate * frame, 4) + Low(frame, 2) +
                       Low(header.bits, 2);
  if (header.extensible)
    format +=
        Low(22, 2) + Low(header.bits, 2) + Low(0, 4) + Low(header.tag, 2) + std::string(14, 'g');
  const std::string body = Chunk("fmt ", format) + Chunk("LIST", "odd") + Chunk("data", data);
  return "RIFF" + Low(body.size() + 4, 4) + "WAVE" + body;
}

std::string Written(const std::string& bytes) {
  const std::string folder = testing::TempDir() + "wav_file/";
  MakeFolders(folder);
  const std::string path =
      folder + testing::UnitTest::GetInstance()->current_test_info()->name() + ".wav";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::vector<float> Read(const Header& header, const std::string& data) {
  const Wave wave = ReadWave(Written(Wav(header, data)));
  EXPECT_EQ(wave.rate, static_cast<std::int64_t>(header.rate));
  const auto values = wave.samples.Values<float>();
  return {values.begin(), values.end()};
}

TEST(WavFile, ScalesIntegersOfAllWidths) {
  for (const bool extensible : {false, true}) {
    EXPECT_EQ(Read({.bits = 8, .extensible = extensible}, Low(0, 1) + Low(128, 1) + Low(192, 1)),
              (std::vector<float>{-1, 0, 0.5}));
    EXPECT_EQ(Read({.bits = 16, .extensible = extensible}, Low(0x8000, 2) + Low(0x4000, 2)),
              (std::vector<float>{-1, 0.5}));
    EXPECT_EQ(Read({.bits = 24, .extensible = extensible}, Low(0xC00000, 3) + Low(1, 3)),
              (std::vector<float>{-0.5, std::ldexp(1.0F, -23)}));
    EXPECT_EQ(Read({.bits = 32, .extensible = extensible}, Low(0x80000000, 4) + Low(0x20000000, 4)),
              (std::vector<float>{-1, 0.25}));
  }
}

TEST(WavFile, ReadsFloats) {
  std::string four(4, '\0');
  const float value = 1.5F;
  std::memcpy(four.data(), &value, 4);
  EXPECT_EQ(Read({.tag = 3, .bits = 32}, four + four), (std::vector<float>{1.5, 1.5}));
  std::string eight(8, '\0');
  const double wide = -0.125;
  std::memcpy(eight.data(), &wide, 8);
  EXPECT_EQ(Read({.tag = 3, .bits = 64}, eight), (std::vector<float>{-0.125}));
}

TEST(WavFile, IsMixedRepeatedCutAndFilledUp) {
  // Two channels of three samples: (0.5, -1), (0.25, 0.25), (0, 0.5).
  const std::string data = Low(0x4000, 2) + Low(0x8000, 2) + Low(0x2000, 2) + Low(0x2000, 2) +
                           Low(0, 2) + Low(0x4000, 2);
  const Wave wave = ReadWave(Written(Wav({.channels = 2}, data)));
  EXPECT_EQ(wave.samples.dims(), (Dims{2, 3}));
  const auto fitted = [&](const WaveFit& fit) {
    const Tensor tensor = FitWave(wave, fit, "f");
    const auto values = tensor.Values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  EXPECT_EQ(fitted({}), (std::vector<float>{-0.25, 0.25, 0.25}));
  EXPECT_EQ(fitted({.channels = 2}), (std::vector<float>{0.5, 0.25, 0, -1, 0.25, 0.5}));
  EXPECT_EQ(fitted({.length = 2, .cut = true}), (std::vector<float>{-0.25, 0.25}));
  EXPECT_EQ(fitted({.length = 4, .cut = true}), (std::vector<float>{-0.25, 0.25, 0.25, 0}));
  EXPECT_EQ(ErrorOf([&] { return FitWave(wave, {.length = 4}, "f"); }),
            "'f' has 3 samples; the model's input needs 4. Set 'cut' to take the beginning and to "
            "fill up with zeros");
  EXPECT_EQ(ErrorOf([&] { return FitWave(wave, {.channels = 3}, "f"); }),
            "'f' has 2 channels; the model's input needs 3");
  const Wave mono{.rate = 1, .samples = Tensor(DType::kF32, {1, 2})};
  EXPECT_EQ(FitWave(mono, {.channels = 2}, "f").dims(), (Dims{2, 2}));
}

TEST(WavFile, RefusesWhatItCannotRead) {
  const auto refusal = [](const std::string& bytes) {
    const std::string path = Written(bytes);
    return ErrorOf([&] { return ReadWave(path); }).substr(path.size() + 3);
  };
  const std::string good = Wav({}, Low(1, 2) + Low(2, 2));
  EXPECT_EQ(refusal("RIFX"), "is not a WAV file");
  EXPECT_EQ(refusal(Wav({.tag = 2, .bits = 4}, "ab")),
            "is WAV of format 2 with 4 bits; PCM of 8, 16, 24 or 32 bits and floats of 32 or 64 "
            "bits are read");
  EXPECT_EQ(refusal(Wav({.channels = 0}, "ab")),
            "has 0 channels at 8000 Hz: no sound, or more than 64 channels");
  EXPECT_EQ(refusal(Wav({}, "")), "holds no sound");
  EXPECT_EQ(refusal("RIFF" + Low(12, 4) + "WAVE" + Chunk("data", "abcd")),
            "has no WAV header before its data");
  EXPECT_EQ(refusal(good.substr(0, good.size() - 1)), "is truncated");
  // Any other damage is an error or a sound, not a crash.
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string other = good;
    other[i] = static_cast<char>(other[i] ^ 0xFF);
    const std::string path = Written(other);
    (void)ErrorOf([&] { return ReadWave(path); });
    (void)refusal(good.substr(0, i));
  }
}

}  // namespace
}  // namespace msc::cost
