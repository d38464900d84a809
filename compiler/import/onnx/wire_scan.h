#pragma once

#include <string_view>

#include "compiler/import/onnx/import.h"

namespace msc::detail {

/// Walks the protobuf wire format of a ModelProto without allocating for what it announces, and
/// throws UserError where it is malformed or where decoding it would pass `limits`: number of
/// messages, their nesting, and the bytes that libprotobuf would allocate.
/// Source: Protocol Buffers, Encoding; message layout of onnx.proto at IR version 8.
void ScanModelWire(std::string_view bytes, const ImportLimits& limits);

}  // namespace msc::detail
