#include "tests/support/collage_rules.h"

#include <algorithm>

#include "compiler/partition/rules/combine.h"
#include "compiler/partition/search/cycle.h"
#include "tests/support/expression.h"

namespace msc::test {
namespace {

using Found = std::vector<SubGraph>;

SubGraph Single(const DataflowGraph& flow, std::size_t node) {
  return {flow, IndexSet::Range(flow.size(), node, node + 1)};
}

template <class Accepts>
Rule SingleRule(Accepts accepts) {
  return [accepts](const DataflowGraph& flow) {
    Found found;
    for (std::size_t i = 0; i < flow.size(); ++i) {
      if (accepts(flow.node(i))) found.push_back(Single(flow, i));
    }
    return found;
  };
}

/// Adds unions of a reader of a tuple, the tuple, and one producer of each field. leaving[i]: the
/// sub-graphs that node i leaves.
void AddTupleUnions(CombineRound& round, std::size_t reader, std::size_t tuple,
                    const std::vector<std::vector<std::size_t>>& leaving) {
  const DataflowGraph& flow = round.flow();
  IndexSet base = round.all()[reader].inside;
  base.Insert(tuple);
  std::vector<IndexSet> unions = {base};
  for (const FlowIndex tensor : flow.node(tuple).inputs) {
    const FlowIndex field = flow.tensor(tensor).producer;
    if (field == kNoFlow) return;
    std::vector<IndexSet> next;
    for (const IndexSet& nodes : unions) {
      if (nodes.Contains(field)) next.push_back(nodes);  // it produces several fields
      if (nodes.Contains(field)) continue;
      for (const std::size_t producer : leaving[field]) {
        const IndexSet& part = round.all()[producer].inside;
        if (producer != reader && part.Disjoint(nodes)) next.push_back(nodes | part);
      }
    }
    unions = std::move(next);
  }
  for (const IndexSet& nodes : unions) round.Add({flow, nodes});
}

bool Touch(const DataflowGraph& flow, const IndexSet& a, const IndexSet& b) {
  return AreTouching(flow, {flow, a}, {flow, b});
}

/// Returns whether the regions can run one after the other.
bool CanRun(const CoverProblem& problem, const std::vector<Merged>& regions) {
  CoverProblem merged{.flow = problem.flow};
  std::vector<std::uint32_t> all;
  for (const Merged& region : regions) {
    all.push_back(static_cast<std::uint32_t>(all.size()));
    merged.candidates.push_back({.nodes = region.nodes, .target = region.target});
  }
  return detail::FindCycle(merged, all).empty();
}

}  // namespace

Rule KindRule() {
  return SingleRule(
      [](const FlowNode& node) { return IsCall(node.op) && node.kind <= OpKind::kAnchor; });
}

Rule HostRule() {
  return SingleRule([](const FlowNode& node) { return !IsCall(node.op); });
}

Rule ValidRule(Rule rule, std::size_t max_depth) {
  return [rule = std::move(rule), max_depth](const DataflowGraph& flow) {
    Found found = rule(flow);
    std::erase_if(found, [&](const SubGraph& part) {
      return part.exit.Count() != 1 || part.depth > max_depth || !IsConvex(flow, part.inside);
    });
    return found;
  };
}

Combiner JoinKinds(const std::vector<std::pair<OpKind, OpKind>>& kinds, Joins joins) {
  if (joins == Joins::kAll) return JoinByKind(kinds);
  return [kinds](CombineRound& round) {
    for (std::size_t i = 0; i < round.all().size(); ++i) {
      if (round.Tried(i, i)) continue;
      const SubGraph& a = round.all()[i];
      for (const SubGraph& b : round.all()) {
        const bool fits = std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
          return a.kind <= kind.first && b.kind <= kind.second;
        });
        if (fits && (round.max_depth() == 0 || a.depth + b.depth <= round.max_depth()) &&
            AreTouching(round.flow(), a, b)) {
          round.AddUnion(a, b);
        }
      }
    }
  };
}

