#include "cost/samples/image_fit.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "cost/samples/data_config.h"

namespace msc::cost {
namespace {

/// Pixel (y, x, c) of an image of 10 x 7 is (37 y + 59 x + 83 c + 11 x y) mod 256.
Tensor Pattern() {
  constexpr std::int64_t kHeight = 7;
  constexpr std::int64_t kWidth = 10;
  std::vector<std::uint8_t> bytes;
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      for (std::int64_t c = 0; c < 3; ++c) {
        bytes.push_back(static_cast<std::uint8_t>((37 * y + 59 * x + 83 * c + 11 * x * y) % 256));
      }
    }
  }
  return Tensor::From<std::uint8_t>(DType::kU8, {kHeight, kWidth, 3}, bytes);
}

std::vector<int> Channel(const Tensor& image, std::size_t channel) {
  const auto all = image.Values<std::uint8_t>();
  const std::size_t size = all.size() / 3;
  return {all.begin() + static_cast<std::ptrdiff_t>(channel * size),
          all.begin() + static_cast<std::ptrdiff_t>((channel + 1) * size)};
}

struct Case {
  std::string label;
  ImageFit fit;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<int> first;   ///< channel 0
  std::vector<int> second;  ///< channel 1
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.label;
}

class Fit : public testing::TestWithParam<Case> {};

/// Results of OpenCV 4 (resize, INTER_LINEAR) and Pillow 12 (resize, BILINEAR), placed by the rules
/// of YOLO's letterbox, and of torchvision's Resize and CenterCrop.
const std::vector<Case> kCases = {
    {.label = "StretchAsOpenCv",
     .fit = {.resize = Resize::kStretch},
     .height = 5,
     .width = 4,
     .first = {53,  193, 103, 154, 117, 129, 128, 141, 180, 154,
               128, 102, 166, 115, 191, 140, 114, 101, 165, 152},
     .second = {136, 33,  148, 83, 199, 135, 96,  108, 71, 173,
                211, 185, 109, 83, 134, 82,  134, 133, 82, 69}},
    {.label = "StretchAsPillow",
     .fit = {.resize = Resize::kStretch, .antialias = true},
     .height = 5,
     .width = 4,
     .first = {75,  160, 118, 122, 127, 150, 127, 115, 144, 135,
               149, 143, 151, 121, 167, 138, 145, 132, 151, 133},
     .second = {127, 87,  143, 131, 147, 124, 124, 134, 128, 132,
                146, 149, 133, 133, 138, 94,  107, 123, 104, 92}},
    {.label = "PadInTheCenter",
     .fit = {.resize = Resize::kPad},
     .height = 6,
     .width = 6,
     .first = {114, 114, 114, 114, 114, 114, 35,  140, 181, 94,  104, 102,
               106, 211, 125, 155, 143, 99,  177, 91,  111, 173, 119, 107,
               163, 194, 139, 149, 126, 125, 114, 114, 114, 114, 114, 114},
     .second = {114, 114, 114, 114, 114, 114, 118, 127, 72,  145, 187, 132,
                178, 70,  186, 89,  194, 107, 175, 174, 98,  182, 170, 115,
                75,  117, 115, 114, 113, 91,  114, 114, 114, 114, 114, 114}},
    {.label = "PadAtTheTopLeft",
     .fit = {.resize = Resize::kPad, .pad_value = 0, .pad_at = PadAt::kTopLeft},
     .height = 6,
     .width = 6,
     .first = {35,  140, 181, 94,  104, 102, 106, 211, 125, 155, 143, 99,
               177, 91,  111, 173, 119, 107, 163, 194, 139, 149, 126, 125,
               0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0,   0},
     .second = {118, 127, 72, 145, 187, 132, 178, 70,  186, 89,  194, 107,
                175, 174, 98, 182, 170, 115, 75,  117, 115, 114, 113, 91,
                0,   0,   0,  0,   0,   0,   0,   0,   0,   0,   0,   0}},
    {.label = "CropFromAShorterSide",
     .fit = {.resize = Resize::kCrop, .shorter_side = 5, .antialias = true},
     .height = 4,
     .width = 4,
     .first = {185, 124, 114, 136, 146, 144, 125, 111, 134, 141, 148, 166, 112, 138, 182, 151},
     .second = {59, 122, 145, 147, 118, 156, 106, 132, 144, 119, 166, 119, 108, 164, 133, 107}},
    {.label = "CropFromTheLeastSide",
     .fit = {.resize = Resize::kCrop, .antialias = true},
     .height = 4,
     .width = 4,
     .first = {66, 162, 134, 119, 125, 146, 144, 131, 159, 128, 139, 170, 147, 123, 148, 149},
     .second = {131, 91, 118, 141, 151, 123, 137, 134, 132, 126, 143, 134, 101, 133, 120, 104}}};

