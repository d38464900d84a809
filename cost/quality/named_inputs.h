#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"
#include "cost/quality/dataset.h"

namespace msc::cost {

// Samples for models with several inputs, or with one that takes integers: an array an input.

/// The array of every input: "FILE.npz:NAME" by the inputs' names, where `config.images` is the
/// archive; of a model with one input also an array as it is named. All have equally many samples.
/// UserError naming the file and the input where an array is missing or has another count, and
/// where the config asks for what is for images alone (mean, std, layout, resize).
[[nodiscard]] std::vector<std::string> ArraysOf(const DataConfig& config,
                                                std::span<const InputForm> inputs);

/// A sample [1, ...] of the array `path` as the input takes it. Numbers stay what they are:
/// integers become other integers where they fit, floats become floats (ConvertedTo).
/// UserError naming the array and the input otherwise, also where a number is not finite.
[[nodiscard]] Tensor ConvertExactly(const Tensor& raw, const InputForm& input, const Dims& sample,
                                    const std::string& path);

}  // namespace msc::cost
