#pragma once

#include <string>
#include <string_view>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"

namespace msc::cost {

/// Contents of the header of a NumPy array file.
struct NpyHeader {
  DType dtype = DType::kUndefined;
  bool swapped = false;  ///< big-endian
  bool fortran = false;  ///< the first axis varies fastest
  Dims dims;
};

/// Parses the dictionary of a header. Supports every type of NumPy that has a DType: floats of 16,
/// 32 and 64 bits, integers of 8 to 64 bits, bool, and complex numbers of two f32 or f64. UserError
/// naming `path` for other types and for text that is not such a dictionary.
/// Source: numpy.lib.format.
[[nodiscard]] NpyHeader ParseNpyHeader(std::string_view text, const std::string& path);

/// Returns whether NumPy has the type; it lacks bf16 and strings.
[[nodiscard]] bool IsNpyType(DType dtype);

/// Returns the bytes in front of the values: version 1.0, little-endian, C order. Requires
/// IsNpyType(dtype).
[[nodiscard]] std::string NpyHeaderBytes(DType dtype, const Dims& dims);

/// Returns a size that a header claims. UserError naming `path` if it is above 2^31 - 1.
[[nodiscard]] std::int64_t CheckedSize(std::uint64_t size, const std::string& path);

/// Most dimensions of an array.
inline constexpr std::size_t kMaxArrayRank = 16;

}  // namespace msc::cost
