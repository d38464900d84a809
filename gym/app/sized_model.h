#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {

/// A model, and the sizes that it is to have.
struct SizedModel {
  Graph graph;
  ShapeBindings sizes;  ///< of symbols that `graph` leaves open and --shape gives
};

/// Loads a model (gym/search/model.h) for a strategy. One that was made with open sizes belongs to
/// the graph with open sizes, which another graph takes the place of once sizes are known: --shape
/// then gives `sizes`. In all other cases these are part of the graph.
[[nodiscard]] SizedModel LoadModelFor(const std::string& path,
                                      const std::vector<std::string>& shapes,
                                      const Strategy& strategy);

/// Returns `sizes` and, where they do not say it, the number of samples at a time: `batch`, by
/// default 1. UserError if the two differ.
[[nodiscard]] ShapeBindings BindingsOf(const SizedModel& model, std::optional<std::int64_t> batch);

/// Returns the number of samples at a time that `bindings` or the model fix.
[[nodiscard]] std::int64_t BatchOf(const Graph& graph, const ShapeBindings& bindings);

}  // namespace msc::gym
