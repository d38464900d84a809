#pragma once

#include <string>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

// The option `precision` of a target says what the layers of its regions compute in, whatever the
// strategy says of them: "native:precision=f32" beside a strategy of int8. So the same nodes on the
// same target in two precisions are two regions that a search can compare.

/// "f32" or "bf16", or empty where layers compute as the strategy says. UserError as
/// ParseTargetSpec.
[[nodiscard]] std::string PrecisionAsked(const std::string& spec);

/// The spec with that option; without it where `precision` is empty.
[[nodiscard]] std::string WithPrecision(const std::string& spec, const std::string& precision);

/// The same decisions with every layer's precision among `quantize.layers` and in no spec, as
/// exports and reports read them. Layers that cannot have a precision that their region asks for
/// are f32. Weights keep their grids where a layer becomes f32. `canonical` is the graph whose
/// layers the strategy names.
[[nodiscard]] Strategy WithPrecisionsOfRegions(const Graph& canonical, Strategy strategy);

}  // namespace msc
