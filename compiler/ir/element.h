#pragma once

// Text form of one tensor element. Private to compiler/ir.

#include <cstddef>
#include <string>
#include <string_view>

#include "compiler/ir/tensor.h"

namespace msc::detail {

/// Returns the shortest text that reads back bit for bit: "-0.5", "inf", "nan(0x7fc00001)".
[[nodiscard]] std::string FloatText(float value);
/// Parses `text` into `value`. Returns false if `text` is not a float.
[[nodiscard]] bool ReadFloat(std::string_view text, float& value);

/// Returns the count of numbers in one element: 2 for complex types, otherwise 1.
[[nodiscard]] std::size_t PartsOf(DType dtype);
/// Returns the text of number `part`, counted over all numbers of `tensor` in order. Not for
/// strings.
[[nodiscard]] std::string PartText(const Tensor& tensor, std::size_t part);
/// Parses `text` into number `part`. Returns false if it is not a number of the type or out of
/// range.
[[nodiscard]] bool ReadPart(std::string_view text, Tensor& tensor, std::size_t part);

}  // namespace msc::detail
