#include "compiler/passes/match.h"

#include <cmath>

#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

constexpr float kMaxPower = 4.0F;

// Returns whether the step is part of a larger product: it has no other reader.
bool IsInner(const Graph& graph, ValueId value) {
  return OnlyReader(graph, value).has_value();
}

void Collect(const Graph& graph, ValueId value, bool outermost, Product& product) {
  const NodeId id = graph.producer(value);
  const auto leaf = [&] { product.values.push_back(value); };
  if (id == kNoNode || (!outermost && !IsInner(graph, value))) return leaf();
  const Node& node = graph.node(id);
  if (const auto step = ReadScalarStep(graph, node); step && !node.Is("Add") && !node.Is("Sub")) {
    const auto number = static_cast<double>(step->scalar);
    if (node.Is("Pow")) {
      const bool whole = step->scalar >= 2.0F && step->scalar <= kMaxPower &&
                         std::floor(step->scalar) == step->scalar;
      if (!whole) return leaf();
      product.nodes.push_back(id);
      for (int i = 0; i < static_cast<int>(step->scalar); ++i) {
        product.values.push_back(step->value);
      }
      return;
    }
    product.nodes.push_back(id);
    product.factor *= node.Is("Div") ? 1.0 / number : number;
    return Collect(graph, step->value, false, product);
  }
  if (!node.Is("Mul")) return leaf();
  product.nodes.push_back(id);
  // x * x reads its value twice, so the value counts as a factor.
  for (const ValueId input : node.inputs) Collect(graph, input, false, product);
}

}  // namespace

const Node* MadeBy(const Graph& graph, ValueId value, std::string_view op) {
  const NodeId id = value == kNoValue ? kNoNode : graph.producer(value);
  if (id == kNoNode || !graph.node(id).Is(op) || graph.node(id).outputs.front() != value) {
    return nullptr;
  }
  return &graph.node(id);
}

std::optional<float> ScalarOf(const Graph& graph, ValueId value, std::size_t rank) {
  const TensorPtr tensor = graph.constant(value);
  if (!tensor || tensor->dtype() != DType::kF32 || tensor->size() != 1 ||
      tensor->dims().size() > rank) {
    return std::nullopt;
  }
  return tensor->Values<float>().front();
}

std::optional<ScalarStep> ReadScalarStep(const Graph& graph, const Node& node) {
  const bool commutes = node.Is("Add") || node.Is("Mul");
  if (!commutes && !node.Is("Sub") && !node.Is("Div") && !node.Is("Pow")) return std::nullopt;
  for (const std::size_t at : {std::size_t{1}, std::size_t{0}}) {
    const ValueId value = node.inputs[1 - at];
    const auto rank = Rank(graph.type(value));
    if (!rank || graph.type(value).dtype != DType::kF32 || graph.constant(value)) continue;
    const auto scalar = ScalarOf(graph, node.inputs[at], *rank);
    if (scalar && (at == 1 || commutes)) return ScalarStep{.value = value, .scalar = *scalar};
  }
  return std::nullopt;
}

bool Near(float a, double b) {
  return std::abs(static_cast<double>(a) - b) <= 1e-5 * std::abs(b);
}

Product ReadProduct(const Graph& graph, ValueId value) {
  Product product;
  Collect(graph, value, true, product);
  return product;
}

}  // namespace msc
