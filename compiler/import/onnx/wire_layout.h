#pragma once

#include <cstdint>

namespace msc::detail {

/// Content of a length-delimited field. libprotobuf keeps fields that the layout does not list as
/// unknown bytes. kRaw is the field `raw_data` of a tensor.
enum class WireKind : std::uint8_t {
  kUnknown,
  kText,
  kRaw,
  kVarints32,
  kVarints64,
  kFixed,
  kMessage
};

/// The messages that a model consists of.
enum class WireType : std::uint8_t {
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kSegment,
  kValueInfo,
  kType,
  kTypeTensor,
  kTypeElement,
  kTypeMap,
  kShape,
  kDimension,
  kPair,
  kOperatorSet,
  kFunction,
  kTraining,
  kAnnotation,
};

/// What a length-delimited field of a message contains.
struct WireField {
  WireType in;
  std::uint32_t number;
  WireKind kind;
  WireType message = WireType::kModel;  ///< of kMessage
};

/// Returns null for a field that the layout does not list. Source: onnx.proto at IR version 8, and
/// what later versions keep in its unknown fields and the importer reads.
[[nodiscard]] const WireField* FindWireField(WireType in, std::uint64_t number);

/// Returns the bytes of the C++ object of one message, including its entry in a repeated field.
[[nodiscard]] std::uint64_t WireObjectBytes(WireType type);

}  // namespace msc::detail
