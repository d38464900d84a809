#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// Helpers that several passes share; none is a pass.

/// Returns the only use of `value`, if there is exactly one, it is a node's input (not a capture by
/// a nested graph), and `value` is no graph output. Returns nullopt for kNoValue.
[[nodiscard]] std::optional<Use> OnlyReader(const Graph& graph, ValueId value);

/// Returns whether a nested graph reads `value` by name, so that its readers cannot be redirected.
/// False for kNoValue.
[[nodiscard]] bool IsCaptured(const Graph& graph, ValueId value);

/// Removes `node`, which has one output in use, and makes its readers read `value`. If that output
/// is a graph output, `value` takes its name. Returns false, without a change, if this is
/// impossible: a nested graph reads the output, or `value` would need the name but is a graph
/// input, a constant, captured, or a graph output itself.
bool Bypass(Graph& graph, NodeId node, ValueId value);

/// Replaces `nodes` by `with`, whose name and outputs are ignored. `nodes` are a chain in order;
/// only the output of the last one has other readers, and it must not be captured. The new node
/// stands in the place of the last one and gets the name of the first; its output gets the name of
/// the last one's output and `type`. Returns the new node.
NodeId ReplaceChain(Graph& graph, std::span<const NodeId> nodes, Node with, ValueType type);

/// Does the same, and keeps the type.
NodeId ReplaceChain(Graph& graph, std::span<const NodeId> nodes, Node with);

/// Makes input `index` of `node` a new constant. Keeps the name of the old one if it has no other
/// reader.
void ReplaceConstant(Graph& graph, NodeId node, std::size_t index, Tensor tensor);

/// Adds nodes and constants that stand for a node, in front of it and named after it. All must
/// outlive it.
class Inserter {
 public:
  Inserter(Graph& graph, NodeId before);

  /// Adds a node, infers its types, and returns its output or outputs.
  ValueId Add(const char* op, std::vector<ValueId> inputs, AttrMap attrs = {});
  std::vector<ValueId> AddSeveral(const char* op, std::vector<ValueId> inputs, std::size_t outputs,
                                  AttrMap attrs = {});
  /// Adds a constant: a scalar, or a list.
  ValueId Int(std::int64_t value);
  ValueId List(std::span<const std::int64_t> values);

 private:
  Graph& graph_;
  NodeId before_;
  std::string name_;  ///< of the node
};

/// Returns the tensors of a sequence that SequenceConstruct or SequenceEmpty makes; nothing of
/// others, and of kNoValue.
[[nodiscard]] std::optional<std::vector<ValueId>> SequenceTensors(const Graph& graph,
                                                                  ValueId sequence);

/// Calls `step` for every node in order that still exists at that point; skips nodes that steps
/// add. Returns whether any step returned true (it changed the graph).
bool Sweep(Graph& graph, const std::function<bool(NodeId)>& step);

/// Returns the rank, or nullopt if it is unknown.
[[nodiscard]] std::optional<std::size_t> Rank(const ValueType& type);

/// Returns whether both shapes are known in every dimension, by number or by symbol, and equal.
[[nodiscard]] bool SurelySameShape(const ValueType& a, const ValueType& b);

/// Returns the elements of `tensor` (f32) for `channels` channels if it broadcasts to a value of
/// `rank` only along `axis`; a single element is repeated. Otherwise returns nullopt.
[[nodiscard]] std::optional<std::vector<float>> PerChannel(const Tensor& tensor, std::size_t rank,
                                                           std::size_t axis, std::int64_t channels);

/// Returns an f32 tensor of shape [values.size()].
[[nodiscard]] Tensor Vector(std::span<const float> values);

}  // namespace msc
