#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {

/// Stores as i8 what int8 layers hand to an Add whose result is quantized, as quantizers of other
/// runtimes do: ONNX Runtime makes an integer kernel of a layer only where QuantizeLinear stands
/// behind it, while our targets add before they round. Both are given this, so that they are
/// compared on one model that suits both. The new scales are twice that of the sum: good for timing
/// alone.
void QuantizeResidualOperands(Graph& graph);

/// Names of the f32 values of a canonical graph that QuantizeBetween may quantize.
[[nodiscard]] std::vector<std::string> ValuesBetween(const Graph& canonical);

/// Quantizes what lies between int8 layers, too, as ONNX Runtime's own quantizer does: what each
/// int8 layer gives, and what operators give for which ONNX Runtime has integer kernels, where all
/// they read is quantized. Swish behind a layer, say, which our targets compute in f32 before they
/// round. `scales` by name of the value; values without one stay. For its own row alone.
void QuantizeBetween(const std::map<std::string, TensorScale>& scales, Graph& graph);

}  // namespace msc::gym
