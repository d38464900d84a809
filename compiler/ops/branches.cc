#include "compiler/ops/branches.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace msc {
namespace {

/// Operands of Where.
constexpr std::size_t kCondition = 0;
constexpr std::size_t kIfTrue = 1;
constexpr std::size_t kIfFalse = 2;

/// Operators that one kernel computes together with others, for which no value is wrong.
constexpr auto kCheap = std::to_array<std::string_view>(
    {"Abs",     "Add",      "And",       "Cast", "Ceil", "Clip",  "Concat", "Equal", "Floor",
     "Greater", "Identity", "LeakyRelu", "Less", "Max",  "Min",   "Mul",    "Neg",   "Not",
     "Or",      "Relu",     "Sign",      "Sqrt", "Sub",  "Where", "Xor"});
/// Those that move values by constant parameters.
constexpr auto kMoves = std::to_array<std::string_view>(
    {"Expand", "Flatten", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"});

bool MayChoose(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op != "Where" || !node.domain.empty() || node.inputs.size() != 3) return false;
  const ValueId condition = node.inputs[kCondition];
  const bool fixed = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
    return input != kNoValue && HasFixedSize(graph.type(input));
  });
  if (!fixed || graph.constant(condition)) return false;
  return ElementCount(*StaticDims(*graph.type(condition).shape)) == 1 &&
         graph.type(node.inputs[kIfTrue]) == graph.type(node.outputs[0]) &&
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

bool WorthAsking(const Graph& graph, const Node& node) {
  if (!node.domain.empty()) return true;
  if (std::find(kCheap.begin(), kCheap.end(), node.op) != kCheap.end()) return false;
  return std::find(kMoves.begin(), kMoves.end(), node.op) == kMoves.end() ||
         !std::all_of(node.inputs.begin() + 1, node.inputs.end(),
                      [&](ValueId id) { return id == kNoValue || graph.constant(id) != nullptr; });
}

}  // namespace

Branches FindBranches(const Graph& graph) {
  Branches branches;
  for (const NodeId id : graph.order()) {
    if (MayChoose(graph, id)) branches.choices.insert(id);
  }
  if (!branches.choices.empty()) FindGuards(graph, branches);
  return branches;
}

Branches FindBranchesWorthAsking(const Graph& graph) {
  Branches branches = FindBranches(graph);
  std::set<ValueId> worth;
  for (const auto& [id, guards] : branches.guards) {
    if (!WorthAsking(graph, graph.node(id))) continue;
    for (const Guard& guard : guards) worth.insert(guard.condition);
  }
  const auto removed = std::erase_if(branches.choices, [&](NodeId id) {
    return !worth.contains(graph.node(id).inputs[kCondition]);
  });
  if (removed > 0) FindGuards(graph, branches);
  return branches;
}

}  // namespace msc