Combiner JoinTupleArguments() {
  return [](CombineRound& round) {
    const DataflowGraph& flow = round.flow();
    std::vector<std::vector<std::size_t>> leaving(flow.size());
    for (std::size_t i = 0; i < round.all().size(); ++i) {
      const SubGraph& part = round.all()[i];
      if (part.kind > OpKind::kInjective) continue;
      part.exit.ForEach([&](std::size_t node) { leaving[node].push_back(i); });
    }
    for (std::size_t i = 0; i < round.all().size(); ++i) {
      if (round.all()[i].kind > OpKind::kInjective) continue;
      for (const std::size_t input : round.all()[i].input.Members()) {
        if (flow.node(input).op == "%tuple") AddTupleUnions(round, i, input, leaving);
      }
    }
  };
}

Combiner JoinTupleProjections() {
  return [](CombineRound& round) {
    for (std::size_t i = 0; i < round.all().size(); ++i) {
      for (const std::size_t output : round.all()[i].output.Members()) {
        if (round.flow().node(output).op != "%get") continue;
        round.AddUnion(round.all()[i], Single(round.flow(), output));
      }
    }
  };
}

Combiner JoinConstants() {
  return [](CombineRound& round) {
    const DataflowGraph& flow = round.flow();
    for (std::size_t i = 0; i < round.all().size(); ++i) {
      IndexSet nodes = round.all()[i].inside;
      for (const std::size_t input : round.all()[i].input.Members()) {
        if (flow.node(input).op == "%const") nodes.Insert(input);
      }
      round.Add({flow, std::move(nodes)});
    }
  };
}

Rule GeneratedCodeRule(std::size_t max_depth, Joins joins) {
  const Combiner join = joins == Joins::kAll ? JoinLikeTvm()
                                             : JoinKinds({{OpKind::kAnchor, OpKind::kBroadcast},
                                                          {OpKind::kBroadcast, OpKind::kReduce},
                                                          {OpKind::kInjective, OpKind::kInjective}},
                                                         joins);
  return ValidRule(
      CombineRule(KindRule(), {join, JoinTupleArguments(), JoinTupleProjections()}, max_depth),
      max_depth);
}

Rule LibraryRule(const std::vector<PatternPtr>& patterns, std::size_t max_depth, Joins joins) {
  std::vector<Rule> rules;
  rules.reserve(patterns.size());
  for (const PatternPtr& pattern : patterns) rules.push_back(PatternRule(pattern));
  const Combiner join = JoinKinds({{OpKind::kAnchor, OpKind::kAnchor}}, joins);
  return ValidRule(CombineRule(UnionRule(std::move(rules)), {join}, max_depth), max_depth);
}

std::vector<Merged> MergeNeighbours(const CoverProblem& problem,
                                    const std::vector<std::uint32_t>& chosen) {
  std::vector<Merged> regions;
  regions.reserve(chosen.size());
  for (const std::uint32_t i : chosen) {
    regions.push_back({problem.candidates[i].nodes, problem.candidates[i].target});
  }
  const auto merge_one = [&] {
    for (std::size_t a = 0; a < regions.size(); ++a) {
      for (std::size_t b = 0; b < regions.size(); ++b) {
        if (a == b || regions[a].target != regions[b].target ||
            !Touch(problem.flow, regions[a].nodes, regions[b].nodes)) {
          continue;
        }
        std::vector<Merged> merged = regions;
        merged[a].nodes |= merged[b].nodes;
        merged.erase(merged.begin() + static_cast<std::ptrdiff_t>(b));
        if (!CanRun(problem, merged)) continue;
        regions = std::move(merged);
        return true;
      }
    }
    return false;
  };
  while (merge_one()) {
  }
  std::sort(regions.begin(), regions.end(),
            [](const Merged& a, const Merged& b) { return a.nodes < b.nodes; });
  return regions;
}

}  // namespace msc::test
