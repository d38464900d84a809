#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "compiler/base/dtype.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

// Element types of ONNX below 8 bits, and floats of 8 bits. Graphs do not have them: a graph holds
// their values in the type `held`, which has all of them, and msc.CastNarrow makes such values.
//
//   msc.CastNarrow (X)   Y is X as Cast-28 converts it to the type "to", held in its wider type.
//                        "to" is the name in NarrowType; "saturate" and "round_mode" as in Cast.
//
// Source: ONNX documentation, technical/float8, technical/int4; ONNX operator page Cast-28.

/// Metadata with this prefix and the name of a graph input or output is the name of its narrow type
/// in the model's file.
inline constexpr std::string_view kFileTypeKey = "onnx.type.";

enum class NarrowKind : std::uint8_t { kUnsigned, kSigned, kFloat, kPowerOfTwo };

/// Which bit patterns of a float are no numbers.
enum class NarrowSpecials : std::uint8_t {
  kNone,          ///< all are numbers
  kAsIeee,        ///< the largest exponent: infinity, and NaN
  kLastIsNan,     ///< all ones, of both signs: NaN
  kMinusZeroNan,  ///< minus zero: NaN
};

struct NarrowType {
  std::string_view name = {};  ///< as in ONNX's text form: "int4", "float8e4m3fn"
  std::int64_t code = 0;       ///< TensorProto.DataType
  std::int64_t since = 0;      ///< first operator set whose Cast has it
  DType held = DType::kUndefined;
  NarrowKind kind = NarrowKind::kUnsigned;
  int bits = 0;
  // Of floats.
  int mantissa = 0;  ///< bits
  int bias = 0;      ///< of the exponent
  NarrowSpecials specials = NarrowSpecials::kNone;
};

[[nodiscard]] std::span<const NarrowType> NarrowTypes();
/// Return nullptr for other types.
[[nodiscard]] const NarrowType* FindNarrowType(std::int64_t code);
[[nodiscard]] const NarrowType* FindNarrowType(std::string_view name);

/// Returns the narrow type that a graph input or output has in the model's file; nullptr if it has
/// none.
[[nodiscard]] const NarrowType* TypeInFile(const Graph& graph, ValueId id);

/// Returns the value of the lowest `type.bits` bits.
[[nodiscard]] double NarrowValue(const NarrowType& type, std::uint32_t bits);

/// Returns the first number of `tensor`, whose type is `type.held`, that `type` does not have;
/// nullopt if it has all of them.
[[nodiscard]] std::optional<double> FirstNotIn(const NarrowType& type, const Tensor& tensor);

}  // namespace msc
