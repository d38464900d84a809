#include "gym/app/layer_kind.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/ops/fused.h"
#include "compiler/partition/dataflow.h"

namespace msc::gym {
namespace {

template <std::size_t kCount>
bool IsOneOf(std::string_view op, const std::array<std::string_view, kCount>& ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

// Operators of ONNX and of the domain "msc"; equal names mean the same.
constexpr std::array<std::string_view, 3> kConvolutions = {"Conv", "ConvTranspose", "QLinearConv"};
constexpr std::array<std::string_view, 3> kProducts = {"Gemm", "MatMul", "QLinearMatMul"};
constexpr std::array<std::string_view, 5> kPools = {"AveragePool", "GlobalAveragePool",
                                                    "GlobalMaxPool", "MaxPool", "Pool"};
constexpr std::array<std::string_view, 7> kNorms = {"BatchNormalization",
                                                    "GroupNormalization",
                                                    "InstanceNormalization",
                                                    "LayerNormalization",
                                                    "LogSoftmax",
                                                    "LpNormalization",
                                                    "Softmax"};

/// Returns the kind by the shape of the weights, [M, C / group, window...].
std::string ConvolutionKind(const Graph& graph, const Node& node) {
  const std::size_t weights = node.op == "QLinearConv" ? 3 : 1;
  const std::optional<Shape>& shape = graph.type(node.inputs.at(weights)).shape;
  const std::optional<Dims> dims = shape ? StaticDims(*shape) : std::nullopt;
  if (!dims) return "convolution";
  const std::int64_t groups = AttrOr(node, "group", std::int64_t{1});
  if (groups > 1) return dims->at(1) == 1 ? "depthwise convolution" : "grouped convolution";
  const bool pointwise =
      std::all_of(dims->begin() + 2, dims->end(), [](std::int64_t dim) { return dim == 1; });
  return pointwise ? "pointwise convolution" : "convolution";
}

std::string KindAlone(const Graph& graph, const Node& node) {
  if (IsOneOf(node.op, kConvolutions)) return ConvolutionKind(graph, node);
  if (IsOneOf(node.op, kProducts)) return "matrix product";
  if (IsOneOf(node.op, kPools)) return "pool";
  if (IsOneOf(node.op, kNorms)) return "normalisation";
  if (node.Is("Attention", "msc")) return "attention";
  switch (KindOf(node)) {
    case OpKind::kElementwise:
    case OpKind::kBroadcast:
      return "elementwise";
    case OpKind::kInjective:
      return "data movement";
    case OpKind::kReduce:
      return "reduction";
    default:
      return "other";
  }
}

}  // namespace

std::string LayerKind(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const bool fused = node.Is("Conv", "msc") || node.Is("Gemm", "msc");
  const bool prelu = fused && ReadFusedAttrs(node).activation.op == "PRelu";
  return KindAlone(graph, node) + (prelu ? " and PRelu" : "");
}

}  // namespace msc::gym
