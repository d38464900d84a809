#pragma once

#include <span>
#include <string>

#include "compiler/ir/graph.h"

namespace msc {

/// Gives graph inputs the sizes that a user wrote: "image=1x3x640x640", or "1x3x640x640" where the
/// graph has one input. A symbol bound so is bound everywhere; types are inferred again, so that
/// Canonicalize then folds the shape arithmetic that depends on it. Call it on a graph as imported.
/// UserError naming the text where it cannot be read, names no input, contradicts the model's own
/// sizes, or gives one symbol two sizes.
void SetInputShapes(Graph& graph, std::span<const std::string> shapes);

}  // namespace msc
