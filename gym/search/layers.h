#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {

/// A layer as a report shows it.
struct LayerEntry {
  std::string name;
  std::string op;     ///< "Conv"
  std::string shape;  ///< of its input, then of its kernel: "1x80x14x14, 3x3, 80 groups"
  bool operator==(const LayerEntry&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("name", self.name, "name of the node");
    visit("op", self.op, "operator");
    visit("shape", self.shape, "shapes of its input and its kernel");
  }
};

/// Returns the quantizable layers of a canonical graph, in its order, for one sample.
[[nodiscard]] std::vector<LayerEntry> LayersOf(Graph graph);

/// Returns for every layer with weights, by name, the fraction of its output channels that `plan`
/// keeps, in [0, 1]. UserError if the plan does not belong to this graph.
[[nodiscard]] std::map<std::string, double> KeptShares(const Graph& graph, const PrunePlan& plan);

}  // namespace msc::gym
