#include "compiler/partition/rules/sub_graph.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

std::string LabelOf(const FlowNode& node) {
  switch (node.role) {
    case FlowRole::kCall:
      return node.op;
    case FlowRole::kTuple:
      return "tuple";
    case FlowRole::kProjection:
      return "proj";
    case FlowRole::kConstant:
      return "const";
    default:
      return "";
  }
}

bool IsComposite(const NestedSubGraph& nested) {
  return nested.attributes.contains("Composite");
}

}  // namespace

SubGraph::SubGraph(const DataflowGraph& flow, IndexSet nodes, std::vector<NestedSubGraph> nested_in)
    : inside(std::move(nodes)),
      entry(flow.EmptySet()),
      exit(flow.EmptySet()),
      input(flow.EmptySet()),
      output(flow.EmptySet()),
      taps(flow.EmptySet()),
      nested(std::move(nested_in)) {
  std::map<std::size_t, std::size_t> distance;  // longest path from an entry
  // Nodes come in topological order, so the distances of producers are known.
  inside.ForEach([&](std::size_t node) {
    const FlowNode& flow_node = flow.node(node);
    kind = std::max(kind, flow_node.kind);
    const std::string part = LabelOf(flow_node);
    if (!part.empty()) label += (label.empty() ? "" : "+") + part;
    // A producer outside makes the node an entry.
    std::optional<std::size_t> far;
    for (const FlowIndex producer : flow.producers(node)) {
      if (inside.Contains(producer)) {
        if (const auto it = distance.find(producer); it != distance.end()) {
          far = std::max(far.value_or(0), it->second + 1);
        }
      } else if (!flow.node(producer).inlined()) {
        input.Insert(producer);
        entry.Insert(node);
      }
    }
    // Inputs of the graph have no producer.
    for (const FlowIndex tensor : flow_node.inputs) {
      if (flow.tensor(tensor).producer == kNoFlow) entry.Insert(node);
    }
    if (entry.Contains(node)) far = far.value_or(0);
    if (far) distance[node] = *far;
    // A consumer outside makes the node an exit.
    bool read_inside = false;
    for (const FlowIndex consumer : flow.consumers(node)) {
      if (inside.Contains(consumer)) {
        read_inside = true;
      } else {
        output.Insert(consumer);
        exit.Insert(node);
      }
    }
    if (flow.Leaves(node)) exit.Insert(node);
    if (read_inside && exit.Contains(node)) taps.Insert(node);
    if (exit.Contains(node) && far) depth = std::max(depth, *far + 1);
  });
}

std::string WhyInvalid(const DataflowGraph& flow, const SubGraph& sub_graph,
                       const SubGraphConfig& config) {
  const std::size_t exits = sub_graph.exit.Count();
  if (config.max_exits > 0 && exits > config.max_exits) {
    return "it has " + std::to_string(exits) + " exits";
  }
  if (config.max_depth > 0 && sub_graph.depth > config.max_depth) {
    return "its depth is " + std::to_string(sub_graph.depth);
  }
  if (sub_graph.inside.empty()) return "it has no nodes";
  const std::uint32_t block = flow.node(sub_graph.inside.First()).block;
  for (const std::size_t node : sub_graph.inside.Members()) {
    if (flow.node(node).block != block) return "it spans blocks";
  }
  IndexSet nested = flow.EmptySet();
  for (const NestedSubGraph& part : sub_graph.nested) {
    if (!part.nodes.SubsetOf(sub_graph.inside)) return "a nested sub-graph reaches out of it";
    if (part.nodes.Intersects(nested)) return "nested sub-graphs overlap";
    nested |= part.nodes;
  }
  if (!config.allow_taps && !sub_graph.taps.empty()) {
    return "node " + std::to_string(sub_graph.taps.First()) + " is read inside and outside";
  }
  if (!IsConvex(flow, sub_graph.inside)) return "a path leaves it and comes back";
  return "";
}

bool AreTouching(const DataflowGraph& flow, const SubGraph& upstream, const SubGraph& downstream) {
  return upstream.inside.Disjoint(downstream.inside) &&
         upstream.output.Intersects(downstream.entry) &&
         IsConvex(flow, upstream.inside | downstream.inside);
}

SubGraph DisjointUnion(const DataflowGraph& flow, const SubGraph& a, const SubGraph& b) {
  Check(a.inside.Disjoint(b.inside), "sub-graphs that are joined are disjoint");
  std::vector<NestedSubGraph> nested = a.nested;
  for (const NestedSubGraph& part : b.nested) {
    const auto same = std::find_if(nested.begin(), nested.end(), [&](const NestedSubGraph& other) {
      return !IsComposite(part) && other.attributes == part.attributes;
    });
    if (same == nested.end()) {
      nested.push_back(part);
    } else {
      same->nodes |= part.nodes;
    }
  }
  // Sort, so that the result does not depend on the order of unions.
  std::sort(nested.begin(), nested.end(),
            [](const NestedSubGraph& x, const NestedSubGraph& y) { return x.nodes < y.nodes; });
  return {flow, a.inside | b.inside, std::move(nested)};
}

SubGraph WithAttribute(const DataflowGraph& flow, const SubGraph& sub_graph, const std::string& key,
                       const std::string& value) {
  SubGraph result(flow, sub_graph.inside, sub_graph.nested);
  for (NestedSubGraph& part : result.nested) {
    if (part.nodes == sub_graph.inside && !part.attributes.contains(key) && !IsComposite(part)) {
      part.attributes[key] = value;
      return result;
    }
  }
  // The new function encloses the existing ones.
  result.nested.push_back({.nodes = sub_graph.inside, .attributes = {{key, value}}});
  return result;
}

std::vector<FlowIndex> Parameters(const DataflowGraph& flow, const SubGraph& sub_graph) {
  std::vector<FlowIndex> parameters;
  IndexSet seen = flow.EmptySet();
  const std::vector<std::size_t> exits = sub_graph.exit.Members();
  for (auto it = exits.rbegin(); it != exits.rend(); ++it) {
    // Depth first: an operand with all nodes it needs comes before the next operand.
    std::vector<std::pair<std::size_t, std::size_t>> stack = {{*it, 0}};
    if (seen.Contains(*it)) continue;
    seen.Insert(*it);
    while (!stack.empty()) {
      const std::size_t node = stack.back().first;
      const std::vector<FlowIndex>& inputs = flow.node(node).inputs;
      if (stack.back().second == inputs.size()) {
        stack.pop_back();
        continue;
      }
      const FlowIndex tensor = inputs[stack.back().second++];
      const FlowIndex producer = flow.tensor(tensor).producer;
      if (producer != kNoFlow && sub_graph.inside.Contains(producer)) {
        if (!seen.Contains(producer)) {
          seen.Insert(producer);
          stack.emplace_back(producer, 0);
        }
      } else if ((producer == kNoFlow || !flow.node(producer).inlined()) &&
                 std::find(parameters.begin(), parameters.end(), tensor) == parameters.end()) {
        parameters.push_back(tensor);
      }
    }
  }
  return parameters;
}

}  // namespace msc
