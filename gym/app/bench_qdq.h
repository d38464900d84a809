#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {

/// Quantizes to i8 the outputs of int8 layers that feed an Add whose result is quantized, as
/// quantizers of other runtimes do. ONNX Runtime builds an integer kernel of a layer only if a
/// QuantizeLinear follows it, while our targets add before they round. All rows get this graph, so
/// that both run the same model in a form that suits them. The new scales are twice the scale of
/// the sum: suitable for timing only.
void QuantizeResidualOperands(Graph& graph);

/// Returns the names of the f32 values of a canonical graph that QuantizeBetween may quantize.
[[nodiscard]] std::vector<std::string> ValuesBetween(const Graph& canonical);

/// Quantizes values between int8 layers as ONNX Runtime's quantizer does: the outputs of int8
/// layers, and those of operators with integer kernels in ONNX Runtime whose inputs are all
/// quantized (for example Swish behind a layer, which our targets compute in f32 before they
/// round). `scales` is by value name; values without a scale stay f32. Only for the row of ONNX
/// Runtime.
void QuantizeBetween(const std::map<std::string, TensorScale>& scales, Graph& graph);

}  // namespace msc::gym
