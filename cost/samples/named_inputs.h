#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/tensor.h"
#include "cost/samples/data_config.h"
#include "cost/samples/sample_dims.h"

namespace msc::cost {

// Samples for models with several inputs, or with one input of integers: one array per input.

/// Returns whether an input gets its samples from an array of its own, without scaling: every input
/// of a model with several, and one that is not f32. Images also go to one input of bytes.
[[nodiscard]] bool TakesArrays(const DataConfig& config, std::span<const InputForm> inputs);

/// The array of an input.
struct InputArray {
  std::string path;      ///< "FILE.npz:NAME", or a file or folder
  Dims dims;             ///< of the array; of the first file, with a 1 in front, for a folder
  bool for_all = false;  ///< one sample, which all share
};

/// Returns the array of every input: "FILE.npz:NAME" by the inputs' names if `config.images` is an
/// archive; the folder if it is a folder of .npz files, one for each sample. For a model with one
/// input, `config.images` may also name the array itself. `config.format` is resolved. Arrays have
/// the same number of samples, or a single one for all. UserError naming the file and the input if
/// an array is missing or has another number; UserError also if the config has options for images
/// only (scale, mean, std, layout, resize).
[[nodiscard]] std::vector<InputArray> ArraysOf(const DataConfig& config,
                                               std::span<const InputForm> inputs);

/// Returns a sample [1, ...] of the array `path` in the form of the input. Numbers keep their
/// values: integers convert to integers that can hold them, floats to floats (ConvertedTo).
/// UserError naming the array and the input otherwise.
[[nodiscard]] Tensor ConvertExactly(const Tensor& raw, const InputForm& input, const Dims& sample,
                                    const std::string& path);

}  // namespace msc::cost
