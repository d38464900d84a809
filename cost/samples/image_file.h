#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"
#include "cost/samples/array_file.h"

namespace msc::cost {

/// Reads an image as u8 [height, width, 1], or [height, width, 3] with red first. Binary PGM and
/// PPM of 8 bits are always supported, PNG and JPEG if this build has libpng and libjpeg.
/// Transparent pixels are blended with black. UserError for other files, a damaged file, and more
/// than 64 million pixels.
[[nodiscard]] Tensor ReadImage(const std::string& path);

/// Returns an image as u8 [channels, height, width] of other sizes. `channels` is 1 or 3. Gray is
/// 0.299 R + 0.587 G + 0.114 B; a gray image gets three equal colours. Sizes change by bilinear
/// interpolation between pixel centres, without smoothing.
[[nodiscard]] Tensor FitImage(const Tensor& image, std::int64_t channels, std::int64_t height,
                              std::int64_t width);

/// Images in a folder and its subfolders, sorted by path. If all lie in subfolders, these are the
/// classes, numbered by name.
struct ImageList {
  std::vector<std::string> files;
  std::vector<std::int32_t> classes;  ///< one per file; empty if there are no classes
};
/// Lists the images of a folder and skips other files. UserError if there are none.
[[nodiscard]] ImageList ListImages(const std::string& folder);

}  // namespace msc::cost
