#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/extract.h"
#include "compiler/ir/graph.h"

namespace msc {

/// Joins parts of a graph, each changed by itself, to one graph again.
///
/// The joined graph has the inputs, outputs and metadata of the whole one, with their names.
/// Weights that parts share are in it once. Other names are kept where they are free.
class Splicer {
 public:
  /// `whole` outlives the splicer.
  explicit Splicer(const Graph& whole);

  /// Appends what became of `part`: a graph with its inputs and outputs in their order. What it
  /// reads was made by parts before it. Returns the names of its nodes in the joined graph.
  std::vector<std::string> Add(const Extracted& part, const Graph& changed);

  /// All parts were added.
  [[nodiscard]] Graph Take() &&;

 private:
  [[nodiscard]] ValueId Constant(const Graph& graph, ValueId id);

  const Graph& whole_;
  Graph joined_;
  std::map<ValueId, ValueId> made_;  ///< of the whole graph -> of the joined one
  std::map<std::pair<const Tensor*, std::string>, ValueId> constants_;  ///< by layout too
};

}  // namespace msc
