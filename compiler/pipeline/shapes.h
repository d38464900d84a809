#pragma once

#include <set>
#include <span>
#include <string>

#include "compiler/ir/graph.h"

namespace msc {

/// Gives graph inputs the sizes that a user wrote: "image=1x3x640x640", or "1x3x640x640" if the
/// graph has one input. Binds a symbol everywhere and infers types again, so that Canonicalize can
/// fold shape arithmetic that depends on it. To be called on a graph as imported. UserError if a
/// text cannot be parsed, names no input, contradicts the model's own sizes, or gives one symbol
/// two sizes; it contains the text. Texts that fix a value (FixedValue) are left alone.
void SetInputShapes(Graph& graph, std::span<const std::string> shapes);

/// Returns whether a user's text fixes the value of an input, and not its size.
[[nodiscard]] bool FixesValue(const std::string& text);
/// Returns the value that a user gave input `name` of type `type` as "sr:=16000" or "mask:=1,1,0",
/// or nullptr: one number for all elements, or one for each. UserError if a text cannot be parsed
/// or does not fit the type; it contains the text.
[[nodiscard]] TensorPtr FixedValue(const std::string& name, const ValueType& type,
                                   std::span<const std::string> shapes);
/// UserError if a text fixes the value of an input that is none of `fixed`.
void CheckFixed(const std::set<std::string>& fixed, std::span<const std::string> shapes);

/// Gives dimensions of inputs that are neither known nor named a symbol, so that they can be bound:
/// the first axis of every input the same one, "batch" if no input names its own; "x.2" for axis 2
/// of x. Infers types again if there are any.
void NameOpenDims(Graph& graph);

}  // namespace msc
