#pragma once

#include <cstdint>
#include <string>

#include "compiler/import/onnx/byte_source.h"
#include "compiler/import/onnx/import.h"

namespace msc::detail {

/// Where the field `raw_data` of a tensor is in its file.
struct RawPlace {
  std::uint64_t offset = 0;  ///< in bytes
  std::uint64_t length = 0;  ///< in bytes
};

/// Returns the ModelProto in `bytes` without the content of its tensors' `raw_data`: each such
/// field holds its RawPlace instead, which RawPlaceIn reads. So libprotobuf parses files of any
/// size, and decodes no weights. Allocates no memory for claimed sizes. Throws UserError if the
/// wire format is malformed, or if what is left or its decoding would exceed `limits`: the number
/// of messages, their nesting, their bytes, or those that libprotobuf would allocate. Source:
/// Protocol Buffers, Encoding.
[[nodiscard]] std::string ScanModelWire(const ByteSource& bytes, const ImportLimits& limits);

/// Does the same for a file that holds one TensorProto.
[[nodiscard]] std::string ScanTensorWire(const ByteSource& bytes, const ImportLimits& limits);

/// Reads what a scan has put into a field `raw_data`.
[[nodiscard]] RawPlace RawPlaceIn(const std::string& raw_data);

}  // namespace msc::detail
