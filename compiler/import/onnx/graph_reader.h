#pragma once

#include <cstdint>

#include "compiler/import/onnx/tensor_bytes.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/op.h"

namespace onnx {
class GraphProto;
}

namespace msc::detail {

/// Parameters for reading a graph of a file.
struct GraphSource {
  std::int64_t opset = 17;  ///< of the model
  SourceOptions options = {};
};

/// Converts the main graph of a model to operator set 17. Accepts only operators in `ops`. Types
/// are those that the file declares, completed by the operators' inference.
[[nodiscard]] Graph ReadGraphProto(const onnx::GraphProto& proto, const GraphSource& source,
                                   const OpRegistry& ops);

}  // namespace msc::detail