TEST_P(Fit, GivesThePixelsOfOtherLibraries) {
  const Case& wanted = GetParam();
  const ImageSize size{.channels = 3, .height = wanted.height, .width = wanted.width};
  const Tensor fitted = FitImage(Pattern(), wanted.fit, size);
  const std::vector<std::vector<int>> channels = {wanted.first, wanted.second};
  for (std::size_t c = 0; c < 2; ++c) {
    const std::vector<int> got = Channel(fitted, c);
    ASSERT_EQ(got.size(), channels[c].size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      // These libraries compute with whole numbers and round in between.
      EXPECT_LE(std::abs(got[i] - channels[c][i]), 1) << "channel " << c << ", pixel " << i;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Image, Fit, testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.label; });

TEST(ImageFit, InterpolatesBetweenPixels) {
  const std::vector<std::uint8_t> pixels = {0, 100, 200, 20};
  const Tensor image = Tensor::From<std::uint8_t>(DType::kU8, {2, 2, 1}, pixels);
  const ImageFit stretch{.resize = Resize::kStretch};
  const Tensor wide = FitImage(image, stretch, {.channels = 3, .height = 2, .width = 4});
  EXPECT_EQ(wide.dims(), (Dims{3, 2, 4}));
  const std::vector<int> wanted = {0, 25, 75, 100, 200, 155, 65, 20};
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(wide.Values<std::uint8_t>()[i], wanted[i % 8]);
  EXPECT_EQ(FitImage(image, stretch, {}).Values<std::uint8_t>()[0], 80);
}

TEST(ImageFit, ConvertsBetweenGrayAndColours) {
  const std::vector<std::uint8_t> colour = {255, 10, 20};
  const Tensor image = Tensor::From<std::uint8_t>(DType::kU8, {1, 1, 3}, colour);
  // 0.299 * 255 + 0.587 * 10 + 0.114 * 20
  EXPECT_EQ(FitImage(image, {}, {}).Values<std::uint8_t>()[0], 84);
  EXPECT_EQ(FitImage(image, {.bgr = true}, {}).Values<std::uint8_t>()[0], 84);
  const Tensor bgr = FitImage(image, {.bgr = true}, {.channels = 3});
  EXPECT_EQ(Channel(bgr, 0), std::vector<int>{20});
  EXPECT_EQ(Channel(bgr, 2), std::vector<int>{255});
}

TEST(ImageFit, RefusesACropFromLessThanTheModelNeeds) {
  const ImageFit fit{.resize = Resize::kCrop, .shorter_side = 200};
  EXPECT_NO_THROW(CheckFit(fit, {.channels = 3, .height = 200, .width = 100}));
  try {
    CheckFit(fit, {.channels = 3, .height = 224, .width = 100});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "'shorter_side' is 200; images of 100 x 224 pixels are cropped from at least 224");
  }
}

TEST(ImageFit, IsReadFromWordsAndFromTheOldSwitch) {
  const auto read = [](const std::string& json) {
    return FromJsonText<DataConfig>("{\"resize\": " + json + "}", "config").image.resize;
  };
  EXPECT_EQ(read("true"), Resize::kStretch);
  EXPECT_EQ(read("false"), Resize::kNone);
  EXPECT_EQ(read("\"pad\""), Resize::kPad);
  EXPECT_THROW((void)read("\"squeeze\""), UserError);
  EXPECT_THROW((void)read("1"), UserError);
  DataConfig config{.image = {.resize = Resize::kCrop, .bgr = true}};
  EXPECT_EQ(FromJsonText<DataConfig>(ToJsonText(config), "config").image, config.image);
}

}  // namespace
}  // namespace msc::cost
