#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/compile.h"

namespace msc::cost {

/// The end of a graph that takes decisions: Softmax, Sigmoid, ArgMax and their like, and what
/// stands around them without weights. A small difference before it may be a large one behind it:
/// of two classes that are as likely, the other one.
struct Ending {
  /// Values that it decides by, such as logits, and outputs that are none of its results.
  std::vector<std::string> decided;
  Graph whole;  ///< all of the graph, sizes bound, with what is decided by behind its outputs
  std::vector<std::size_t> decided_at;  ///< among the outputs of `whole`, by value
  Graph rest;                           ///< from there to the other outputs
  std::vector<std::size_t> positions;   ///< of what `rest` gives among the outputs of the graph
};

/// Nothing where a graph ends without a decision, or where its end has nested graphs. `decided` are
/// values of `canonical`, none of them an input; inputs of `rest` are these and inputs of the
/// graph, by name.
[[nodiscard]] std::optional<Ending> FindEnding(const Graph& canonical,
                                               const CompileOptions& options);

}  // namespace msc::cost
