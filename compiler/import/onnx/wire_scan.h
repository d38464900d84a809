#pragma once

#include <string_view>

#include "compiler/import/onnx/import.h"

namespace msc::detail {

/// Scans the protobuf wire format of a ModelProto without allocating memory for claimed sizes.
/// Throws UserError if it is malformed or if decoding would exceed `limits`: the number of
/// messages, their nesting, or the bytes that libprotobuf would allocate. Source: Protocol Buffers,
/// Encoding; message layout of onnx.proto at IR version 8.
void ScanModelWire(std::string_view bytes, const ImportLimits& limits);

}  // namespace msc::detail
