#include "compiler/targets/native/plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/math.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {
namespace {

/// Returns whether the kernel of the operator ends in an epilogue.
bool HasEpilogue(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.domain == "msc") {
    return node.op == "Conv" || node.op == "Gemm" || node.op == "Pool" || node.op == "Binary" ||
           node.op == "Attention";
  }
  constexpr std::array<std::string_view, 15> kOps = {"Conv",
                                                     "ConvTranspose",
                                                     "MatMul",
                                                     "Gemm",
                                                     "MaxPool",
                                                     "AveragePool",
                                                     "GlobalAveragePool",
                                                     "GlobalMaxPool",
                                                     "Resize",
                                                     "Softmax",
                                                     "LayerNormalization",
                                                     "InstanceNormalization",
                                                     "ReduceMean",
                                                     "ReduceMax",
                                                     "ReduceSum"};
  return std::find(kOps.begin(), kOps.end(), node.op) != kOps.end() || IsElementwise(graph, id);
}

/// Returns whether the kernel of the operator writes its result wherever it is to lie.
bool WritesAnywhere(const Graph& graph, NodeId id) {
  if (HasEpilogue(graph, id)) return true;
  const Node& node = graph.node(id);
  return node.Is("Concat") || node.Is("Gather") || node.Is("GatherElements") || node.Is("Pad") ||
         node.Is("CumSum");
}

/// The input through which a node can take over a value that is still in registers. Of several, the
/// one computed last, which is still in cache.
struct Flow {
  NodeId producer = kNoNode;
  std::size_t input = 0;
};

/// The followers of a group read up to this many operands besides the value that flows along them.
/// Each may be a buffer of the kernel, and kernels have few (program_steps.cc). Only sums written
/// out term by term reach it.
constexpr std::size_t kMostOperands = 24;

}  // namespace

std::vector<Group> MakeGroups(const Lowering& lowering, const std::vector<NodeId>& nodes) {
  const Graph& graph = lowering.graph();
  std::map<NodeId, std::size_t> position;
  for (std::size_t i = 0; i < nodes.size(); ++i) position.emplace(nodes[i], i);
  // The anchor of each group that may still grow, by the last node of the group.
  std::map<NodeId, NodeId> anchor_of;
  std::map<NodeId, Group> by_anchor;
  std::map<NodeId, NodeId> last_of;
  std::map<NodeId, std::size_t> operands_of;  // by anchor
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    Flow flow;
    // Looks for a group whose result this node alone reads, to follow it.
    if (IsElementwise(graph, id)) {
      const Dims dims = lowering.DimsOf(node.outputs[0]);
      for (std::size_t i = 0; i < OperandCount(node); ++i) {
        const ValueId value = node.inputs[i];
        const NodeId producer = graph.producer(value);
        if (producer == kNoNode || !anchor_of.contains(producer)) continue;
        if (graph.uses(value).size() != 1 || graph.IsOutput(value)) continue;
        if (lowering.DimsOf(value) != dims || ElementCount(dims) == 0) continue;
        const std::size_t read = operands_of[anchor_of.at(producer)] + OperandCount(node) - 1;
        if (read > kMostOperands) continue;
        if (flow.producer == kNoNode || position.at(producer) > position.at(flow.producer)) {
          flow = {producer, i};
        }
      }
    }
    if (flow.producer != kNoNode) {
      const NodeId anchor = anchor_of.at(flow.producer);
      by_anchor.at(anchor).followers.push_back({id, flow.input});
      operands_of[anchor] += OperandCount(node) - 1;
      anchor_of.erase(flow.producer);
      anchor_of.emplace(id, anchor);
      last_of[anchor] = id;
      continue;
    }
    // Starts a group of its own.
    by_anchor.emplace(id, Group{.anchor = id});
    last_of[id] = id;
    if (HasEpilogue(graph, id)) anchor_of.emplace(id, id);
  }
  // A group is lowered at the position of its last node, when all that it reads has been computed.
  std::vector<Group> groups;
  std::map<NodeId, NodeId> anchor_by_last;
  for (const auto& [anchor, last] : last_of) anchor_by_last.emplace(last, anchor);
  for (const NodeId id : nodes) {
    const auto it = anchor_by_last.find(id);
    if (it != anchor_by_last.end()) groups.push_back(std::move(by_anchor.at(it->second)));
  }
  return groups;
}

std::vector<Group> WithPrologues(const Lowering& lowering, std::vector<Group> groups) {
  const Graph& graph = lowering.graph();
  std::map<NodeId, std::size_t> by_anchor;
  for (std::size_t i = 0; i < groups.size(); ++i) by_anchor.emplace(groups[i].anchor, i);
  std::set<std::size_t> moved;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const ValueId made = ResultOf(graph, groups[i]);
    if (!IsElementwise(graph, groups[i].anchor) || graph.IsOutput(made)) continue;
    // For another reader the value would have to be in memory anyway.
    const std::vector<Use>& uses = graph.uses(made);
    if (uses.size() != 1 || !by_anchor.contains(uses[0].node)) continue;
    const Node& reader = graph.node(uses[0].node);
    if (reader.inputs[0] != made || ElementCount(lowering.DimsOf(made)) == 0) continue;
    if (!TakesPrologue(lowering, reader)) continue;
    groups[by_anchor.at(uses[0].node)].prologue.push_back(groups[i]);
    moved.insert(i);
  }
  std::vector<Group> left;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!moved.contains(i)) left.push_back(std::move(groups[i]));
  }
  return left;
}

void PlanLayouts(Lowering& lowering, const std::vector<Group>& groups) {
  const Graph& graph = lowering.graph();
  // Results of kernels of this region that can write to a given place.
  std::set<ValueId> made;
  for (const Group& group : groups) {
    if (WritesAnywhere(graph, group.anchor)) made.insert(ResultOf(graph, group));
  }
  // The halo that serves all convolutions of a value.
  std::map<ValueId, Halo> halos;
  for (const Group& group : groups) {
    const auto conv = ReadConv(lowering, graph.node(group.anchor));
    if (!conv) continue;
    const Halo halo = HaloOf(*conv);
    const auto [it, is_new] = halos.try_emplace(conv->x, halo);
    if (!is_new) it->second.Widen(halo);
  }
  // The last Concat comes first, because it may contain the others.
  std::map<ValueId, ValueId> whole_of;
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const Node& node = graph.node(group->anchor);
    if (!node.Is("Concat") || !made.contains(node.outputs[0])) continue;
    const Dims dims = lowering.DimsOf(node.outputs[0]);
    std::int64_t axis = AttrOr<std::int64_t>(node, "axis", 0);
    if (axis < 0) axis += static_cast<std::int64_t>(dims.size());
    const auto at = static_cast<std::size_t>(axis);
    std::int64_t begin = 0;
    for (const ValueId input : node.inputs) {
      const std::int64_t count = lowering.DimsOf(input)[at];
      const bool once = std::count(node.inputs.begin(), node.inputs.end(), input) == 1;
      if (made.contains(input) && once && count > 0 && !lowering.Planned(input)) {
        lowering.Plan(input, node.outputs[0], at, begin);
        whole_of.emplace(input, node.outputs[0]);
      }
      begin += count;
    }
  }
  // A part lies in the memory of its outermost Concat, which needs the halo instead.
  for (const auto& [value, halo] : halos) {
    ValueId root = value;
    for (auto it = whole_of.find(root); it != whole_of.end(); it = whole_of.find(root)) {
      root = it->second;
    }
    if (made.contains(root)) lowering.WantHalo(root, halo);
  }
}

}  // namespace msc::native
