#include "gym/search/sample_view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/base/base64.h"
#include "cost/samples/png.h"

namespace msc::gym {
namespace {

constexpr std::int64_t kMostPixels = 96 * 96;
constexpr std::size_t kMostTokens = 32;
constexpr std::int64_t kLeastSide = 4;  // less is a vector in the shape of an image

/// Where the numbers of an image lie in its tensor.
struct ImageForm {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  bool channels_last = false;
  [[nodiscard]] std::size_t IndexOf(std::int64_t y, std::int64_t x, std::int64_t channel) const {
    return static_cast<std::size_t>(channels_last ? (y * width + x) * channels + channel
                                                  : (channel * height + y) * width + x);
  }
};

std::optional<ImageForm> FormOf(const Dims& dims) {
  if (dims.size() != 4 || dims[0] != 1) return std::nullopt;
  const auto is_colour = [](std::int64_t channels) { return channels == 1 || channels == 3; };
  const ImageForm form = is_colour(dims[1]) ? ImageForm{dims[2], dims[3], dims[1], false}
                                            : ImageForm{dims[1], dims[2], dims[3], true};
  const bool image =
      is_colour(form.channels) && form.height >= kLeastSide && form.width >= kLeastSide;
  return image ? std::optional(form) : std::nullopt;
}

std::vector<float> NumbersOf(const Tensor& tensor) {
  if (tensor.dtype() == DType::kU8) {
    const auto values = tensor.Values<std::uint8_t>();
    return {values.begin(), values.end()};
  }
  const auto values = tensor.Values<float>();
  return {values.begin(), values.end()};
}

/// Returns the image with each `factor` x `factor` block as one pixel, its mean.
std::vector<float> Reduced(const std::vector<float>& numbers, const ImageForm& form,
                           std::int64_t factor, const ImageForm& small) {
  std::vector<float> pixels(static_cast<std::size_t>(small.height * small.width * small.channels));
  for (std::int64_t y = 0; y < small.height * factor; ++y) {
    for (std::int64_t x = 0; x < small.width * factor; ++x) {
      for (std::int64_t channel = 0; channel < form.channels; ++channel) {
        pixels[small.IndexOf(y / factor, x / factor, channel)] +=
            numbers[form.IndexOf(y, x, channel)] / static_cast<float>(factor * factor);
      }
    }
  }
  return pixels;
}

/// Returns the pixels as bytes, from the least number as 0 to the largest as 255.
std::vector<std::uint8_t> Stretched(const std::vector<float>& pixels) {
  const auto [least, most] = std::minmax_element(pixels.begin(), pixels.end());
  const float span = *most - *least;
  std::vector<std::uint8_t> bytes(pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const float part = span > 0 ? (pixels[i] - *least) / span : 0;
    bytes[i] = static_cast<std::uint8_t>(std::lround(255 * std::clamp(part, 0.0F, 1.0F)));
  }
  return bytes;
}

}  // namespace

std::string PictureOf(std::span<const Tensor> sample) {
  if (sample.empty()) return "";
  const Tensor& input = sample[0];
  const std::optional<ImageForm> form = FormOf(input.dims());
  if (!form || (input.dtype() != DType::kF32 && input.dtype() != DType::kU8)) return "";
  const std::vector<float> numbers = NumbersOf(input);
  if (!std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); })) return "";
  std::int64_t factor = 1;
  while (form->height / factor * (form->width / factor) > kMostPixels) ++factor;
  ImageForm small{form->height / factor, form->width / factor, form->channels, true};
  if (small.height == 0 || small.width == 0) return "";  // a strip that is thinner than a block
  return Base64(cost::EncodePng(
      Stretched(Reduced(numbers, *form, factor, small)), static_cast<std::uint32_t>(small.width),
      static_cast<std::uint32_t>(small.height), static_cast<std::uint32_t>(small.channels)));
}

std::string TokensOf(std::span<const Tensor> sample) {
  if (sample.empty() || sample[0].dims().size() > 2) return "";
  const Tensor& input = sample[0];
  const auto list = [](const auto numbers) {
    std::string text;
    for (std::size_t i = 0; i < std::min(numbers.size(), kMostTokens); ++i) {
      text += (i == 0 ? "" : " ") + std::to_string(numbers[i]);
    }
    return numbers.size() > kMostTokens ? text + " \xE2\x80\xA6" : text;
  };
  if (input.dtype() == DType::kI64) return list(input.Values<std::int64_t>());
  if (input.dtype() == DType::kI32) return list(input.Values<std::int32_t>());
  return "";
}

}  // namespace msc::gym
