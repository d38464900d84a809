#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/passes.h"

namespace msc {

// Steps of FuseOps. Each returns whether it changed the graph.

/// Fuses a layer chain into one msc.Conv or msc.Gemm. Includes the widening nodes of its inputs and
/// the narrowing node of its output if the whole then runs in integers or in bf16. If `takes`
/// rejects the result, tries again without the activation; if `takes` rejects that too, leaves the
/// graph unchanged.
bool FuseLayer(Graph& graph, const LayerChain& chain, const Takes& takes);

/// Fuses MatMul, scale, mask, Softmax and MatMul, with the transposes around them, into
/// msc.Attention. Where(IsNaN(p), 0, p) of the Softmax p becomes its attribute zero_nan.
bool FuseAttention(Graph& graph, const Takes& takes);

/// Fuses each GELU that is not part of a layer (see gelu.h) into msc.Gelu.
bool FuseGelu(Graph& graph, const Takes& takes);

/// Moves widening nodes behind operators that only move or select values (Reshape, Flatten,
/// Transpose, Squeeze, Unsqueeze, MaxPool, Concat of equal formats), and narrowing nodes in front
/// of the first five, so that these run on the narrow type. Exact. MaxPool becomes msc.Pool.
bool MoveNarrowing(Graph& graph);

/// Returns whether `takes` accepts `node` with an output of `type` in front of `before`; true if
/// `takes` is empty. Restores the graph.
[[nodiscard]] bool WouldTake(Graph& graph, Node node, ValueType type, NodeId before,
                             const Takes& takes);

/// Fuses AveragePool or GlobalAveragePool of a widened value, and a narrowing node behind it if
/// there is one, into msc.Pool.
bool FusePools(Graph& graph);

/// Fuses Add or Mul of two widened values, with an activation and a narrowing node behind it if
/// there are any, into msc.Binary.
bool FuseBinaries(Graph& graph);

/// Converts MaxPool, AveragePool or GlobalAveragePool to an msc.Pool node without inputs and
/// quantization attributes. Returns nullopt if its window is unknown (auto_pad with unknown
/// dimensions).
[[nodiscard]] std::optional<Node> FusedPool(const Graph& graph, NodeId id);

/// Writes kernel_shape, strides, dilations and pads, and removes auto_pad. The caller writes a
/// Conv's group.
void WriteWindow(const Window& window, AttrMap& attrs);

/// Returns the resolved window of a Conv or pool, or nullopt if it depends on unknown sizes.
/// `kernel` is empty for pools.
[[nodiscard]] std::optional<Window> KnownWindow(const Graph& graph, NodeId id, const Dims& kernel);

/// Returns the narrowing node if it is the only reader of `value`, else kNoNode.
[[nodiscard]] NodeId OnlyNarrowing(const Graph& graph, ValueId value);

}  // namespace msc
