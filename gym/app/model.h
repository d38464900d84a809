#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "cost/quality/dataset.h"

namespace msc::gym {

/// Imports a model, canonicalizes it and says in UserError what is wrong with it. Formats by the
/// end of the name: .onnx, or .json for a graph that this program saved. `shapes` as in
/// pipeline/shapes.h.
[[nodiscard]] Graph LoadModel(const std::string& path, const std::vector<std::string>& shapes = {});

/// As LoadModel, without canonicalizing: the model as its file has it.
[[nodiscard]] Graph LoadModelAsIs(const std::string& path,
                                  const std::vector<std::string>& shapes = {});

/// What the inputs of `graph` take. UserError where one has no known rank.
[[nodiscard]] std::vector<cost::InputForm> FormsOf(const Graph& graph);

/// How many classes the first output of `graph` tells apart: its last dimension, behind that of the
/// samples. 0 where it is not known.
[[nodiscard]] std::int64_t ClassesOf(const Graph& graph);

}  // namespace msc::gym
