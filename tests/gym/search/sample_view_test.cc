#include "gym/search/sample_view.h"

#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/base64.h"
#include "cost/samples/png.h"

namespace msc::gym {
namespace {

std::vector<Tensor> Image(const Dims& dims, const std::vector<float>& numbers) {
  Tensor tensor(DType::kF32, dims);
  std::ranges::copy(numbers, tensor.MutableValues<float>().begin());
  return {tensor};
}

std::string Png(const std::vector<std::uint8_t>& pixels, std::uint32_t width, std::uint32_t height,
                std::uint32_t channels) {
  return Base64(cost::EncodePng(pixels, width, height, channels));
}

TEST(PictureOf, StretchesTheContrastAndOrdersChannels) {
  std::vector<float> planes(3 * 16);
  std::vector<std::uint8_t> pixels(3 * 16);
  for (std::size_t i = 0; i < 16; ++i) {
    planes[i] = -1;                         // red
    planes[16 + i] = 1;                     // green
    planes[32 + i] = i == 5 ? 1.0F : 0.0F;  // blue
    pixels[3 * i + 1] = 255;
    pixels[3 * i + 2] = i == 5 ? 255 : 128;
  }
  EXPECT_EQ(PictureOf(Image({1, 3, 4, 4}, planes)), Png(pixels, 4, 4, 3));
  std::vector<float> last;
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) last.push_back(planes[channel * 16 + i]);
  }
  EXPECT_EQ(PictureOf(Image({1, 4, 4, 3}, last)), Png(pixels, 4, 4, 3));
}

TEST(PictureOf, ReducesLargeImagesToMeans) {
  // Checks of 1 x 1 pixel: blocks of 2 x 2 are equal, and so grey without contrast.
  constexpr std::size_t kSide = 128;
  std::vector<float> checks(kSide * kSide);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    checks[i] = (i + i / kSide) % 2 == 0 ? 1.0F : 0.0F;
  }
  EXPECT_EQ(PictureOf(Image({1, 1, kSide, kSide}, checks)),
            Png(std::vector<std::uint8_t>(64 * 64), 64, 64, 1));
}

TEST(PictureOf, IsEmptyForWhatIsNoImage) {
  EXPECT_EQ(PictureOf({}), "");
  EXPECT_EQ(PictureOf(Image({1, 16}, std::vector<float>(16))), "");
  EXPECT_EQ(PictureOf(Image({1, 2, 4, 4}, std::vector<float>(32))), "");
  EXPECT_EQ(PictureOf(Image({1, 1, 1, 16}, std::vector<float>(16))), "");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(PictureOf(Image({1, 1, 4, 4}, std::vector<float>(16, nan))), "");
}

TEST(TokensOf, ListsIntegers) {
  Tensor tokens(DType::kI64, {1, 3});
  const auto values = tokens.MutableValues<std::int64_t>();
  values[0] = 101;
  values[1] = -5;
  values[2] = 102;
  EXPECT_EQ(TokensOf(std::vector{tokens}), "101 -5 102");
  EXPECT_EQ(TokensOf(Image({1, 3}, {1, 2, 3})), "");
  const Tensor many(DType::kI32, {1, 100});
  EXPECT_TRUE(TokensOf(std::vector{many}).ends_with(" 0 \xE2\x80\xA6"));
}

}  // namespace
}  // namespace msc::gym
