#include "gym/app/sized_model.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/shapes.h"
#include "gym/app/options.h"
#include "gym/search/model.h"

namespace msc::gym {
namespace {

/// Returns the sizes that the inputs of `sized` have where `open` has symbols.
ShapeBindings SizesOf(const Graph& open, const Graph& sized) {
  ShapeBindings sizes;
  for (const ValueId input : open.inputs()) {
    const ValueId same = sized.FindValue(open.value(input).name);
    if (same == kNoValue || !open.type(input).shape || !sized.type(same).shape) continue;
    const Shape& symbols = *open.type(input).shape;
    const Shape& known = *sized.type(same).shape;
    for (std::size_t axis = 0; axis < std::min(symbols.size(), known.size()); ++axis) {
      if (symbols[axis].known() || !known[axis].known()) continue;
      sizes[symbols[axis].symbol()] = known[axis].size();
    }
  }
  return sizes;
}

}  // namespace

SizedModel LoadModelFor(const std::string& path, const std::vector<std::string>& shapes,
                        const Strategy& strategy) {
  Graph graph = LoadModel(path, shapes);
  std::vector<std::string> values;
  std::ranges::copy_if(shapes, std::back_inserter(values), FixesValue);
  const bool gives_sizes = values.size() < shapes.size();
  if (!gives_sizes || strategy.model_hash.empty() || GraphHash(graph) == strategy.model_hash) {
    return {std::move(graph), {}};
  }
  Graph open = LoadModel(path, values);
  if (GraphHash(open) != strategy.model_hash) return {std::move(graph), {}};
  ShapeBindings sizes = SizesOf(open, graph);
  return {std::move(open), std::move(sizes)};
}

ShapeBindings BindingsOf(const SizedModel& model, std::optional<std::int64_t> batch) {
  ShapeBindings bindings = model.sizes;
  for (const auto& [symbol, size] : BatchBindings(model.graph, BatchFor(model.graph, batch))) {
    const std::int64_t given = bindings.emplace(symbol, size).first->second;
    if (batch && given != size) {
      throw UserError("--batch " + std::to_string(size) + " differs from the " +
                      std::to_string(given) + " of --shape; leave one of them out");
    }
  }
  return bindings;
}

std::int64_t BatchOf(const Graph& graph, const ShapeBindings& bindings) {
  for (const auto& [symbol, size] : BatchBindings(graph, 1)) {
    const auto bound = bindings.find(symbol);
    if (bound != bindings.end()) return bound->second;
  }
  return BatchSize(graph, 1);
}

}  // namespace msc::gym
