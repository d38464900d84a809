#pragma once

#include <optional>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

// The option `precision` of a target determines in what precision the layers of its regions
// compute, whatever the strategy says: "native:precision=f32" beside a strategy in int8. The same
// nodes on the same target in two precisions are thus two regions that a search can compare.

/// Returns the option `precision` of a spec; nothing if layers compute as the strategy says.
/// UserError as ParseTargetSpec, and if it is no precision.
[[nodiscard]] std::optional<Precision> PrecisionAsked(const std::string& spec);

/// Returns the spec with that option, or without it if there is no `precision`.
[[nodiscard]] std::string WithPrecision(const std::string& spec,
                                        std::optional<Precision> precision);

/// Returns the same decisions with every layer's precision in `quantize.layers` and in no spec,
/// which is the form that exports and reports read. Layers that do not support the precision of
/// their region are f32. Weights keep their grids if a layer becomes f32. `canonical` is the graph
/// whose layers the strategy names.
[[nodiscard]] Strategy WithPrecisionsOfRegions(const Graph& canonical, Strategy strategy);

}  // namespace msc
