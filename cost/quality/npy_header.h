#pragma once

#include <string>
#include <string_view>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"

namespace msc::cost {

/// What stands before the values of a NumPy array file.
struct NpyHeader {
  DType dtype = DType::kUndefined;
  bool swapped = false;  ///< big-endian
  bool fortran = false;  ///< the first axis varies fastest
  Dims dims;
};

/// The dictionary of a header, for every type of NumPy that an element type of ours holds: floats
/// of 16, 32 and 64 bits, integers of 8 to 64, bool, complex numbers of two f32 or f64. UserError
/// naming `path` for others, and for what is no such dictionary. Source: numpy.lib.format.
[[nodiscard]] NpyHeader ParseNpyHeader(std::string_view text, const std::string& path);

/// Whether NumPy has the type: not bf16 and strings.
[[nodiscard]] bool IsNpyType(DType dtype);

/// The bytes in front of the values: version 1.0, little-endian, C order. IsNpyType(dtype).
[[nodiscard]] std::string NpyHeaderBytes(DType dtype, const Dims& dims);

/// A size that a header claims. UserError naming `path` where no dimension can be so large.
[[nodiscard]] std::int64_t CheckedSize(std::uint64_t size, const std::string& path);

/// Of one array.
inline constexpr std::size_t kMaxArrayRank = 16;

}  // namespace msc::cost
