#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// In a rank-3 value the last axis may be the features of a transformer instead of space.
constexpr std::size_t kLeastRank = 4;

// Returns whether the node reduces all axes but the first two.
bool ReducesSpace(const Node& node, std::size_t rank) {
  auto axes = AttrOr<std::vector<std::int64_t>>(node, "axes", {});
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  std::sort(axes.begin(), axes.end());
  if (axes.size() != rank - 2) return false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<std::int64_t>(i) + 2) return false;
  }
  return true;
}

bool RecognizeAt(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!node.Is("ReduceMean") && !node.Is("ReduceMax")) return false;
  const ValueType x = graph.type(node.inputs.front());
  const auto rank = Rank(x);
  if (x.dtype != DType::kF32 || !rank || *rank < kLeastRank || !ReducesSpace(node, *rank) ||
      IsCaptured(graph, node.outputs.front())) {
    return false;
  }
  const bool keeps = AttrOr<std::int64_t>(node, "keepdims", 1) != 0;
  Node pool{.op = node.Is("ReduceMean") ? "GlobalAveragePool" : "GlobalMaxPool",
            .inputs = {node.inputs.front()}};
  const NodeId nodes[] = {id};  // NOLINT(modernize-avoid-c-arrays)
  if (keeps) {
    ReplaceChain(graph, nodes, std::move(pool));
    return true;
  }
  ValueType pooled{.dtype = x.dtype, .shape = x.shape};
  std::fill(pooled.shape->begin() + 2, pooled.shape->end(), Dim(1));
  const ValueId made = graph.AddValue(
      graph.FreeValueName(graph.value(node.outputs.front()).name + "_pooled"), std::move(pooled));
  pool.name = graph.FreeNodeName(node.name + "_pool");
  pool.outputs = {made};
  graph.AddNode(std::move(pool), id);
  ReplaceChain(graph, nodes, Node{.op = "Flatten", .inputs = {made}});
  return true;
}

}  // namespace

bool RecognizeGlobalPools(Graph& graph) {
  return Sweep(graph, [&](NodeId id) { return RecognizeAt(graph, id); });
}

}  // namespace msc
