#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/pipeline/compile.h"
#include "compiler/strategy/strategy.h"

namespace msc::cost {

/// A model from which regions are cut to be measured. For one thread at a time.
class RegionSource {
 public:
  /// Makes the canonical graph with its sizes bound and the precisions of `strategy`; ignores the
  /// strategy's targets.
  RegionSource(const Graph& canonical, const Strategy& strategy, const CompileOptions& options);
  /// Takes a graph that graph() of another source returned, and its added().
  RegionSource(Graph graph, std::set<std::string> added);
  RegionSource(RegionSource&& other) noexcept;
  RegionSource& operator=(RegionSource&& other) noexcept;
  ~RegionSource();

  /// Returns the same model with all layers in the precision that the spec `target` asks for
  /// (pipeline/region_precision.h), or this source if it asks for none. A source made from a graph
  /// has no other precisions. The result lives as long as this source.
  [[nodiscard]] const RegionSource& For(const std::string& target) const;
  /// Returns the same model with every layer in the precision that its region of a plan asks for.
  [[nodiscard]] const RegionSource& ForPlan(const std::string& target,
                                            std::span<const PartitionRegion> plan) const;

  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  /// Returns the names of the nodes that the strategy added, which plans do not name.
  [[nodiscard]] const std::set<std::string>& added() const noexcept { return added_; }

  /// Returns the strategy's precision of a layer; f32 for layers without one and for all other
  /// nodes.
  [[nodiscard]] Precision PrecisionOf(const std::string& node) const;

  /// Returns what `nodes` compute as a separate graph, with the added nodes around them and their
  /// constants: as LowerFor cuts it out if all other nodes are in other regions. With
  /// `channels_last` it exchanges images channels last, if possible (pipeline/images.h). UserError
  /// if a name is not in the graph.
  [[nodiscard]] Graph Cut(std::span<const std::string> nodes, bool channels_last = false) const;

  /// Returns the type in which a value of the graph crosses between regions: the narrow type if the
  /// strategy stores it so. nullptr if there is no such value, or regions may not exchange it
  /// channels last.
  [[nodiscard]] const ValueType* ExchangedImage(const std::string& value) const;

 private:
  struct Precisions;
  void FindPlaces();
  /// Returns a part of the graph from which `nodes` are cut in the same way as from the whole.
  /// Models have thousands of small regions, and copying the whole graph for each would take
  /// quadratic time.
  [[nodiscard]] Graph Around(std::span<const std::string> nodes) const;

  Graph graph_;
  std::set<std::string> added_;
  PrecisionByLayer layers_;                 ///< precisions that the strategy sets
  std::map<NodeId, std::size_t> places_;    ///< positions in the graph's order
  std::unique_ptr<Precisions> precisions_;  ///< nullptr if there are no other precisions
};

}  // namespace msc::cost
