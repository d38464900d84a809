#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/graph.h"

namespace msc {

/// Returns how often a Loop runs, if that follows from constants: from the number of the iteration
/// and from carried values that begin as constants, such as Keras' counter of time steps. nullopt
/// if only a run knows, or if that is more than `most`. `loop` is a Loop of `graph` with as many
/// inputs as its `body`.
[[nodiscard]] std::optional<std::int64_t> CountIterations(const Graph& graph, const Node& loop,
                                                          const Graph& body, std::int64_t most);

}  // namespace msc
