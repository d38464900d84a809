#pragma once

#include <string>

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Dims of a sample [1, ...] of the file `path` under `input`, a model's input with the batch
/// outermost. Axes must agree in their order: axes of 1 may be there or not ([28, 28] fits
/// [1, 28, 28]), and a sample or an input that is one list may be so of the other's elements
/// ([28, 28] fits [784]). Sizes that the input leaves open are the sample's. UserError with both
/// otherwise, and how to turn channels where that would help.
[[nodiscard]] Dims FitDims(const Tensor& raw, const Shape& input, const std::string& path);

}  // namespace msc::cost
