#pragma once

#include <string>

namespace onnx {
class ModelProto;
}  // namespace onnx

namespace msc::detail {

/// Reads each file of external data that the model gives a checksum of, once. UserError naming the
/// file that is not what the checksum says, is refused (see ExternalFile), or is not there. Source:
/// ONNX "External Data": the key `checksum` is the SHA-1 of the file under `location`.
void CheckExternalData(const onnx::ModelProto& model, const std::string& folder);

}  // namespace msc::detail
