// How sets of nodes lie in a graph, and what rules make of them, against the definitions: by
// transitive closure, by joining every pair until nothing is new. Random graphs of up to 9 nodes
// with several inputs and outputs, taps, and nodes that nobody reads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compiler/base/rng.h"
#include "compiler/partition/rules/combine.h"
#include "compiler/partition/rules/rule.h"
#include "tests/support/collage_rules.h"
#include "tests/support/cover.h"
#include "tests/support/seeds.h"

namespace msc {
namespace {

const std::uint64_t kSeeds = Seeds(1000);

DataflowGraph RandomFlow(Rng& rng) {
  const std::vector<OpKind> kinds = {OpKind::kElementwise, OpKind::kBroadcast, OpKind::kInjective,
                                     OpKind::kReduce,      OpKind::kAnchor,    OpKind::kOpaque};
  std::vector<std::vector<int>> reads(1 + rng.Below(9));
  std::vector<std::pair<std::string, OpKind>> ops;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    for (std::size_t k = 1 + rng.Below(2); k > 0; --k) {
      const std::size_t back = 1 + rng.Below(4);
      reads[i].push_back(back > i ? -1 : static_cast<int>(i - back));
    }
    ops.emplace_back("op", kinds[rng.Below(kinds.size())]);
  }
  const DataflowGraph plain = test::Flow(reads, ops);
  std::vector<FlowTensor> tensors = plain.tensors();
  for (FlowTensor& tensor : tensors) {
    // A value in the middle that the caller gets, too; a result that nobody wants.
    if (rng.Below(8) == 0) tensor.leaves = !tensor.leaves;
    tensor.producer = kNoFlow;
    tensor.readers.clear();
  }
  return {plain.nodes(), std::move(tensors)};
}

/// reach[i][j]: a path leads from node i to node j, which is another.
std::vector<std::vector<bool>> Reach(const DataflowGraph& flow) {
  const std::size_t count = flow.size();
  std::vector<std::vector<bool>> reach(count, std::vector<bool>(count));
  for (std::size_t i = 0; i < count; ++i) {
    for (const FlowIndex from : flow.producers(i)) reach[from][i] = true;
  }
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
      }
    }
  }
  return reach;
}

bool ConvexByDefinition(const DataflowGraph& flow, const IndexSet& nodes) {
  const auto reach = Reach(flow);
  for (const std::size_t from : nodes.Members()) {
    for (const std::size_t to : nodes.Members()) {
      for (std::size_t k = 0; k < flow.size(); ++k) {
        if (!nodes.Contains(k) && reach[from][k] && reach[k][to]) return false;
      }
    }
  }
  return true;
}

IndexSet RandomSet(const DataflowGraph& flow, Rng& rng) {
  IndexSet nodes = flow.EmptySet();
  for (std::size_t i = 0; i < flow.size(); ++i) {
    if (rng.Below(2) == 0) nodes.Insert(i);
  }
  return nodes;
}

TEST(Structure, ConvexSetsHaveNoPathOutAndBack) {
  std::uint64_t convex = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Rng rng(seed);
    const DataflowGraph flow = RandomFlow(rng);
    const IndexSet nodes = RandomSet(flow, rng);
    EXPECT_EQ(IsConvex(flow, nodes), ConvexByDefinition(flow, nodes)) << seed << ToString(nodes);
    convex += IsConvex(flow, nodes) ? 1 : 0;
  }
  EXPECT_GT(convex, kSeeds / 10);
  EXPECT_LT(convex, kSeeds * 9 / 10);
}

/// Nodes on the longest path inside from `node` to an exit; 0 where there is none.
std::size_t Longest(const DataflowGraph& flow, const SubGraph& part, std::size_t node) {
  std::size_t longest = part.exit.Contains(node) ? 1 : 0;
  for (const FlowIndex consumer : flow.consumers(node)) {
    if (!part.inside.Contains(consumer)) continue;
    const std::size_t rest = Longest(flow, part, consumer);
    if (rest > 0) longest = std::max(longest, rest + 1);
  }
  return longest;
}

