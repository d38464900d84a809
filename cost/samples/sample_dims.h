#pragma once

#include <string>

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Returns the dims, without the leading 1, that the sample `raw` [1, ...] of the file `path` has
/// for `input`, a model's input with the batch outermost.
///
/// Axes must agree in their order. Axes of size 1 may be added or removed: [28, 28] fits
/// [1, 28, 28]. If the sample or the input has only one axis, it may hold the flattened elements of
/// the other one: [28, 28] fits [784]. The sample gives the sizes that the input leaves open.
/// UserError with both shapes otherwise, with a hint if another channel order would fit.
[[nodiscard]] Dims FitDims(const Tensor& raw, const Shape& input, const std::string& path);

}  // namespace msc::cost
