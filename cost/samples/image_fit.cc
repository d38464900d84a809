#include "cost/samples/image_fit.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"

namespace msc::cost {
namespace {

/// Consecutive source pixels of a target pixel, with their weights, whose sum is 1.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
  [[nodiscard]] std::int64_t end() const { return first + std::ssize(weights); }
};

/// A side of an image and of its scaled form, of which the model sees a part.
struct Side {
  std::int64_t from = 1;
  std::int64_t to = 1;
  std::int64_t first = 0;  ///< pixels of the scaled image that the model sees
  std::int64_t end = 1;
};

/// Returns the two source pixels around each visible pixel. Pixel centres lie at +0.5; centres
/// outside of the source are clamped to the border.
std::vector<Taps> Between(const Side& side) {
  std::vector<Taps> taps;
  const double scale = static_cast<double>(side.from) / static_cast<double>(side.to);
  for (std::int64_t i = side.first; i < side.end; ++i) {
    const double inside = std::clamp((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0,
                                     static_cast<double>(side.from - 1));
    const auto low = static_cast<std::int64_t>(inside);
    const auto share = static_cast<float>(inside - static_cast<double>(low));
    taps.push_back({low, low + 1 < side.from ? std::vector{1 - share, share} : std::vector{1.0F}});
  }
  return taps;
}

/// Returns the source pixels under a triangle as wide as two target pixels, or as two source pixels
/// where the image grows.
std::vector<Taps> Averaged(const Side& side) {
  const double scale = static_cast<double>(side.from) / static_cast<double>(side.to);
  const double reach = std::max(scale, 1.0);
  std::vector<Taps> taps;
  for (std::int64_t i = side.first; i < side.end; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = static_cast<std::int64_t>(std::max(center - reach + 0.5, 0.0));
    const auto end = std::min(static_cast<std::int64_t>(center + reach + 0.5), side.from);
    std::vector<double> weights;
    double sum = 0;
    for (std::int64_t at = first; at < end; ++at) {
      weights.push_back(
          std::max(0.0, 1 - std::abs(static_cast<double>(at) + 0.5 - center) / reach));
      sum += weights.back();
    }
    Taps& tap = taps.emplace_back(Taps{first, {}});
    for (const double weight : weights) tap.weights.push_back(static_cast<float>(weight / sum));
  }
  return taps;
}

Placement Padded(const ImageFit& fit, const ImageSize& size, std::int64_t height,
                 std::int64_t width) {
  const double ratio = std::min(static_cast<double>(size.height) / static_cast<double>(height),
                                static_cast<double>(size.width) / static_cast<double>(width));
  const auto scaled = [&](std::int64_t from, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(static_cast<double>(from) * ratio), 1, most);
  };
  Placement placed{.height = scaled(height, size.height), .width = scaled(width, size.width)};
  if (fit.pad_at == PadAt::kCenter) {
    placed.top = (size.height - placed.height) / 2;
    placed.left = (size.width - placed.width) / 2;
  }
  return placed;
}

Placement Cropped(const ImageFit& fit, const ImageSize& size, std::int64_t height,
                  std::int64_t width) {
  Placement placed;
  if (fit.shorter_side == 0) {
    // Whole numbers: the side that decides gets the model's size exactly.
    const bool by_width = size.width * height >= size.height * width;
    placed.height = by_width ? height * size.width / width : size.height;
    placed.width = by_width ? size.width : width * size.height / height;
  } else {
    const std::int64_t shorter = std::min(height, width);
    placed.height = height * fit.shorter_side / shorter;
    placed.width = width * fit.shorter_side / shorter;
  }
  // Halves go to the even number, as Python's round does in torchvision.
  const auto offset = [](std::int64_t from, std::int64_t to) {
    return -static_cast<std::int64_t>(std::nearbyint(static_cast<double>(from - to) / 2));
  };
  placed.top = offset(placed.height, size.height);
  placed.left = offset(placed.width, size.width);
  return placed;
}

/// The pixels of an image in the channels of the model.
class Pixels {
 public:
  Pixels(const Tensor& image, std::int64_t channels, bool bgr)
      : bytes_(image.Values<std::uint8_t>()),
        width_(image.dims().at(1)),
        from_(image.dims().at(2)),
        channels_(channels),
        bgr_(bgr) {}
  [[nodiscard]] float At(std::int64_t channel, std::int64_t y, std::int64_t x) const {
    const auto at = static_cast<std::size_t>((y * width_ + x) * from_);
    if (from_ == 1) return static_cast<float>(bytes_[at]);
    if (channels_ == 3) {
      return static_cast<float>(
          bytes_[at + static_cast<std::size_t>(bgr_ ? 2 - channel : channel)]);
    }
    // Luma by ITU-R BT.601.
    return 0.299F * static_cast<float>(bytes_[at]) + 0.587F * static_cast<float>(bytes_[at + 1]) +
           0.114F * static_cast<float>(bytes_[at + 2]);
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::int64_t width_;
  std::int64_t from_;
  std::int64_t channels_;
  bool bgr_;
};

/// Returns one channel at the visible pixels, as [rows, columns].
std::vector<float> Scaled(const Pixels& pixels, std::int64_t channel, const std::vector<Taps>& rows,
                          const std::vector<Taps>& columns) {
  std::vector<float> scaled(rows.size() * columns.size());
  std::vector<float> across(columns.size());
  // Each source row is scaled once and added where it counts, so that memory depends on the target
  // alone. Both ends of the rows' taps increase.
  std::size_t open = 0;  // the first target row whose taps have not ended
  for (std::int64_t y = rows.front().first; y < rows.back().end(); ++y) {
    while (rows[open].end() <= y) ++open;
    if (rows[open].first > y) continue;
    for (std::size_t x = 0; x < columns.size(); ++x) {
      float sum = 0;
      for (std::size_t i = 0; i < columns[x].weights.size(); ++i) {
        sum += pixels.At(channel, y, columns[x].first + static_cast<std::int64_t>(i)) *
               columns[x].weights[i];
      }
      across[x] = sum;
    }
    for (std::size_t row = open; row < rows.size() && rows[row].first <= y; ++row) {
      if (y >= rows[row].end()) continue;
      const float weight = rows[row].weights[static_cast<std::size_t>(y - rows[row].first)];
      for (std::size_t x = 0; x < columns.size(); ++x) {
        scaled[row * columns.size() + x] += weight * across[x];
      }
    }
  }
  return scaled;
}

}  // namespace

Placement PlaceImage(const ImageFit& fit, const ImageSize& size, std::int64_t height,
                     std::int64_t width) {
  switch (fit.resize) {
    case Resize::kPad:
      return Padded(fit, size, height, width);
    case Resize::kCrop:
      return Cropped(fit, size, height, width);
    case Resize::kNone:
      Check(height == size.height && width == size.width, "the image has the sizes of the model");
      break;
    case Resize::kStretch:
      break;
  }
  return {.height = size.height, .width = size.width};
}

void CheckFit(const ImageFit& fit, const ImageSize& size) {
  const std::int64_t least = std::max(size.height, size.width);
  if (fit.resize != Resize::kCrop || fit.shorter_side == 0 || fit.shorter_side >= least) return;
  throw UserError("'shorter_side' is " + std::to_string(fit.shorter_side) + "; images of " +
                  std::to_string(size.width) + " x " + std::to_string(size.height) +
                  " pixels are cropped from at least " + std::to_string(least));
}

Tensor FitImage(const Tensor& image, const ImageFit& fit, const ImageSize& size) {
  Check(size.channels == 1 || size.channels == 3, "images have one channel or three");
  const std::int64_t height = image.dims().at(0);
  const std::int64_t width = image.dims().at(1);
  const Placement placed = PlaceImage(fit, size, height, width);
  // The part of the target that shows the image.
  const std::int64_t top = std::max<std::int64_t>(placed.top, 0);
  const std::int64_t left = std::max<std::int64_t>(placed.left, 0);
  const std::int64_t bottom = std::min(placed.top + placed.height, size.height);
  const std::int64_t right = std::min(placed.left + placed.width, size.width);
  const auto taps = fit.antialias ? Averaged : Between;
  const std::vector<Taps> rows =
      taps({height, placed.height, top - placed.top, bottom - placed.top});
  const std::vector<Taps> columns =
      taps({width, placed.width, left - placed.left, right - placed.left});

  const Pixels pixels(image, size.channels, fit.bgr);
  Tensor fitted(DType::kU8, {size.channels, size.height, size.width});
  const auto out = fitted.MutableValues<std::uint8_t>();
  std::fill(out.begin(), out.end(), static_cast<std::uint8_t>(fit.pad_value));
  for (std::int64_t c = 0; c < size.channels; ++c) {
    const std::vector<float> scaled = Scaled(pixels, c, rows, columns);
    for (std::int64_t y = top; y < bottom; ++y) {
      for (std::int64_t x = left; x < right; ++x) {
        const float value = scaled[static_cast<std::size_t>((y - top) * (right - left) + x - left)];
        // The clamp is for rounding: weights sum up to 1.
        out[static_cast<std::size_t>((c * size.height + y) * size.width + x)] =
            static_cast<std::uint8_t>(std::clamp<long>(std::lround(value), 0, 255));
      }
    }
  }
  return fitted;
}

}  // namespace msc::cost

namespace msc {

template <>
void ReadJson(const nlohmann::json& json, const std::string& path, cost::Resize& value,
              const Within& within) {
  if (json.is_boolean()) {
    value = json.get<bool>() ? cost::Resize::kStretch : cost::Resize::kNone;
  } else {
    value = detail::ReadFromString<cost::Resize>(json, path, within);
  }
}

}  // namespace msc
