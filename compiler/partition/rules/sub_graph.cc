#include "compiler/partition/rules/sub_graph.h"

#include <algorithm>
#include <map>
#include <utility>

namespace msc {
namespace {

std::size_t DepthOf(const DataflowGraph& flow, const SubGraph& sub_graph) {
  std::map<std::size_t, std::size_t> lengths;  // of the longest path from an entry, by member
  std::size_t depth = 0;
  sub_graph.inside.ForEach([&](std::size_t node) {
    std::size_t length = sub_graph.entry.Contains(node) ? 1 : 0;
    for (const FlowIndex producer : flow.producers(node)) {
      const auto it = lengths.find(producer);
      if (it != lengths.end()) length = std::max(length, it->second + 1);
    }
    if (length == 0) return;
    lengths[node] = length;
    if (sub_graph.exit.Contains(node)) depth = std::max(depth, length);
  });
  return depth;
}

}  // namespace

SubGraph::SubGraph(const DataflowGraph& flow, IndexSet nodes)
    : inside(std::move(nodes)),
      entry(flow.EmptySet()),
      exit(flow.EmptySet()),
      input(flow.EmptySet()),
      output(flow.EmptySet()) {
  inside.ForEach([&](std::size_t node) {
    kind = std::max(kind, flow.node(node).kind);
    for (const FlowIndex tensor : flow.node(node).inputs) {
      const FlowIndex producer = flow.tensor(tensor).producer;
      if (producer != kNoFlow && inside.Contains(producer)) continue;
      entry.Insert(node);
      if (producer != kNoFlow) input.Insert(producer);
    }
    for (const FlowIndex consumer : flow.consumers(node)) {
      if (inside.Contains(consumer)) continue;
      output.Insert(consumer);
      exit.Insert(node);
    }
    if (flow.Leaves(node)) exit.Insert(node);
  });
  depth = DepthOf(flow, *this);
}

bool AreTouching(const DataflowGraph& flow, const SubGraph& upstream, const SubGraph& downstream) {
  return upstream.inside.Disjoint(downstream.inside) &&
         upstream.output.Intersects(downstream.entry) &&
         IsConvex(flow, upstream.inside | downstream.inside);
}

}  // namespace msc
