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

/// A model whose regions are measured. For one thread at a time.
class RegionSource {
 public:
  /// The canonical graph with its sizes bound and the precisions of `strategy` applied; who runs it
  /// does not count.
  RegionSource(const Graph& canonical, const Strategy& strategy, const CompileOptions& options);
  /// A graph as graph() of another source gave it, and its added().
  RegionSource(Graph graph, std::set<std::string> added);
  RegionSource(RegionSource&& other) noexcept;
  RegionSource& operator=(RegionSource&& other) noexcept;
  ~RegionSource();

  /// The same model with all layers in the precision that `target`, a spec, asks for (see
  /// pipeline/region_precision.h): itself where it asks for none. A source that was made of a graph
  /// has no other precisions. What is returned lives as long as this.
  [[nodiscard]] const RegionSource& For(const std::string& target) const;
  /// Likewise with every layer in the precision that its region of a plan asks for.
  [[nodiscard]] const RegionSource& ForPlan(const std::string& target,
                                            std::span<const PartitionRegion> plan) const;

  [[nodiscard]] const Graph& graph() const noexcept { return graph_; }
  /// Names of the nodes that the strategy added, which no plan names.
  [[nodiscard]] const std::set<std::string>& added() const noexcept { return added_; }

  /// In what the strategy has a layer; f32 where it does not say, and of all other nodes.
  [[nodiscard]] std::string PrecisionOf(const std::string& node) const;

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
  struct Precisions;
  void FindPlaces();
  /// A part of the graph that is cut around `nodes` as the whole is. Models have thousands of
  /// regions, each of a few nodes: to copy all of a model for each takes the square of its size.
  [[nodiscard]] Graph Around(std::span<const std::string> nodes) const;

  Graph graph_;
  std::set<std::string> added_;
  std::map<std::string, std::string> layers_;  ///< precisions, where the strategy has any
  std::map<NodeId, std::size_t> places_;       ///< in the graph's order
  std::unique_ptr<Precisions> precisions_;     ///< nullptr where there are no others
};

}  // namespace msc::cost
