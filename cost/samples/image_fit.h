#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/base/enum_form.h"
#include "compiler/base/fields.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// How an image gets the sizes of a model's input.
enum class Resize : unsigned char {
  kNone,     ///< it must have them
  kStretch,  ///< scaled to them, whatever that does to its proportions
  kPad,      ///< scaled until it fits into them; the rest is filled up ("letterbox")
  kCrop,     ///< scaled until it covers them; the middle is cut out
};
inline constexpr std::array<std::string_view, 4> kResizes = {"none", "stretch", "pad", "crop"};

/// Where the scaled image lies on the padding.
enum class PadAt : unsigned char { kCenter, kTopLeft };
inline constexpr std::array<std::string_view, 2> kPadAts = {"center", "top_left"};

/// How images become inputs of a model.
struct ImageFit {
  Resize resize = Resize::kNone;
  std::int64_t pad_value = 114;   ///< of all channels; 114 is what YOLO models are trained with
  PadAt pad_at = PadAt::kCenter;  ///< an odd row or column goes to the bottom or the right
  std::int64_t shorter_side = 0;  ///< crop: size of the shorter side before the middle is cut
                                  ///< out; 0 = as small as covers the model's sizes
  bool antialias = false;         ///< whether pixels are averaged where an image shrinks
  bool bgr = false;               ///< whether blue is the first of three channels
  bool operator==(const ImageFit&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("resize", self.resize,
          "how images get the model's height and width: none (they must have them), stretch (or "
          "true), pad (scaled to fit, the rest filled with pad_value), or crop (scaled to cover, "
          "the middle cut out)");
    visit("pad_value", self.pad_value, "pad: byte that fills the rest", Within{0, 255});
    visit("pad_at", self.pad_at, "pad: where the image lies: center or top_left");
    visit("shorter_side", self.shorter_side,
          "crop: size of the shorter side before the middle is cut out, such as 256 for 224 x 224; "
          "0 = the smallest that covers the model's sizes",
          Within{0, 65536});
    visit("antialias", self.antialias,
          "average pixels where an image shrinks, as Pillow and torchvision do; false = "
          "interpolate between the nearest four, as OpenCV does");
    visit("bgr", self.bgr, "blue first: the order of OpenCV instead of red, green, blue");
  }
};

/// Sizes of a model's image.
struct ImageSize {
  std::int64_t channels = 1;  ///< 1 or 3
  std::int64_t height = 1;
  std::int64_t width = 1;
};

/// Where a scaled image lies in a model's image: a part of it is cut off if an offset is below 0.
struct Placement {
  std::int64_t height = 0;  ///< of the scaled image
  std::int64_t width = 0;
  std::int64_t top = 0;
  std::int64_t left = 0;
};

/// Returns where FitImage puts an image of these sizes. Requires the same.
[[nodiscard]] Placement PlaceImage(const ImageFit& fit, const ImageSize& size, std::int64_t height,
                                   std::int64_t width);

/// Throws UserError if images cannot be brought to `size` in this way.
void CheckFit(const ImageFit& fit, const ImageSize& size);

/// Returns an image, u8 [height, width, 1 or 3] with red first, as u8 [channels, height, width] of
/// `size`. Gray is 0.299 R + 0.587 G + 0.114 B; a gray image gets three equal colours. Sizes change
/// by bilinear interpolation between pixel centres. Requires CheckFit, and equal sizes if
/// `fit.resize` is none.
[[nodiscard]] Tensor FitImage(const Tensor& image, const ImageFit& fit, const ImageSize& size);

}  // namespace msc::cost

namespace msc {

template <>
struct StringForm<cost::Resize> : EnumForm<cost::Resize, cost::kResizes> {};
template <>
struct StringForm<cost::PadAt> : EnumForm<cost::PadAt, cost::kPadAts> {};

/// Also reads true as stretch, and false as none: the key was a switch once.
template <>
void ReadJson(const nlohmann::json& json, const std::string& path, cost::Resize& value,
              const Within& within);

}  // namespace msc
