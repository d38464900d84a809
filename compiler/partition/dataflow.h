#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/index_set.h"
#include "compiler/partition/op_kind.h"

namespace msc {

/// Position of a node in the order of a DataflowGraph, or of a tensor in its list.
using FlowIndex = std::uint32_t;
inline constexpr FlowIndex kNoFlow = std::numeric_limits<FlowIndex>::max();

/// A node of a dataflow graph.
struct FlowNode {
  std::string name;     ///< stable: plans refer to nodes by name
  std::string op = {};  ///< "Relu", "msc.Conv"
  OpKind kind = OpKind::kOpaque;
  std::vector<FlowIndex> inputs = {};   ///< tensors in order; those read twice are repeated
  std::vector<FlowIndex> outputs = {};  ///< tensors
  NodeId id = kNoNode;                  ///< node of the Graph that this node was made from
  /// Positions of the weights among the operands, in rising order; absent operands are not counted.
  /// Weights are part of the node and are missing from `inputs`.
  std::vector<std::uint32_t> weights = {};
};

/// A tensor of a dataflow graph.
struct FlowTensor {
  std::string name;
  std::int64_t bytes = 0;               ///< 0 if unknown
  bool leaves = false;                  ///< whether it is an output of the graph
  ValueId value = kNoValue;             ///< value of the Graph that this tensor was made from
  FlowIndex producer = kNoFlow;         ///< set by DataflowGraph; kNoFlow for an input of the graph
  std::vector<FlowIndex> readers = {};  ///< set by DataflowGraph: nodes in order, each once
};

/// Nodes in a topological order and the tensors between them. Immutable once constructed.
class DataflowGraph {
 public:
  DataflowGraph() = default;
  /// Builds the graph and sets producers and readers. UserError if a node reads a tensor that a
  /// later node makes, two nodes make the same tensor, or an index is out of range.
  DataflowGraph(std::vector<FlowNode> nodes, std::vector<FlowTensor> tensors);
  /// Builds the dataflow graph of `graph`. Nodes are in depth-first post-order from the outputs,
  /// operands from left to right; nodes that no output depends on come last. Weights are part of
  /// the nodes that read them and are neither nodes nor tensors.
  explicit DataflowGraph(const Graph& graph);

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const FlowNode& node(std::size_t index) const { return nodes_.at(index); }
  [[nodiscard]] const std::vector<FlowNode>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const FlowTensor& tensor(std::size_t index) const { return tensors_.at(index); }
  [[nodiscard]] const std::vector<FlowTensor>& tensors() const noexcept { return tensors_; }
  /// Return the distinct nodes that `index` reads from, and those that read from it, in order.
  [[nodiscard]] const std::vector<FlowIndex>& producers(std::size_t index) const {
    return producers_.at(index);
  }
  [[nodiscard]] const std::vector<FlowIndex>& consumers(std::size_t index) const {
    return consumers_.at(index);
  }
  /// Returns whether a tensor of the node is an output of the graph.
  [[nodiscard]] bool Leaves(std::size_t index) const;
  [[nodiscard]] IndexSet EmptySet() const { return IndexSet(size()); }
  /// Returns the node of that name; kNoFlow if there is none.
  [[nodiscard]] FlowIndex Find(std::string_view name) const;

 private:
  void Connect();

  std::vector<FlowNode> nodes_;
  std::vector<FlowTensor> tensors_;
  std::vector<std::vector<FlowIndex>> producers_;
  std::vector<std::vector<FlowIndex>> consumers_;
};

/// Returns whether no path leaves `nodes` and comes back. Visits only the nodes between the first
/// and the last member.
[[nodiscard]] bool IsConvex(const DataflowGraph& graph, const IndexSet& nodes);

}  // namespace msc
