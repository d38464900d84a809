#include "compiler/passes/activation.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "compiler/passes/gelu.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

std::optional<float> ScalarBound(const Graph& graph, const Node& clip, std::size_t index,
                                 float otherwise) {
  if (!clip.HasInput(index)) return otherwise;
  const TensorPtr bound = graph.constant(clip.inputs[index]);
  if (!bound || bound->dtype() != DType::kF32 || bound->size() != 1) return std::nullopt;
  return bound->Values<float>().front();
}

// Reads Clip-13, where an absent bound is the lowest or the highest float.
std::optional<Activation> ReadClip(const Graph& graph, const Node& node) {
  using Limits = std::numeric_limits<float>;
  const auto low = ScalarBound(graph, node, 1, Limits::lowest());
  const auto high = ScalarBound(graph, node, 2, Limits::max());
  if (!low || !high) return std::nullopt;
  return Activation{.op = "Clip", .alpha = *low, .beta = *high};
}

std::optional<Activation> ReadSimple(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return std::nullopt;
  if (node.op == "Relu" || node.op == "Sigmoid" || node.op == "Tanh" || node.op == "HardSwish") {
    return Activation{.op = node.op, .alpha = 0, .beta = 0};
  }
  if (node.op == "HardSigmoid") {
    return Activation{.op = node.op,
                      .alpha = AttrOr<float>(node, "alpha", 0.2F),
                      .beta = AttrOr<float>(node, "beta", 0.5F)};
  }
  if (node.op == "LeakyRelu") {
    return Activation{.op = node.op, .alpha = AttrOr<float>(node, "alpha", 0.01F), .beta = 0};
  }
  if (node.op == "Clip") return ReadClip(graph, node);
  return std::nullopt;
}

bool IsSixth(float value) {
  return std::abs(value - 1.0F / 6.0F) < 1e-6F;
}

// Returns the activation of a gate: x * Sigmoid(x) is Swish, x * HardSigmoid(x, 1/6, 1/2) is
// HardSwish (ONNX operator page HardSwish-14).
std::optional<Activation> GateOf(const Graph& graph, const Node& gate) {
  const auto simple = ReadSimple(graph, gate);
  if (!simple) return std::nullopt;
  if (simple->op == "Sigmoid") return Activation{.op = "Swish", .alpha = 0, .beta = 0};
  if (simple->op == "HardSigmoid" && IsSixth(simple->alpha) && simple->beta == 0.5F) {
    return Activation{.op = "HardSwish", .alpha = 0, .beta = 0};
  }
  return std::nullopt;
}

ActivationMatch FindGate(const Graph& graph, ValueId value) {
  const std::vector<Use>& uses = graph.uses(value);
  if (uses.size() != 2 || graph.IsOutput(value) || IsCaptured(graph, value)) return {};
  for (const Use& use : uses) {
    const auto activation = GateOf(graph, graph.node(use.node));
    if (!activation) continue;
    const auto reader = OnlyReader(graph, graph.node(use.node).outputs.front());
    const NodeId other = use == uses[0] ? uses[1].node : uses[0].node;
    if (!reader || reader->node != other || !graph.node(other).Is("Mul")) continue;
    return {.activation = *activation, .nodes = {use.node, other}, .slope = kNoValue};
  }
  return {};
}

}  // namespace

ActivationMatch FindActivation(const Graph& graph, ValueId value) {
  const auto reader = OnlyReader(graph, value);
  if (!reader) {
    ActivationMatch gate = FindGate(graph, value);
    if (!gate.nodes.empty()) return gate;
    auto gelu = FindGelu(graph, value);
    if (!gelu) return {};
    return {.activation = gelu->activation, .nodes = std::move(gelu->nodes), .slope = kNoValue};
  }
  if (reader->index != 0) return {};
  const Node& node = graph.node(reader->node);
  if (node.Is("PRelu")) {
    return {.activation = {.op = "PRelu", .alpha = 0, .beta = 0},
            .nodes = {reader->node},
            .slope = node.inputs.at(1)};
  }
  const auto activation = ReadSimple(graph, node);
  if (!activation) return {};
  return {.activation = *activation, .nodes = {reader->node}, .slope = kNoValue};
}

}  // namespace msc
