#pragma once

#include <cstdint>

#include "compiler/import/onnx/import.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/op.h"

namespace onnx {
class GraphProto;
}

namespace msc::detail {

/// How a graph of a file is to be read.
struct GraphSource {
  std::int64_t opset = 17;  ///< of the model
  ImportOptions options = {};
};

/// A Graph of operator set 17 from the main graph of a model. The operators of `ops` are taken, no
/// others. Types are those that the file declares, completed where an operator's inference knows
/// more.
[[nodiscard]] Graph ReadGraphProto(const onnx::GraphProto& proto, const GraphSource& source,
                                   const OpRegistry& ops);

}  // namespace msc::detail
