#include "compiler/partition/rules/combine.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr std::size_t kMaxSubGraphs = 100'000;

/// Calls `visit(upstream, downstream)` for each touching pair that was not tried before.
template <class Visit>
void ForEachTouchingPair(const CombineRound& round, Visit&& visit) {
  const std::vector<SubGraph>& all = round.all();
  std::vector<std::vector<std::size_t>> entering(round.flow().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].entry.ForEach([&](std::size_t node) { entering[node].push_back(i); });
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Only sub-graphs that an output of this one enters can touch it, so most pairs need no test.
    std::set<std::size_t> downstream;
    all[i].output.ForEach(
        [&](std::size_t node) { downstream.insert(entering[node].begin(), entering[node].end()); });
    for (const std::size_t j : downstream) {
      if (i == j || round.Tried(i, j)) continue;
      if (round.max_depth() > 0 && all[i].depth + all[j].depth > round.max_depth()) continue;
      if (AreTouching(round.flow(), all[i], all[j])) visit(all[i], all[j]);
    }
  }
}

/// Returns whether the two are disjoint, neither feeds the other, and their union is convex.
bool AreIndependent(const DataflowGraph& flow, const SubGraph& a, const SubGraph& b) {
  return a.inside.Disjoint(b.inside) && a.output.Disjoint(b.inside) &&
         b.output.Disjoint(a.inside) && IsConvex(flow, a.inside | b.inside);
}

void AddUnionsOfSiblings(CombineRound& round) {
  const DataflowGraph& flow = round.flow();
  std::map<std::pair<IndexSet, std::string>, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < round.all().size(); ++i) {
    const SubGraph& sub_graph = round.all()[i];
    std::set<std::string> operators;
    sub_graph.inside.ForEach([&](std::size_t node) { operators.insert(flow.node(node).op); });
    if (operators.size() != 1 || sub_graph.input.empty()) continue;
    families[{sub_graph.input, *operators.begin()}].push_back(i);
  }
  for (const auto& [key, members] : families) {
    for (const std::size_t i : members) {
      for (const std::size_t j : members) {
        const SubGraph& a = round.all()[i];
        const SubGraph& b = round.all()[j];
        // Visit each pair once.
        if (a.inside.First() >= b.inside.First() || round.Tried(i, j)) continue;
        if (AreIndependent(flow, a, b)) round.AddUnion(a, b);
      }
    }
  }
}

}  // namespace

void CombineRound::Add(SubGraph sub_graph) {
  if (!seen_.insert(sub_graph.inside).second) return;
  if (seen_.size() > kMaxSubGraphs) {
    throw UserError("the partition rules make more than " + std::to_string(kMaxSubGraphs) +
                    " sub-graphs; lower their largest depth (max_depth)");
  }
  added_.push_back(std::move(sub_graph));
}

void CombineRound::AddUnion(const SubGraph& a, const SubGraph& b) {
  Add({flow_, a.inside | b.inside});
}

bool CombineRound::Next() {
  first_new_ = all_.size();
  all_.insert(all_.end(), std::make_move_iterator(added_.begin()),
              std::make_move_iterator(added_.end()));
  added_.clear();
  return all_.size() > first_new_;
}

Rule CombineRule(Rule rule, std::vector<Combiner> combiners, std::size_t max_depth) {
  return [rule = std::move(rule), combiners = std::move(combiners),
          max_depth](const DataflowGraph& flow) {
    CombineRound round(flow, max_depth);
    for (SubGraph& sub_graph : rule(flow)) round.Add(std::move(sub_graph));
    while (round.Next()) {
      for (const Combiner& combiner : combiners) combiner(round);
    }
    return std::move(round).Take();
  };
}

Combiner JoinByKind(std::vector<std::pair<OpKind, OpKind>> kinds) {
  return [kinds = std::move(kinds)](CombineRound& round) {
    ForEachTouchingPair(round, [&](const SubGraph& a, const SubGraph& b) {
      if (std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
            return a.kind <= kind.first && b.kind <= kind.second;
          })) {
        round.AddUnion(a, b);
      }
    });
  };
}

Combiner JoinAnything() {
  return JoinByKind({{OpKind::kAnchor, OpKind::kAnchor}});
}

Combiner JoinSiblings() {
  return AddUnionsOfSiblings;
}

Combiner JoinAnchors() {
  return [](CombineRound& round) {
    ForEachTouchingPair(round, [&](const SubGraph& a, const SubGraph& b) {
      if (a.kind == OpKind::kAnchor && b.kind == OpKind::kAnchor) round.AddUnion(a, b);
    });
  };
}

Combiner JoinLikeTvm() {
  return JoinByKind({{OpKind::kAnchor, OpKind::kBroadcast},
                     {OpKind::kBroadcast, OpKind::kReduce},
                     {OpKind::kInjective, OpKind::kInjective}});
}

}  // namespace msc
