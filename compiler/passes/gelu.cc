#include "compiler/passes/gelu.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "compiler/passes/match.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// Number of steps from x to the end in the longest form that exporters write.
constexpr int kLongest = 10;

using Nodes = std::vector<NodeId>;

void Append(const Nodes& from, Nodes& to) {
  to.insert(to.end(), from.begin(), from.end());
}

// Returns v if `value` is 1 + v and this Add has no other reader.
std::optional<ValueId> WithoutOne(const Graph& graph, ValueId value, Nodes& nodes) {
  const Node* add = MadeBy(graph, value, "Add");
  const auto step = add == nullptr ? std::nullopt : ReadScalarStep(graph, *add);
  if (!step || step->scalar != 1.0F) return std::nullopt;
  nodes.push_back(graph.producer(value));
  return step->value;
}

// Returns whether the product is factor * x^power.
bool IsPower(const Product& product, double factor, ValueId x, std::size_t power) {
  return Near(static_cast<float>(product.factor), factor) && product.values.size() == power &&
         std::all_of(product.values.begin(), product.values.end(),
                     [&](ValueId value) { return value == x; });
}

bool IsErfGate(const Graph& graph, ValueId gate, ValueId x, Nodes& nodes) {
  const Node* erf = MadeBy(graph, gate, "Erf");
  if (erf == nullptr) return false;
  const Product argument = ReadProduct(graph, erf->inputs[0]);
  nodes.push_back(graph.producer(gate));
  Append(argument.nodes, nodes);
  return IsPower(argument, 1.0 / std::numbers::sqrt2, x, 1);
}

// Returns whether `value` is x + 0.044715 x^3 (power 3), or 1 + 0.044715 x^2 (power 2, if x is
// factored out).
bool IsCubic(const Graph& graph, ValueId value, ValueId x, std::size_t power, Nodes& nodes) {
  constexpr double kCubic = 0.044715;
  if (power == 2) {
    const auto rest = WithoutOne(graph, value, nodes);
    if (!rest) return false;
    const Product square = ReadProduct(graph, *rest);
    Append(square.nodes, nodes);
    return IsPower(square, kCubic, x, 2);
  }
  const Node* add = MadeBy(graph, value, "Add");
  if (add == nullptr) return false;
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
    if (add->inputs[at] != x) continue;
    const Product cube = ReadProduct(graph, add->inputs[1 - at]);
    Product whole = cube;
    // A factor may itself be a product, such as the base of a Pow: expand it.
    for (std::size_t i = 0; i < whole.values.size();) {
      const Product inner = whole.values[i] == x ? Product{} : ReadProduct(graph, whole.values[i]);
      if (inner.nodes.empty()) {
        ++i;
        continue;
      }
      whole.factor *= inner.factor;
      Append(inner.nodes, whole.nodes);
      whole.values.erase(whole.values.begin() + static_cast<std::ptrdiff_t>(i));
      whole.values.insert(whole.values.end(), inner.values.begin(), inner.values.end());
    }
    nodes.push_back(graph.producer(value));
    Append(whole.nodes, nodes);
    return IsPower(whole, kCubic, x, 3);
  }
  return false;
}

bool IsTanhGate(const Graph& graph, ValueId gate, ValueId x, Nodes& nodes) {
  const Node* tanh = MadeBy(graph, gate, "Tanh");
  if (tanh == nullptr) return false;
  Product argument = ReadProduct(graph, tanh->inputs[0]);
  nodes.push_back(graph.producer(gate));
  Append(argument.nodes, nodes);
  if (!Near(static_cast<float>(argument.factor), std::sqrt(2.0 / std::numbers::pi))) return false;
  std::erase(argument.values, x);
  const std::size_t others = argument.values.size();
  if (others != 1) return false;
  const bool taken_out = MadeBy(graph, argument.values[0], "Add") != nullptr &&
                         ReadScalarStep(graph, *MadeBy(graph, argument.values[0], "Add"));
  return IsCubic(graph, argument.values[0], x, taken_out ? 2 : 3, nodes);
}

// Sorts the nodes and returns whether the outputs of all but the last one have no other readers.
bool IsClosed(const Graph& graph, NodeId root, Nodes& nodes) {
  const std::set<NodeId> members(nodes.begin(), nodes.end());
  nodes.clear();
  for (const NodeId id : members) {
    for (const ValueId made : graph.node(id).outputs) {
      if (id == root) continue;
      if (graph.IsOutput(made) || IsCaptured(graph, made)) return false;
      for (const Use& use : graph.uses(made)) {
        if (!members.contains(use.node)) return false;
      }
    }
  }
  for (const NodeId id : graph.order()) {
    if (members.contains(id)) nodes.push_back(id);
  }
  return nodes.back() == root;
}

}  // namespace

std::optional<GeluMatch> MatchGelu(const Graph& graph, NodeId root) {
  const Node& node = graph.node(root);
  if ((!node.Is("Mul") && !node.Is("Div")) || IsCaptured(graph, node.outputs.front())) {
    return std::nullopt;
  }
  const Product product = ReadProduct(graph, node.outputs.front());
  if (product.values.size() != 2 || !Near(static_cast<float>(product.factor), 0.5)) {
    return std::nullopt;
  }
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}}) {
    const ValueId x = product.values[at];
    GeluMatch match{.x = x, .nodes = product.nodes};
    const auto gate = WithoutOne(graph, product.values[1 - at], match.nodes);
    if (!gate) continue;
    if (IsErfGate(graph, *gate, x, match.nodes)) {
      match.activation.op = "Gelu";
    } else if (IsTanhGate(graph, *gate, x, match.nodes)) {
      match.activation.op = "GeluTanh";
    } else {
      continue;
    }
    if (IsClosed(graph, root, match.nodes)) return match;
  }
  return std::nullopt;
}

std::optional<GeluMatch> FindGelu(const Graph& graph, ValueId value) {
  if (graph.IsOutput(value) || IsCaptured(graph, value) || graph.uses(value).size() < 2) {
    return std::nullopt;
  }
  ValueId at = value;
  NodeId next = graph.uses(value).back().node;
  for (int step = 0; step < kLongest; ++step) {
    auto match = MatchGelu(graph, next);
    if (match && match->x == value) {
      const bool all =
          std::all_of(graph.uses(value).begin(), graph.uses(value).end(), [&](const Use& use) {
            return std::find(match->nodes.begin(), match->nodes.end(), use.node) !=
                   match->nodes.end();
          });
      return all ? match : std::nullopt;
    }
    at = graph.node(next).outputs.front();
    const auto reader = OnlyReader(graph, at);
    if (!reader) return std::nullopt;
    next = reader->node;
  }
  return std::nullopt;
}

}  // namespace msc
