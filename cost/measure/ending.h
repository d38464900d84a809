#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/compile.h"

namespace msc::cost {

/// The end of a graph that takes decisions: Softmax, Sigmoid, ArgMax and similar operators, and the
/// operators without weights around them. A small difference in front of it can become a large one
/// behind it, for example another class if two are equally likely.
struct Ending {
  /// Values that the decisions depend on, such as logits, and outputs that do not come from the
  /// end.
  std::vector<std::string> decided;
  Graph whole;  ///< the whole graph with sizes bound; its outputs also include `decided`
  /// For each of `decided`, its index among the outputs of `whole`.
  std::vector<std::size_t> decided_at;
  Graph rest;  ///< the graph from `decided` to the other outputs
  /// Index of each output of `rest` among the outputs of the graph.
  std::vector<std::size_t> positions;
};

/// Returns nothing if a graph does not end with a decision, or if its end contains nested graphs.
/// `decided` are values of `canonical` and not inputs. The inputs of `rest` are these values and
/// inputs of the graph, by name.
[[nodiscard]] std::optional<Ending> FindEnding(const Graph& canonical,
                                               const CompileOptions& options);

}  // namespace msc::cost
