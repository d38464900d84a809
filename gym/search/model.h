#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "cost/samples/dataset.h"

namespace msc::gym {

/// Imports and canonicalizes a model. The suffix of the name tells the format: .onnx, or .json for
/// a graph that this program saved. `shapes` as in pipeline/shapes.h, with values of inputs.
/// UserError says what is wrong with the model.
[[nodiscard]] Graph LoadModel(const std::string& path, const std::vector<std::string>& shapes = {});

/// Imports a model like LoadModel but does not canonicalize it.
[[nodiscard]] Graph LoadModelAsIs(const std::string& path,
                                  const std::vector<std::string>& shapes = {});

/// Returns `graph`. UserError if it leaves sizes open but that of a batch, which says the option
/// that gives them: candidates are timed at sizes, and strategies belong to these.
[[nodiscard]] Graph WithKnownSizes(Graph graph);

/// Returns the forms of the inputs of `graph`. UserError if an input has no known rank.
[[nodiscard]] std::vector<cost::InputForm> FormsOf(const Graph& graph);

/// Returns the number of classes of the first output of `graph`: its last dimension behind that of
/// the samples. 0 if unknown.
[[nodiscard]] std::int64_t ClassesOf(const Graph& graph);

}  // namespace msc::gym
