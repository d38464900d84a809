#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace msc::gym {

/// Returns how many constant weights each node multiplies with, by node name: the elements of its
/// second input, also behind DequantizeLinear. Leaves out nodes without.
[[nodiscard]] std::map<std::string, std::int64_t> LayerWeights(const Graph& graph);

}  // namespace msc::gym
