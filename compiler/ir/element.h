#pragma once

// One element of a tensor as text. Private to compiler/ir.

#include <cstddef>
#include <string>
#include <string_view>

#include "compiler/ir/tensor.h"

namespace msc::detail {

/// The shortest text that reads back bit for bit: "-0.5", "inf", "nan(0x7fc00001)", "true".
[[nodiscard]] std::string FloatText(float value);
/// False if `text` is no float.
[[nodiscard]] bool ReadFloat(std::string_view text, float& value);

/// How many numbers make one element: 2 for complex types.
[[nodiscard]] std::size_t PartsOf(DType dtype);
/// Part `part` of all the numbers in `tensor`, in order. Not for strings.
[[nodiscard]] std::string PartText(const Tensor& tensor, std::size_t part);
/// False if `text` is no number of the type, or does not fit in it.
[[nodiscard]] bool ReadPart(std::string_view text, Tensor& tensor, std::size_t part);

}  // namespace msc::detail
