#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc::gym {

/// A layer as a report names it.
struct LayerEntry {
  std::string name;
  std::string op;     ///< "Conv"
  std::string shape;  ///< of its input, then its kernel: "1x80x14x14, 3x3, 80 groups"
  bool operator==(const LayerEntry&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("name", self.name, "of the node");
    visit("op", self.op, "operator");
    visit("shape", self.shape, "of its input and its kernel");
  }
};

/// The layers of a canonical graph that can be quantized, in its order, for one sample.
[[nodiscard]] std::vector<LayerEntry> LayersOf(Graph graph);

/// By the name of every layer with weights, the share of its output channels that `plan` keeps, in
/// [0, 1]. UserError where the plan is not of this graph.
[[nodiscard]] std::map<std::string, double> KeptShares(const Graph& graph, const PrunePlan& plan);

}  // namespace msc::gym
