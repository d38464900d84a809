#pragma once

#include <string>

#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Reads an image as u8 [height, width, 1], or [height, width, 3] with red first. Binary PGM and
/// PPM of 8 bits are always supported, PNG and JPEG if this build has libpng and libjpeg.
/// Transparent pixels are blended with black. UserError for other files, a damaged file, and more
/// than 64 million pixels.
[[nodiscard]] Tensor ReadImage(const std::string& path);

}  // namespace msc::cost
