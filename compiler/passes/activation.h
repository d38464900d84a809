#pragma once

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ops/fused.h"

namespace msc {

/// One or several nodes that together compute one Activation of a value.
struct ActivationMatch {
  Activation activation;
  std::vector<NodeId>
      nodes;  ///< empty if there is none; Swish written as x * Sigmoid(x) has two, GELU more
  ValueId slope = kNoValue;  ///< of PRelu
};

/// Returns the activation that is the only reader of `value`, if there is one. Bounds of Clip must
/// be constants. Source: ONNX operator pages Clip-13, HardSigmoid-6, HardSwish-14, LeakyRelu-16,
/// PRelu-16.
[[nodiscard]] ActivationMatch FindActivation(const Graph& graph, ValueId value);

}  // namespace msc
