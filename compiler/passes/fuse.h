#pragma once

#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/passes/chain.h"
#include "compiler/passes/passes.h"

namespace msc {

// The parts of FuseOps. Each returns whether it changed the graph.

/// Makes one msc.Conv or msc.Gemm of a chain, with the widening nodes in front of it and the
/// narrowing node behind it where the whole then runs on integers, or in bf16. Where `takes`
/// refuses that, the activation is left out; where it refuses that too, nothing changes.
bool FuseLayer(Graph& graph, const LayerChain& chain, const Takes& takes);

/// MatMul, scale, mask, Softmax, MatMul, with the transposes around them: msc.Attention.
bool FuseAttention(Graph& graph, const Takes& takes);

/// GELU that no layer took along (see gelu.h): msc.Gelu.
bool FuseGelu(Graph& graph, const Takes& takes);

/// Whether `takes`, if there is one, says yes to `node` with an output of `type` in front of
/// `before`. The graph is as it was afterwards.
[[nodiscard]] bool WouldTake(Graph& graph, Node node, ValueType type, NodeId before,
                             const Takes& takes);

/// AveragePool and GlobalAveragePool of a widened value, with a narrowing node behind: msc.Pool.
bool FusePools(Graph& graph);

/// Add and Mul of two widened values, with an activation and a narrowing node behind: msc.Binary.
bool FuseBinaries(Graph& graph);

/// MaxPool, AveragePool or GlobalAveragePool as msc.Pool without inputs and quantization
/// attributes. None where its window is not known yet (auto_pad with unknown dimensions).
[[nodiscard]] std::optional<Node> FusedPool(const Graph& graph, NodeId id);

/// Writes kernel_shape, strides, dilations, pads, and clears auto_pad. Conv has a group as well.
void WriteWindow(const Window& window, AttrMap& attrs);

/// The window of a Conv or pool, if what it depends on is known. `kernel` is empty for pools.
[[nodiscard]] std::optional<Window> KnownWindow(const Graph& graph, NodeId id, const Dims& kernel);

/// Where the value after a chain is only read by one narrowing node: that node.
[[nodiscard]] NodeId OnlyNarrowing(const Graph& graph, ValueId value);

}  // namespace msc
