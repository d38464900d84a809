#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace msc {

/// Returns why FindQuantizableLayers finds no layer in a canonical graph: its weights have another
/// type than f32, it is quantized already, or it has no layers with constant weights.
[[nodiscard]] std::string WhyNoQuantizableLayers(const Graph& graph);

}  // namespace msc
