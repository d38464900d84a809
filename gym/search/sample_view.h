#pragma once

#include <span>
#include <string>

#include "compiler/ir/tensor.h"

namespace msc::gym {

/// Returns a picture of the first input of a sample as a PNG in Base64, if it is an image: [1, C,
/// H, W] or [1, H, W, C] with 1 or 3 channels, in f32 or u8. It is reduced to at most 96 x 96
/// pixels in all, and its contrast is stretched from its least to its largest number, since the
/// mean and the deviation that the model wants are in its numbers. Empty for other inputs.
[[nodiscard]] std::string PictureOf(std::span<const Tensor> sample);

/// Returns the numbers of a short input of integers, such as the tokens of a text: "101 2023 102",
/// with an ellipsis after 32. Empty for other inputs.
[[nodiscard]] std::string TokensOf(std::span<const Tensor> sample);

}  // namespace msc::gym
