#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/ir/graph.h"

namespace msc {

// Small steps that several passes share. None is a pass.

/// The one place that reads `value`, if there is exactly one, it is an input of a node (not a
/// capture by a nested graph), and `value` is no graph output. None for kNoValue.
[[nodiscard]] std::optional<Use> OnlyReader(const Graph& graph, ValueId value);

/// Whether a nested graph reads `value` by name, so that its readers cannot be redirected.
/// Not so for kNoValue.
[[nodiscard]] bool IsCaptured(const Graph& graph, ValueId value);

/// Removes `node`, whose readers are to read `value` instead. If `node` made a graph output, that
/// output keeps its name: `value` takes it over. Returns false, with nothing changed, where that
/// cannot be: a nested graph reads the output, or `value` would have to be renamed although it is a
/// graph input, a constant, captured or a graph output itself. `node` has one output in use.
bool Bypass(Graph& graph, NodeId node, ValueId value);

/// Puts `with` (its name and outputs are ignored) in the place of `nodes`: a chain in order, the
/// last of which makes the only value that others read. The new node stands where the last one
/// stood, takes the name of the first one, and its output the name of the last one's output, with
/// `type`. Returns the new node. The value must not be captured.
NodeId ReplaceChain(Graph& graph, std::span<const NodeId> nodes, Node with, ValueType type);

/// Same with the type as it was.
NodeId ReplaceChain(Graph& graph, std::span<const NodeId> nodes, Node with);

/// Gives input `index` of `node` a new constant. Keeps the name of the old one if nobody else reads
/// it.
void ReplaceConstant(Graph& graph, NodeId node, std::size_t index, Tensor tensor);

/// Calls `step` for every node in order that is still there when its turn comes; nodes that steps
/// add are not visited. Returns whether any step returned true (it changed the graph).
bool Sweep(Graph& graph, const std::function<bool(NodeId)>& step);

/// The rank, if it is known.
[[nodiscard]] std::optional<std::size_t> Rank(const ValueType& type);

/// Both shapes are known in every dimension, by number or by symbol, and equal.
[[nodiscard]] bool SurelySameShape(const ValueType& a, const ValueType& b);

/// If `tensor` (f32) broadcasts against a value of `rank` along `axis` alone, its elements for
/// `channels` channels, repeated where it holds one.
[[nodiscard]] std::optional<std::vector<float>> PerChannel(const Tensor& tensor, std::size_t rank,
                                                           std::size_t axis, std::int64_t channels);

/// A f32 tensor of shape [values.size()].
[[nodiscard]] Tensor Vector(std::span<const float> values);

}  // namespace msc
