#include "compiler/targets/onednn/followers.h"

#include <algorithm>
#include <optional>

#include "compiler/targets/onednn/epilogue.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;

std::optional<float> ScalarOf(const Graph& graph, ValueId value) {
  const auto values = ConstantFloats(graph, value);
  if (!values || values->size() != 1) return std::nullopt;
  return values->front();
}

// `value op constant` or `constant op value` as alpha * value + beta.
std::optional<Function> LinearOf(const Graph& graph, const Node& node, ValueId value) {
  if (!node.domain.empty() || node.inputs.size() != 2) return std::nullopt;
  const bool first = node.inputs[0] == value;
  const auto c = ScalarOf(graph, node.inputs[first ? 1 : 0]);
  if (!c) return std::nullopt;
  if (node.op == "Add") return Function{algorithm::eltwise_linear, 1.0F, *c};
  if (node.op == "Mul") return Function{algorithm::eltwise_linear, *c, 0.0F};
  if (node.op == "Sub" && first) return Function{algorithm::eltwise_linear, 1.0F, -*c};
  if (node.op == "Sub") return Function{algorithm::eltwise_linear, -1.0F, *c};
  if (node.op == "Div" && first && *c != 0.0F) {
    return Function{algorithm::eltwise_linear, 1.0F / *c, 0.0F};
  }
  return std::nullopt;
}

std::vector<Function> FunctionsBehind(const Graph& graph, NodeId id, ValueId value) {
  const Node& node = graph.node(id);
  if (const auto linear = LinearOf(graph, node, value)) return {*linear};
  if (node.inputs.empty() || node.inputs[0] != value) return {};
  if (!node.domain.empty() && !node.Is("Gelu", "msc")) return {};
  return FunctionsOf(graph, node);
}

// False where the list would hold a function twice. The first `own` stay as they are.
bool Append(const Function& next, std::size_t own, std::vector<Function>& functions) {
  const bool linear = next.kind == algorithm::eltwise_linear;
  if (linear && functions.size() > own && functions.back().kind == algorithm::eltwise_linear) {
    Function& last = functions.back();
    last = {algorithm::eltwise_linear, last.alpha * next.alpha, last.beta * next.alpha + next.beta};
    return true;
  }
  for (const Function& f : functions) {
    if (f.kind == next.kind) return false;
  }
  functions.push_back(next);
  return true;
}

}  // namespace

Followers FollowersOf(const Lowering& lowering, ValueId value, std::vector<Function> functions) {
  const Graph& graph = lowering.graph();
  const std::size_t own = functions.size();
  Followers found{.nodes = {}, .functions = {}, .output = value};
  if (DenseDescOf(graph, value) == std::nullopt || graph.type(value).dtype != DType::kF32) {
    return found;
  }
  const Dims dims = DimsOf(graph, value);
  for (NodeId next = lowering.OnlyReader(value); next != kNoNode;
       next = lowering.OnlyReader(found.output)) {
    const auto more = FunctionsBehind(graph, next, found.output);
    const ValueId output = graph.node(next).outputs[0];
    if (more.empty() || graph.type(output).dtype != DType::kF32 || DimsOf(graph, output) != dims) {
      break;
    }
    std::vector<Function> all = functions;
    bool fits = true;
    for (const Function& f : more) fits = fits && Append(f, own, all);
    if (!fits) break;
    functions = std::move(all);
    found.nodes.push_back(next);
    found.output = output;
  }
  found.functions.assign(functions.begin() + static_cast<std::ptrdiff_t>(own), functions.end());
  return found;
}

}  // namespace msc::onednn
