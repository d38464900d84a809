#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"
#include "cost/samples/dataset.h"

namespace msc::cost {

// Samples for models with several inputs, or with one input of integers: one array per input.

/// Returns the array of every input: "FILE.npz:NAME" by the inputs' names if `config.images` is an
/// archive. For a model with one input, `config.images` may also name the array itself. All arrays
/// have the same number of samples. UserError naming the file and the input if an array is missing
/// or has another number; UserError also if the config has options for images only (mean, std,
/// layout, resize).
[[nodiscard]] std::vector<std::string> ArraysOf(const DataConfig& config,
                                                std::span<const InputForm> inputs);

/// Returns a sample [1, ...] of the array `path` in the form of the input. Numbers keep their
/// values: integers convert to integers that can hold them, floats to floats (ConvertedTo).
/// UserError naming the array and the input otherwise, and for a number that is not finite.
[[nodiscard]] Tensor ConvertExactly(const Tensor& raw, const InputForm& input, const Dims& sample,
                                    const std::string& path);

}  // namespace msc::cost
