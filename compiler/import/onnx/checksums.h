#pragma once

#include <string>

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace msc::detail {

/// Verifies each file of external data for which the model has a checksum; reads each once. Throws
/// UserError, which names the file, if the checksum differs, or the file is missing or rejected
/// (see ExternalFile). Source: ONNX "External Data": the key `checksum` is the SHA-1 of the file at
/// `location`.
void CheckExternalData(const onnx::ModelProto& model, const std::string& folder);

}  // namespace msc::detail
