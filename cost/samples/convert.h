#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/tensor.h"

namespace msc::cost {

/// File and input that error messages name.
struct NumberSink {
  std::string path;       ///< of the file
  std::string name;       ///< of the model's input
  std::string noun = {};  ///< contents of the file, such as " samples"
};

/// Returns `raw` in another element type, if it loses nothing but digits of floats: floats convert
/// to floats of any width, integers and bools to integers or bools that can hold them. UserError
/// for other pairs of types, and for a number that is too large for the type.
[[nodiscard]] Tensor ConvertedTo(const Tensor& raw, DType wanted, const NumberSink& sink);

/// Returns whether every number is finite; integers always are.
[[nodiscard]] bool AllFinite(const Tensor& tensor);

/// Returns numbers of any real type as f32, without scaling. UserError for strings and complex
/// numbers.
[[nodiscard]] std::vector<float> AsFloats(const Tensor& raw, const std::string& path);

/// Returns integers of any type, and bools, as i64. UserError naming `path` for other types, and
/// for a number above 2^63 - 1.
[[nodiscard]] std::vector<std::int64_t> AsIntegers(const Tensor& raw, const std::string& path);

}  // namespace msc::cost
