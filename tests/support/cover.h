#pragma once

// Small handwritten cover problems for tests.

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/problem.h"

namespace msc::test {

/// Returns a graph of nodes n0, n1, ..., each of which writes one tensor of 4 bytes with its own
/// number. Node i reads the nodes in `reads[i]`, where -1 is the input of the graph. Tensors that
/// no node reads leave the graph. `ops` is empty or has one operator and kind per node.
inline DataflowGraph Flow(const std::vector<std::vector<int>>& reads,
                          const std::vector<std::pair<std::string, OpKind>>& ops = {}) {
  const auto count = static_cast<FlowIndex>(reads.size());
  std::vector<FlowNode> nodes(count);
  std::vector<FlowTensor> tensors(count + 1);
  std::set<int> read;
  for (FlowIndex i = 0; i < count; ++i) {
    nodes[i].name = "n" + std::to_string(i);
    nodes[i].op = ops.empty() ? "Op" : ops[i].first;
    if (!ops.empty()) nodes[i].kind = ops[i].second;
    nodes[i].outputs = {i};
    for (const int from : reads[i]) {
      nodes[i].inputs.push_back(from < 0 ? count : static_cast<FlowIndex>(from));
      read.insert(from);
    }
  }
  for (FlowIndex i = 0; i <= count; ++i) {
    tensors[i].name = "t" + std::to_string(i);
    tensors[i].bytes = 4;
    tensors[i].leaves = i < count && !read.contains(static_cast<int>(i));
  }
  return {std::move(nodes), std::move(tensors)};
}

/// Returns a chain of `count` nodes.
inline DataflowGraph Chain(std::size_t count) {
  std::vector<std::vector<int>> reads;
  for (std::size_t i = 0; i < count; ++i) reads.push_back({static_cast<int>(i) - 1});
  return Flow(reads);
}

inline void AddCandidate(CoverProblem& problem, const std::vector<std::size_t>& nodes,
                         std::string target, double micros, std::vector<TensorLabel> wants = {},
                         std::vector<TensorLabel> makes = {}) {
  problem.candidates.push_back({.nodes = IndexSet(problem.flow.size(), nodes),
                                .target = std::move(target),
                                .rule = "test",
                                .cost = Cost::Micros(micros),
                                .wants = std::move(wants),
                                .makes = std::move(makes)});
}

}  // namespace msc::test
