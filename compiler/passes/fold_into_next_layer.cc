#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/match.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// A Mul or Add by a constant whose only reader is a Conv with constant weights.
struct Next {
  NodeId conv = kNoNode;
  ValueId x = kNoValue;               ///< other input of the Mul or Add
  std::vector<double> constant = {};  ///< one per input channel
  TensorPtr weights = {};
};

bool IsPadded(const Node& conv) {
  const auto pads = AttrOr<std::vector<std::int64_t>>(conv, "pads", {});
  const auto auto_pad = AttrOr<std::string>(conv, "auto_pad", "NOTSET");
  return auto_pad.starts_with("SAME") ||
         std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
}

std::optional<Next> ReadNext(const Graph& graph, const Node& node) {
  const auto reader = OnlyReader(graph, node.outputs.front());
  if (!reader || reader->index != 0 || !graph.node(reader->node).Is("Conv")) return std::nullopt;
  const Node& conv = graph.node(reader->node);
  Next next{.conv = reader->node, .x = kNoValue};
  next.weights = graph.constant(conv.inputs[1]);
  const auto rank = Rank(graph.type(node.outputs.front()));
  if (!next.weights || next.weights->dtype() != DType::kF32 || !rank || *rank < 3 ||
      next.weights->dims().size() != *rank) {
    return std::nullopt;
  }
  const std::int64_t channels = next.weights->dims()[1] * AttrOr<std::int64_t>(conv, "group", 1);
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
    const TensorPtr tensor = graph.constant(node.inputs[at]);
    const ValueId x = node.inputs[1 - at];
    // Otherwise the constant would broadcast x to more channels.
    const bool whole = Rank(graph.type(x)) == rank && (*graph.type(x).shape)[1].size() == channels;
    if (!tensor || graph.constant(x) || !whole) continue;
    const auto values = PerChannel(*tensor, *rank, 1, channels);
    if (!values) continue;
    next.x = x;
    next.constant.assign(values->begin(), values->end());
    return next;
  }
  return std::nullopt;
}

// Calls `visit(output channel, input channel, first weight, weights)` for every kernel.
template <class Visit>
void ForEachKernel(const Graph& graph, const Next& next, Visit visit) {
  const Dims& dims = next.weights->dims();
  const std::int64_t group = AttrOr<std::int64_t>(graph.node(next.conv), "group", 1);
  const std::int64_t taps = ElementCount(std::span<const std::int64_t>(dims).subspan(2));
  for (std::int64_t m = 0; m < dims[0]; ++m) {
    for (std::int64_t k = 0; k < dims[1]; ++k) {
      const std::int64_t input = m / (dims[0] / group) * dims[1] + k;
      visit(static_cast<std::size_t>(m), static_cast<std::size_t>(input),
            static_cast<std::size_t>((m * dims[1] + k) * taps), static_cast<std::size_t>(taps));
    }
  }
}

// Folds Conv(x * c): multiplies the weights by c, which is exact up to their rounding, also with
// padding.
bool FoldFactor(Graph& graph, NodeId id) {
  const auto next = ReadNext(graph, graph.node(id));
  if (!next) return false;
  Tensor scaled = *next->weights;
  const auto values = scaled.MutableValues<float>();
  ForEachKernel(graph, *next, [&](std::size_t, std::size_t input, std::size_t at, std::size_t n) {
    for (std::size_t i = at; i < at + n; ++i) {
      values[i] = static_cast<float>(static_cast<double>(values[i]) * next->constant[input]);
    }
  });
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    return false;
  }
  if (!Bypass(graph, id, next->x)) return false;
  ReplaceConstant(graph, next->conv, 1, std::move(scaled));
  return true;
}

