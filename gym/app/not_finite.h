#pragma once

#include <optional>
#include <span>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "cost/track/finite.h"

namespace msc::gym {

/// What is said of an output that is not finite where the uncompressed model's is: which operator
/// begins, and what to do about it.
[[nodiscard]] std::string NotFiniteText(const cost::NotFinite& found);

/// Sizes of the symbolic dimensions of a graph's inputs, as tensors for them have them.
[[nodiscard]] ShapeBindings BindingsFor(const Graph& graph, std::span<const Tensor> inputs);

/// Looks for outputs of `run` that are not finite, says on stderr what was found, and that outputs
/// are not finite where that is the model's own. True where they are not but the uncompressed
/// model's are: the program then ends with kExitFailure.
[[nodiscard]] bool ComplainOfNotFinite(const cost::ModelRun& run);

}  // namespace msc::gym
