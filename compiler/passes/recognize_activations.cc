#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "compiler/passes/match.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// Clip(x + shift, 0, top).
struct Ramp {
  ValueId x = kNoValue;
  float shift = 0.0F;
  float top = 0.0F;
};

std::optional<Ramp> ReadRamp(const Graph& graph, ValueId value) {
  const Node* clip = MadeBy(graph, value, "Clip");
  if (clip == nullptr || clip->inputs.size() != 3) return std::nullopt;
  const auto low = ScalarOf(graph, clip->inputs[1]);
  const auto high = ScalarOf(graph, clip->inputs[2]);
  const Node* add = MadeBy(graph, clip->inputs[0], "Add");
  if (!low || !high || *low != 0.0F || !(*high > 0.0F) || std::isinf(*high) || add == nullptr) {
    return std::nullopt;
  }
  const auto step = ReadScalarStep(graph, *add);
  if (!step) return std::nullopt;
  return Ramp{.x = step->value, .shift = step->scalar, .top = *high};
}

bool IsHardSwishRamp(const std::optional<Ramp>& ramp, ValueId x) {
  return ramp && ramp->x == x && ramp->shift == 3.0F && ramp->top == 6.0F;
}

// Returns the input of a Mul or Div by a number, and the factor; nullopt for other nodes.
std::optional<std::pair<ValueId, double>> ReadScaling(const Graph& graph, const Node& node) {
  if (!node.Is("Mul") && !node.Is("Div")) return std::nullopt;
  const auto step = ReadScalarStep(graph, node);
  if (!step || step->scalar == 0.0F) return std::nullopt;
  const auto number = static_cast<double>(step->scalar);
  return std::pair{step->value, node.Is("Div") ? 1.0 / number : number};
}

Node Function(std::string op, ValueId x, AttrMap attrs = {}) {
  return {.op = std::move(op), .inputs = {x}, .attrs = std::move(attrs)};
}

// Returns whether `gate` is the gate of HardSwish: HardSigmoid(x, 1/6, 1/2).
bool IsGateOf(const Graph& graph, ValueId gate, ValueId x) {
  const Node* node = MadeBy(graph, gate, "HardSigmoid");
  return node != nullptr && node->inputs[0] == x &&
         Near(AttrOr<float>(*node, "alpha", 0.2F), 1.0 / 6.0) &&
         Near(AttrOr<float>(*node, "beta", 0.5F), 0.5);
}

std::optional<Node> Recognize(const Graph& graph, const Node& node) {
  if (node.Is("Mul")) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
      if (IsGateOf(graph, node.inputs[1 - at], node.inputs[at])) {
        return Function("HardSwish", node.inputs[at]);
      }
    }
  }
  const auto scaling = ReadScaling(graph, node);
  if (!scaling) return std::nullopt;
  const auto& [scaled, factor] = *scaling;
  if (const auto ramp = ReadRamp(graph, scaled);
      ramp && Near(static_cast<float>(factor), 1.0 / static_cast<double>(ramp->top))) {
    const double slope = 1.0 / static_cast<double>(ramp->top);
    return Function("HardSigmoid", ramp->x,
                    {{"alpha", static_cast<float>(slope)},
                     {"beta", static_cast<float>(static_cast<double>(ramp->shift) * slope)}});
  }
  const Node* product = MadeBy(graph, scaled, "Mul");
  if (product == nullptr || !Near(static_cast<float>(factor), 1.0 / 6.0)) return std::nullopt;
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
    if (IsHardSwishRamp(ReadRamp(graph, product->inputs[1 - at]), product->inputs[at])) {
      return Function("HardSwish", product->inputs[at]);
    }
  }
  return std::nullopt;
}

bool RecognizeAt(Graph& graph, NodeId id) {
  if (IsCaptured(graph, graph.node(id).outputs.front())) return false;
  auto function = Recognize(graph, graph.node(id));
  if (!function) return false;
  const NodeId nodes[] = {id};  // NOLINT(modernize-avoid-c-arrays)
  ReplaceChain(graph, nodes, std::move(*function));
  return true;
}

}  // namespace

bool RecognizeActivations(Graph& graph) {
  const bool changed = Sweep(graph, [&](NodeId id) { return RecognizeAt(graph, id); });
  if (changed) RemoveDeadCode(graph);
  return changed;
}

}  // namespace msc
