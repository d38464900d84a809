#pragma once

#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A value of a whole graph as its parts exchange it: as the graph says, or an image channels last
/// (see images.h).
struct Exchanged {
  ValueId value = kNoValue;
  bool channels_last = false;
  auto operator<=>(const Exchanged&) const = default;
};

/// Joins parts of a graph, each changed by itself, to one graph again.
///
/// The joined graph has the inputs, outputs and metadata of the whole one, with their names.
/// Weights that parts share are in it once. Other names are kept where they are free.
class Splicer {
 public:
  /// `whole` outlives the splicer.
  explicit Splicer(const Graph& whole);

  /// Appends a part that has these inputs and outputs in their order. What it reads was made by
  /// parts before it, as it reads it. Returns the names of its nodes in the joined graph.
  std::vector<std::string> Add(std::span<const Exchanged> inputs,
                               std::span<const Exchanged> outputs, const Graph& part);
  /// Whether a part made it.
  [[nodiscard]] bool Has(const Exchanged& value) const { return made_.contains(value); }

  /// All parts were added, and the outputs made as the graph says.
  [[nodiscard]] Graph Take() &&;

 private:
  [[nodiscard]] ValueId Constant(const Graph& graph, ValueId id);

  const Graph& whole_;
  Graph joined_;
  std::map<Exchanged, ValueId> made_;  ///< of the whole graph -> of the joined one
  std::map<std::pair<const Tensor*, std::string>, ValueId> constants_;  ///< by layout too
};

}  // namespace msc
