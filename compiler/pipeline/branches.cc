#include "compiler/pipeline/branches.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Operands of Where.
constexpr std::size_t kCondition = 0;
constexpr std::size_t kIfTrue = 1;
constexpr std::size_t kIfFalse = 2;

/// A node with fewer operations for each element that it makes is not worth a step of its own.
constexpr double kLeastFlopsPerElement = 8;

bool MayChoose(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != "Where" || !node.domain.empty() || node.inputs.size() != 3) return false;
  const ValueId condition = node.inputs[kCondition];
  const auto& shape = graph.type(condition).shape;
  const auto dims = shape ? StaticDims(*shape) : std::nullopt;
  if (graph.constant(condition) || !dims || ElementCount(*dims) != 1) return false;
  return graph.type(node.inputs[kIfTrue]) == graph.type(node.outputs[0]) &&
         graph.type(node.inputs[kIfFalse]) == graph.type(node.outputs[0]);
}

/// Returns what must hold for some reader to read the outputs of `id`. The readers' guards are in
/// `branches`.
Guards GuardsOf(const Graph& graph, NodeId id, const Branches& branches) {
  std::optional<Guards> common;
  const auto add = [&](const Guards& guards) {
    if (!common) {
      common = guards;
      return;
    }
    std::erase_if(*common, [&](const Guard& guard) { return !guards.contains(guard); });
  };
  for (const ValueId output : graph.node(id).outputs) {
    if (output == kNoValue) continue;
    if (graph.IsOutput(output)) return {};
    for (const Use& use : graph.uses(output)) {
      const auto known = branches.guards.find(use.node);
      Guards guards = known == branches.guards.end() ? Guards{} : known->second;
      const Node& reader = graph.node(use.node);
      if (branches.choices.contains(use.node) && use.index != kCondition) {
        guards.insert({.condition = reader.inputs[kCondition], .value = use.index == kIfTrue});
      }
      add(guards);
    }
  }
  return common.value_or(Guards{});
}

/// Fills `branches.guards` for its choices.
void FindGuards(const Graph& graph, Branches& branches) {
  branches.guards.clear();
  std::map<NodeId, std::size_t> position;
  for (const NodeId id : graph.order()) position.emplace(id, position.size());
  for (auto it = graph.order().rbegin(); it != graph.order().rend(); ++it) {
    Guards guards = GuardsOf(graph, *it, branches);
    std::erase_if(guards, [&](const Guard& guard) {
      const NodeId maker = graph.producer(guard.condition);
      return maker != kNoNode && position.at(maker) >= position.at(*it);
    });
    if (!guards.empty()) branches.guards.emplace(*it, std::move(guards));
  }
}

bool WorthAsking(const Graph& graph, NodeId id) {
  double elements = 0;
  for (const ValueId output : graph.node(id).outputs) {
    if (output == kNoValue) continue;
    const auto& shape = graph.type(output).shape;
    const auto dims = shape ? StaticDims(*shape) : std::nullopt;
    if (dims) elements += static_cast<double>(ElementCount(*dims));
  }
  return CostOf(graph, id).flops >= kLeastFlopsPerElement * elements && elements > 0;
}

}  // namespace

Branches FindBranches(const Graph& graph) {
  Branches all;
  for (const NodeId id : graph.order()) {
    if (MayChoose(graph, id)) all.choices.insert(id);
  }
  if (all.choices.empty()) return {};
  FindGuards(graph, all);
  std::set<ValueId> worth;
  for (const auto& [id, guards] : all.guards) {
    if (!WorthAsking(graph, id)) continue;
    for (const Guard& guard : guards) worth.insert(guard.condition);
  }
  std::erase_if(all.choices,
                [&](NodeId id) { return !worth.contains(graph.node(id).inputs[kCondition]); });
  FindGuards(graph, all);
  return all;
}

}  // namespace msc
