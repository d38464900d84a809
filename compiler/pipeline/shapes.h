#pragma once

#include <span>
#include <string>

#include "compiler/ir/graph.h"

namespace msc {

/// Gives graph inputs the sizes that a user wrote: "image=1x3x640x640", or "1x3x640x640" if the
/// graph has one input. Binds a symbol everywhere and infers types again, so that Canonicalize can
/// fold shape arithmetic that depends on it. To be called on a graph as imported. UserError if a
/// text cannot be parsed, names no input, contradicts the model's own sizes, or gives one symbol
/// two sizes; it contains the text.
void SetInputShapes(Graph& graph, std::span<const std::string> shapes);

/// Gives dimensions of inputs that are neither known nor named a symbol, so that they can be bound:
/// the first axis of every input the same one, "batch" if no input names its own; "x.2" for axis 2
/// of x. Infers types again if there are any.
void NameOpenDims(Graph& graph);

}  // namespace msc
