#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc::detail {

/// Converts every bf16 value of `graph` but its inputs and outputs to f32 (see
/// Bf16Export::kAsF32). Returns the names of the
/// nodes other than Cast that read or produced bf16, directly or through a Cast, in graph order.
std::vector<std::string> WidenBf16(Graph& graph);

}  // namespace msc::detail
