#include "compiler/targets/onednn/followers.h"

#include "compiler/targets/onednn/linear.h"

namespace msc::onednn {
namespace {

using dnnl::algorithm;

std::vector<Function> FunctionsBehind(const Graph& graph, NodeId id, ValueId value) {
  const Node& node = graph.node(id);
  if (const auto linear = LinearOf(graph, node, value)) return {*linear};
  if (node.inputs.empty() || node.inputs[0] != value) return {};
  if (!node.domain.empty() && !node.Is("Gelu", "msc")) return {};
  return FunctionsOf(graph, node);
}

// Appends `next`, merged into a preceding linear function if possible. The first `own` functions
// stay unchanged. Returns false if a function would occur twice.
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
  Followers found{.output = value};
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
