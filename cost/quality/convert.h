#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc::cost {

/// What takes numbers of a file, for messages.
struct NumberSink {
  std::string path;       ///< of the file
  std::string name;       ///< of the model's input
  std::string noun = {};  ///< of what the file holds: " samples"
};

/// `raw` in another element type, if nothing but digits of a float is lost: floats become floats
/// of any width, integers and bools become integers or bools that can hold them. UserError for
/// other types, and for a number that is too large for the type.
[[nodiscard]] Tensor ConvertedTo(const Tensor& raw, DType wanted, const NumberSink& sink);

/// Whether every number is finite: integers are.
[[nodiscard]] bool AllFinite(const Tensor& tensor);

/// Numbers of any real type as f32, each as it is. UserError for strings and complex numbers.
[[nodiscard]] std::vector<float> AsFloats(const Tensor& raw, const std::string& path);

/// Integers of any type, and bools. UserError naming `path` for others, and for a number above
/// 2^63 - 1.
[[nodiscard]] std::vector<std::int64_t> AsIntegers(const Tensor& raw, const std::string& path);

}  // namespace msc::cost
