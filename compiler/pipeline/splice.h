#pragma once

#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

/// A value of a whole graph in the form in which its parts exchange it: as in the graph, or an
/// image channels last (see images.h).
struct Exchanged {
  ValueId value = kNoValue;
  bool channels_last = false;
  auto operator<=>(const Exchanged&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Joins separately changed parts of a graph to one graph again.
///
/// The joined graph has the inputs, outputs and metadata of the whole one, with their names. It
/// contains weights that parts share once. Other names are kept unless they are taken.
class Splicer {
 public:
  /// `whole` must outlive the splicer.
  explicit Splicer(const Graph& whole);

  /// Appends a part that has these inputs and outputs, in order. Earlier parts must have made its
  /// inputs in the form in which it reads them. Returns the names of its nodes in the joined graph.
  std::vector<std::string> Add(std::span<const Exchanged> inputs,
                               std::span<const Exchanged> outputs, const Graph& part);
  /// Returns whether a part made the value in this form.
  [[nodiscard]] bool Has(const Exchanged& value) const { return made_.contains(value); }

  /// Returns the joined graph after all parts were added; outputs must have been made as in the
  /// whole graph.
  [[nodiscard]] Graph Take() &&;

 private:
  [[nodiscard]] ValueId Constant(const Graph& graph, ValueId id);

  const Graph& whole_;
  Graph joined_;
  std::map<Exchanged, ValueId> made_;  ///< value of the whole graph -> of the joined one
  std::map<const Tensor*, ValueId> constants_;
};

}  // namespace msc
