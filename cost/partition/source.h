#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/compile.h"
#include "compiler/strategy/strategy.h"

namespace msc::cost {

/// A model whose regions are measured.
class RegionSource {
 public:
  /// The canonical graph with its sizes bound and the precisions of `strategy` applied.
  RegionSource(const Graph& canonical, const Strategy& strategy, const CompileOptions& options);
  /// A graph as graph() of another source gave it, and its added().
  RegionSource(Graph graph, std::set<std::string> added);

  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  /// Names of the nodes that the strategy added, which no plan names.
  [[nodiscard]] const std::set<std::string>& added() const noexcept { return added_; }

  /// What `nodes` compute, with the added nodes around them and their constants, as a graph of its
  /// own: as LowerFor cuts it out where all others are in other regions. UserError where a name is
  /// not the graph's.
  /// With `channels_last` it exchanges images so, where it may (see pipeline/images.h).
  [[nodiscard]] Graph Cut(std::span<const std::string> nodes, bool channels_last = false) const;

  /// The type of a value of the graph as it crosses from one region to another: narrow where the
  /// strategy stores it so. nullptr where there is no such value, or regions may not exchange it
  /// channels last.
  [[nodiscard]] const ValueType* ExchangedImage(const std::string& value) const;

 private:
  void FindPlaces();
  /// A part of the graph that is cut around `nodes` as the whole is. Models have thousands of
  /// regions, each of a few nodes: to copy all of a model for each takes the square of its size.
  [[nodiscard]] Graph Around(std::span<const std::string> nodes) const;

  Graph graph_;
  std::set<std::string> added_;
  std::map<NodeId, std::size_t> places_;  ///< in the graph's order
};

}  // namespace msc::cost