TEST(Structure, SubGraphsLieAsTheDefinitionSays) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Rng rng(seed);
    const DataflowGraph flow = RandomFlow(rng);
    const IndexSet nodes = RandomSet(flow, rng);
    const SubGraph part(flow, nodes);
    IndexSet read = flow.EmptySet();
    for (std::size_t i = 0; i < flow.size(); ++i) {
      bool reads_outside = false;
      bool reads_inside = false;
      for (const FlowIndex tensor : flow.node(i).inputs) {
        const FlowIndex from = flow.tensor(tensor).producer;
        const bool inside = from != kNoFlow && nodes.Contains(from);
        (inside ? reads_inside : reads_outside) = true;
        if (nodes.Contains(i) && !inside && from != kNoFlow) read.Insert(from);
      }
      bool read_outside = flow.Leaves(i);
      for (const FlowIndex consumer : flow.consumers(i)) {
        if (!nodes.Contains(consumer)) read_outside = true;
      }
      const std::string at = std::to_string(seed) + " " + std::to_string(i);
      const bool member = nodes.Contains(i);
      EXPECT_EQ(part.entry.Contains(i), member && reads_outside) << at;
      EXPECT_EQ(part.exit.Contains(i), member && read_outside) << at;
      EXPECT_EQ(part.output.Contains(i), !member && reads_inside) << at;
    }
    EXPECT_EQ(part.input, read) << seed;
    std::size_t depth = 0;
    part.entry.ForEach(
        [&](std::size_t node) { depth = std::max(depth, Longest(flow, part, node)); });
    EXPECT_EQ(part.depth, depth) << seed << ToString(nodes);
  }
}

/// Singles of kind kAnchor and easier, and unions of any two of which one feeds the other, as far
/// as kinds, depth and paths allow: every pair again until nothing is new.
std::set<IndexSet> JoinedByDefinition(const DataflowGraph& flow,
                                      const std::vector<std::pair<OpKind, OpKind>>& kinds,
                                      std::size_t max_depth) {
  std::set<IndexSet> all;
  for (std::size_t i = 0; i < flow.size(); ++i) {
    if (flow.node(i).kind <= OpKind::kAnchor) all.insert(IndexSet::Range(flow.size(), i, i + 1));
  }
  for (std::size_t before = 0; before < all.size();) {
    before = all.size();
    const std::vector<IndexSet> old(all.begin(), all.end());
    for (const IndexSet& up : old) {
      for (const IndexSet& down : old) {
        const SubGraph a(flow, up);
        const SubGraph b(flow, down);
        const bool feeds = std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
          return a.kind <= kind.first && b.kind <= kind.second;
        });
        if (!feeds || !up.Disjoint(down) || !a.output.Intersects(down)) continue;
        if (a.depth + b.depth > max_depth || !ConvexByDefinition(flow, up | down)) continue;
        all.insert(up | down);
      }
    }
  }
  return all;
}

TEST(Structure, CombinationsAreAllThatJoiningEveryPairMakes) {
  const std::vector<std::vector<std::pair<OpKind, OpKind>>> choices = {
      {{OpKind::kAnchor, OpKind::kAnchor}},
      {{OpKind::kAnchor, OpKind::kBroadcast}},
      {{OpKind::kAnchor, OpKind::kBroadcast},
       {OpKind::kBroadcast, OpKind::kReduce},
       {OpKind::kInjective, OpKind::kInjective}}};
  std::uint64_t more = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Rng rng(seed);
    const DataflowGraph flow = RandomFlow(rng);
    const auto& kinds = choices[rng.Below(choices.size())];
    const std::size_t max_depth = 2 + rng.Below(3);
    const auto sets = [&](test::Joins joins) {
      std::set<IndexSet> found;
      const Rule rule = CombineRule(test::KindRule(), {test::JoinKinds(kinds, joins)}, max_depth);
      for (const SubGraph& sub_graph : rule(flow)) {
        EXPECT_TRUE(found.insert(sub_graph.inside).second) << seed;
      }
      return found;
    };
    const std::set<IndexSet> complete = sets(test::Joins::kAll);
    EXPECT_EQ(complete, JoinedByDefinition(flow, kinds, max_depth)) << seed;
    const std::set<IndexSet> original = sets(test::Joins::kAsCollage);
    EXPECT_TRUE(std::includes(complete.begin(), complete.end(), original.begin(), original.end()));
    more += complete.size() > original.size() ? 1 : 0;
  }
  EXPECT_GT(more, kSeeds / 100) << "of the original some are missing now and then";
}

}  // namespace
}  // namespace msc
