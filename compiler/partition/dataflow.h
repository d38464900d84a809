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

namespace msc {

/// Position of a node in the order of a DataflowGraph, and of a tensor in its list.
using FlowIndex = std::uint32_t;
inline constexpr FlowIndex kNoFlow = std::numeric_limits<FlowIndex>::max();

/// What a node of a dataflow graph is. Graphs of this compiler have calls alone; the other roles
/// are those of expression graphs, in which parameters and operator names are nodes as well.
enum class FlowRole : std::uint8_t {
  kCall,
  kParameter,
  kConstant,
  kScalar,    ///< a constant that is written into the code of its readers
  kOperator,  ///< the name of an operator, which its calls read
  kTuple,
  kProjection,
  kFunction,  ///< reads its parameters and its body
};

/// How the elements of an operator's result depend on those of its operands, from easiest to fuse
/// to not at all.
enum class OpKind : std::uint8_t {
  kElementwise,
  kBroadcast,
  kInjective,
  kReduce,
  kAnchor,  ///< Conv, MatMul: takes elementwise operators behind it along
  kTuple,
  kOpaque,
};
/// "E", "B", "I", "R", "A", "T", "O".
[[nodiscard]] std::string_view Name(OpKind kind);
/// Of an ONNX operator or one of domain "msc"; kOpaque where nothing is known.
[[nodiscard]] OpKind KindOf(const Node& node);

struct FlowNode {
  std::string name;     ///< stable: plans refer to it
  std::string op = {};  ///< of a call: "Relu", "msc.Conv"
  FlowRole role = FlowRole::kCall;
  OpKind kind = OpKind::kOpaque;
  std::uint32_t block = 0;              ///< nested function or branch: regions keep to one
  std::vector<FlowIndex> inputs = {};   ///< tensors in order; twice what is read twice
  std::vector<FlowIndex> outputs = {};  ///< tensors
  NodeId id = kNoNode;                  ///< in the graph it was made from
  /// Places of weights among its operands, absent ones not counted, in rising order. They are part
  /// of the node and not among `inputs`.
  std::vector<std::uint32_t> weights = {};

  /// Written into its readers rather than passed to them.
  [[nodiscard]] bool inlined() const {
    return role == FlowRole::kOperator || role == FlowRole::kScalar;
  }
};

struct FlowTensor {
  std::string name;
  std::int64_t bytes = 0;               ///< 0 where unknown
  bool leaves = false;                  ///< is a result of the whole
  ValueId value = kNoValue;             ///< in the graph it was made from
  FlowIndex producer = kNoFlow;         ///< filled in; kNoFlow for an input of the whole
  std::vector<FlowIndex> readers = {};  ///< filled in: nodes, in order, each once
};

/// Nodes in a topological order and the tensors between them. Immutable once made.
class DataflowGraph {
 public:
  DataflowGraph() = default;
  /// Fills in producers and readers. UserError where a node reads what a later one makes, a tensor
  /// is made twice, or an index is out of range.
  DataflowGraph(std::vector<FlowNode> nodes, std::vector<FlowTensor> tensors);
  /// The nodes of `graph` in depth-first post-order from its outputs, operands from left to right;
  /// nodes that no output depends on come last. Weights are part of the nodes that read them:
  /// neither nodes nor tensors.
  explicit DataflowGraph(const Graph& graph);

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] const FlowNode& node(std::size_t index) const { return nodes_.at(index); }
  [[nodiscard]] const std::vector<FlowNode>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const FlowTensor& tensor(std::size_t index) const { return tensors_.at(index); }
  [[nodiscard]] const std::vector<FlowTensor>& tensors() const noexcept { return tensors_; }
  /// Distinct nodes that `index` reads from, and that read from it, in order.
  [[nodiscard]] const std::vector<FlowIndex>& producers(std::size_t index) const {
    return producers_.at(index);
  }
  [[nodiscard]] const std::vector<FlowIndex>& consumers(std::size_t index) const {
    return consumers_.at(index);
  }
  /// Whether a tensor of the node is a result of the whole.
  [[nodiscard]] bool Leaves(std::size_t index) const;
  /// The nearest node through which all that `index` flows into goes; kNoFlow if there is none.
  [[nodiscard]] FlowIndex dominator(std::size_t index) const { return dominators_.at(index); }
  [[nodiscard]] IndexSet EmptySet() const { return IndexSet(size()); }
  /// The node of that name; kNoFlow if there is none.
  [[nodiscard]] FlowIndex Find(std::string_view name) const;

 private:
  void Connect();
  void FindDominators();

  std::vector<FlowNode> nodes_;
  std::vector<FlowTensor> tensors_;
  std::vector<std::vector<FlowIndex>> producers_;
  std::vector<std::vector<FlowIndex>> consumers_;
  std::vector<FlowIndex> dominators_;
};

/// All nodes that each node influences, itself not included: one reverse sweep, O(edges * n / 64)
/// time and n * n / 8 bytes at most.
[[nodiscard]] std::vector<IndexSet> DownstreamClosure(const DataflowGraph& graph);

/// Whether no path leaves `nodes` and comes back. Looks at nodes between the first and last of the
/// set only.
[[nodiscard]] bool IsConvex(const DataflowGraph& graph, const IndexSet& nodes);

}  // namespace msc