// Folds Conv(x + c) without padding: adds c to the bias. Padding zeros would not be shifted by c.
bool FoldOffset(Graph& graph, NodeId id) {
  const auto next = ReadNext(graph, graph.node(id));
  if (!next || IsPadded(graph.node(next->conv))) return false;
  const Node conv = graph.node(next->conv);
  std::vector<double> sums(static_cast<std::size_t>(next->weights->dims()[0]), 0.0);
  if (conv.HasInput(2)) {
    const TensorPtr bias = graph.constant(conv.inputs[2]);
    if (!bias || bias->dtype() != DType::kF32) return false;
    sums.assign(bias->Values<float>().begin(), bias->Values<float>().end());
  }
  const auto values = next->weights->Values<float>();
  ForEachKernel(graph, *next, [&](std::size_t m, std::size_t input, std::size_t at, std::size_t n) {
    for (std::size_t i = at; i < at + n; ++i) {
      sums[m] += static_cast<double>(values[i]) * next->constant[input];
    }
  });
  const std::vector<float> bias(sums.begin(), sums.end());
  if (!std::all_of(bias.begin(), bias.end(), [](float v) { return std::isfinite(v); })) {
    return false;
  }
  if (!Bypass(graph, id, next->x)) return false;
  if (conv.HasInput(2)) {
    ReplaceConstant(graph, next->conv, 2, Vector(bias));
    return true;
  }
  Node with = graph.node(next->conv);
  with.inputs.resize(3, kNoValue);
  with.inputs[2] = graph.AddConstant(graph.FreeValueName(with.name + "_bias"), Vector(bias));
  const std::vector<NodeId> chain = {next->conv};
  ReplaceChain(graph, chain, std::move(with));
  return true;
}

// Replaces Conv(x * s + b) with padding by Conv((x + b / s) * s), whose factor folds.
bool SwapForPadded(Graph& graph, NodeId id) {
  const Node& add = graph.node(id);
  const auto next = ReadNext(graph, add);
  if (!next || !IsPadded(graph.node(next->conv)) || !OnlyReader(graph, next->x)) return false;
  const Node* mul = MadeBy(graph, next->x, "Mul");
  const auto shift = ReadScalarStep(graph, add);
  const auto scale = mul == nullptr ? std::nullopt : ReadScalarStep(graph, *mul);
  if (!shift || !scale || scale->scalar == 0.0F) return false;
  const float moved =
      static_cast<float>(static_cast<double>(shift->scalar) / static_cast<double>(scale->scalar));
  if (!std::isfinite(moved)) return false;
  const NodeId first = graph.producer(next->x);
  const ValueId x = scale->value;
  const std::size_t x_at = mul->inputs[0] == x ? 0 : 1;
  const ValueId factor = mul->inputs[1 - x_at];
  const ValueId offset =
      graph.AddConstant(graph.FreeValueName(graph.value(next->x).name + "_shift"),
                        Tensor::From<float>(DType::kF32, {}, std::vector<float>{moved}));
  Node inner{.name = graph.FreeNodeName(graph.node(id).name + "_first"),
             .op = "Add",
             .inputs = {x, offset},
             .outputs = {graph.AddValue(graph.FreeValueName(graph.value(next->x).name + "_moved"),
                                        graph.type(x))}};
  const ValueId made = inner.outputs.front();
  graph.AddNode(std::move(inner), first);
  const std::vector<NodeId> chain = {first, id};
  ReplaceChain(graph, chain, Node{.op = "Mul", .inputs = {made, factor}});
  return true;
}

}  // namespace

namespace {

bool SweepFromTheBack(Graph& graph) {
  // Reverse order: of a Mul before an Add, the Add must fold first.
  std::vector<NodeId> order = graph.order();
  std::reverse(order.begin(), order.end());
  bool changed = false;
  const auto step = [&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.Is("Mul")) return FoldFactor(graph, id);
    return node.Is("Add") && (FoldOffset(graph, id) || SwapForPadded(graph, id));
  };
  for (const NodeId id : order) {
    if (graph.IsLive(id)) changed |= step(id);
  }
  return changed;
}

}  // namespace

bool FoldIntoNextLayer(Graph& graph) {
  bool changed = false;
  // Each round except the last removes a node or moves a Mul to a place where the next round
  // removes it.
  while (SweepFromTheBack(graph)) changed = true;
  if (changed) RemoveDeadCode(graph);
  return changed;
}

}  // namespace msc
