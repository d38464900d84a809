#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

struct Padding {
  Ints spatial;     ///< of the axes from the third on, first those before and then those behind
  float value = 0;  ///< what is added
};

/// Returns what a Pad adds, if `node` is one of constants along the axes from the third on.
std::optional<Padding> ReadPadding(const Graph& graph, const Node& node) {
  if (!node.Is("Pad") || AttrOr<std::string>(node, "mode", "constant") != "constant") {
    return std::nullopt;
  }
  const TensorPtr pads = graph.constant(node.inputs[1]);
  if (!pads || pads->dtype() != DType::kI64 || pads->size() < 6 || node.HasInput(3)) {
    return std::nullopt;
  }
  Padding padding;
  if (node.HasInput(2)) {
    const TensorPtr value = graph.constant(node.inputs[2]);
    if (!value || value->dtype() != DType::kF32 || value->size() != 1) return std::nullopt;
    padding.value = value->Values<float>()[0];
  }
  const auto all = pads->Values<std::int64_t>();
  const std::size_t rank = all.size() / 2;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_spatial = i % rank >= 2;
    if (all[i] < 0 || (!is_spatial && all[i] != 0)) return std::nullopt;
    if (is_spatial) padding.spatial.push_back(all[i]);
  }
  return padding;
}

/// Returns the padding in front of a window operator with explicit pads.
std::optional<Padding> PaddingAbove(const Graph& graph, const Node& node) {
  if (AttrOr<std::string>(node, "auto_pad", "NOTSET") != "NOTSET") return std::nullopt;
  const NodeId above = graph.producer(node.inputs[0]);
  return above == kNoNode ? std::nullopt : ReadPadding(graph, graph.node(above));
}

/// Returns the pads of a window operator and these together.
std::optional<Ints> Together(const Node& node, const Padding& padding) {
  Ints pads = AttrOr<Ints>(node, "pads", Ints(padding.spatial.size(), 0));
  if (pads.size() != padding.spatial.size()) return std::nullopt;
  for (std::size_t i = 0; i < pads.size(); ++i) pads[i] += padding.spatial[i];
  return pads;
}

void Fold(Graph& graph, NodeId id, const Ints& pads) {
  const ValueId x = graph.node(graph.producer(graph.node(id).inputs[0])).inputs[0];
  graph.SetAttr(id, "pads", pads);
  graph.SetInput(id, 0, x);
}

/// Returns whether each window of the Conv with these pads reads something else than zeros, which
/// libraries may expect.
bool FitKernel(const Graph& graph, const Node& conv, const Ints& pads) {
  const auto& shape = graph.type(conv.inputs[1]).shape;
  const auto weights = shape ? StaticDims(*shape) : std::nullopt;
  const std::size_t axes = pads.size() / 2;
  if (!weights || weights->size() != axes + 2) return false;
  const Ints dilations = AttrOr<Ints>(conv, "dilations", Ints(axes, 1));
  for (std::size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] > ((*weights)[2 + i % axes] - 1) * dilations.at(i % axes)) return false;
  }
  return true;
}

bool FoldIntoConv(Graph& graph, NodeId id) {
  const Node& conv = graph.node(id);
  if (!conv.Is("Conv")) return false;
  const auto padding = PaddingAbove(graph, conv);
  if (!padding || padding->value != 0) return false;
  const auto pads = Together(conv, *padding);
  if (!pads || !FitKernel(graph, conv, *pads)) return false;
  Fold(graph, id, *pads);
  return true;
}

/// Returns whether no element of a value is below 0.
bool IsNotNegative(const Graph& graph, ValueId value) {
  const NodeId producer = graph.producer(value);
  if (producer == kNoNode) return false;
  const Node& node = graph.node(producer);
  constexpr std::array<std::string_view, 6> kOps = {"Abs",  "Exp",     "HardSigmoid",
                                                    "Relu", "Sigmoid", "Softmax"};
  if (node.domain.empty() && std::find(kOps.begin(), kOps.end(), node.op) != kOps.end()) {
    return true;
  }
  if (!node.Is("Clip") || !node.HasInput(1)) return false;
  const TensorPtr least = graph.constant(node.inputs[1]);
  return least && least->dtype() == DType::kF32 && least->size() == 1 &&
         least->Values<float>()[0] >= 0;
}

/// The pads of a MaxPool are less than all numbers. Zeros do the same beside numbers that are not
/// negative, as each window has one of these.
bool FoldIntoMaxPool(Graph& graph, NodeId id) {
  const Node& pool = graph.node(id);
  if (!pool.Is("MaxPool") || pool.outputs.size() != 1) return false;
  const auto padding = PaddingAbove(graph, pool);
  if (!padding || AttrOr<std::int64_t>(pool, "ceil_mode", 0) != 0) return false;
  const ValueId x = graph.node(graph.producer(pool.inputs[0])).inputs[0];
  const bool least = padding->value <= std::numeric_limits<float>::lowest();
  if (!least && (padding->value != 0 || !IsNotNegative(graph, x))) return false;
  const auto pads = Together(pool, *padding);
  const Ints kernel = AttrOr<Ints>(pool, "kernel_shape", {});
  const Ints dilations = AttrOr<Ints>(pool, "dilations", Ints(kernel.size(), 1));
  const bool dense = std::all_of(dilations.begin(), dilations.end(),
                                 [](std::int64_t dilation) { return dilation == 1; });
  if (!pads || pads->size() != 2 * kernel.size() || !dense) return false;
  for (std::size_t i = 0; i < pads->size(); ++i) {
    if ((*pads)[i] >= kernel[i % kernel.size()]) return false;
  }
  Fold(graph, id, *pads);
  return true;
}

}  // namespace

bool FoldPadding(Graph& graph) {
  const bool changed = Sweep(
      graph, [&](NodeId id) { return FoldIntoConv(graph, id) || FoldIntoMaxPool(graph, id); });
  if (changed) RemoveDeadCode(graph);
  return changed;
}

}  // namespace msc
