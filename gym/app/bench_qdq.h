#pragma once

#include "compiler/ir/graph.h"

namespace msc::gym {

/// Stores as i8 what int8 layers hand to an Add whose result is quantized, as quantizers of other
/// runtimes do: ONNX Runtime makes an integer kernel of a layer only where QuantizeLinear stands
/// behind it, while our targets add before they round. Both are given this, so that they are
/// compared on one model that suits both. The new scales are twice that of the sum: good for timing
/// alone.
void QuantizeResidualOperands(Graph& graph);

}  // namespace msc::gym
