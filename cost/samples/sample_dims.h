#pragma once

#include <optional>
#include <string>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/ir/tensor.h"

namespace msc::cost {

/// Form of one input of a model.
struct InputForm {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  SampleAxis axis = {};  ///< where it counts samples
};

/// Returns the shape that one sample has for `input`: without the axis of samples. UserError if the
/// input has no such axis.
[[nodiscard]] Shape SampleShape(const InputForm& input);

/// Returns the dims of a sample of dims `own` in the form of `wanted`; nothing if it does not fit.
///
/// Axes must agree in their order. Axes of size 1 may be added or removed: [28, 28] fits
/// [1, 28, 28]. If the sample or the input has only one axis, it may hold the flattened elements of
/// the other one: [28, 28] fits [784]. The sample gives the sizes that the input leaves open.
[[nodiscard]] std::optional<Dims> FittedDims(const Dims& own, const Shape& wanted);

/// Returns FittedDims of a sample of the file `path`. UserError with both shapes if it does not
/// fit, with a hint if another channel order would.
[[nodiscard]] Dims FitDims(const Dims& own, const Shape& wanted, const std::string& path);

}  // namespace msc::cost
