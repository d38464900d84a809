#include "gym/app/not_finite.h"

#include <cstddef>
#include <cstdio>

namespace msc::gym {

std::string NotFiniteText(const cost::NotFinite& found) {
  return CauseText(found) + ". The uncompressed model's is finite there";
}

ShapeBindings BindingsFor(const Graph& graph, std::span<const Tensor> inputs) {
  ShapeBindings bindings;
  for (std::size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i) {
    const auto& shape = graph.type(graph.inputs()[i]).shape;
    if (!shape || shape->size() != inputs[i].dims().size()) continue;
    for (std::size_t axis = 0; axis < shape->size(); ++axis) {
      const Dim& dim = (*shape)[axis];
      if (!dim.known() && !dim.symbol().empty()) bindings[dim.symbol()] = inputs[i].dims()[axis];
    }
  }
  return bindings;
}

bool ComplainOfNotFinite(const cost::ModelRun& run) {
  if (cost::AllFinite(run.outputs)) return false;
  const auto found = FindNotFinite(run);
  if (found) {
    std::fprintf(stderr, "mscgym: %s\n", NotFiniteText(*found).c_str());
    return true;
  }
  std::fprintf(stderr,
               "note: outputs are not finite, and the uncompressed model's are not either, for "
               "these inputs\n");
  return false;
}

}  // namespace msc::gym
