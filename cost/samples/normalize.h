#pragma once

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"
#include "cost/samples/data_config.h"
#include "cost/samples/sample_dims.h"
#include "cost/samples/sample_files.h"

namespace msc::cost {

/// Returns a sample as the model's f32 input gets it: (x * scale - mean) / std, with a 1 in front
/// of the dims `sample`. Mean and deviation by channel belong to the first axis of `sample`, or
/// else to the last one, whose size is their number. UserError if there is no such axis, and for
/// values that are not real numbers.
[[nodiscard]] Tensor Normalized(const RawSample& raw, const DataConfig& config, const Dims& sample);

/// Returns one sample [1, ...] of an input in which every number is `number`. UserError if the
/// input leaves sizes open or its type cannot hold the number.
[[nodiscard]] Tensor Filled(const InputForm& form, double number);

}  // namespace msc::cost
