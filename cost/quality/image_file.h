#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "cost/quality/array_file.h"

namespace msc::cost {

/// Reads an image: u8 [height, width, 1] or [..., 3], red first. PGM and PPM (binary, 8 bits)
/// always, PNG and JPEG where this build has libpng and libjpeg; transparency goes onto black.
/// UserError for anything else, a damaged file, and more than 64 million pixels.
[[nodiscard]] Tensor ReadImage(const std::string& path);

/// An image as u8 [channels, height, width] of other sizes: gray is 0.299 R + 0.587 G + 0.114 B,
/// colours of a gray image are equal; sizes by bilinear interpolation between pixel centres,
/// without smoothing. `channels` is 1 or 3.
[[nodiscard]] Tensor FitImage(const Tensor& image, std::int64_t channels, std::int64_t height,
                              std::int64_t width);

/// Images below a folder, by path. Where they all lie in subfolders, these are classes, numbered by
/// name; else there are no classes. Other files are passed over. UserError if there is none.
struct ImageList {
  std::vector<std::string> files;
  std::vector<std::int32_t> classes;  ///< one a file, or none
};
[[nodiscard]] ImageList ListImages(const std::string& folder);

}  // namespace msc::cost
