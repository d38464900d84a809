#include "compiler/partition/rules/combine.h"

#include <algorithm>
#include <map>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr std::size_t kMaxOffered = 100'000;
constexpr std::size_t kMaxProducts = 1'000;  ///< of producers of the fields of one tuple

/// Calls `visit(upstream, downstream)` for each touching pair that was not tried before.
template <class Visit>
void ForEachTouchingPair(const CombineRound& round, Visit&& visit) {
  const std::vector<Offered>& all = round.all();
  std::vector<std::vector<std::size_t>> entering(round.flow().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].sub_graph.entry.ForEach([&](std::size_t node) { entering[node].push_back(i); });
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    // Only sub-graphs that an output of this one enters can touch it, so most pairs need no test.
    std::set<std::size_t> downstream;
    all[i].sub_graph.output.ForEach(
        [&](std::size_t node) { downstream.insert(entering[node].begin(), entering[node].end()); });
    for (const std::size_t j : downstream) {
      const SubGraph& a = all[i].sub_graph;
      const SubGraph& b = all[j].sub_graph;
      if (i == j || round.Tried(i, j)) continue;
      if (round.max_depth() > 0 && a.depth + b.depth > round.max_depth()) continue;
      if (AreTouching(round.flow(), a, b)) visit(i, j);
    }
  }
}

SubGraph Single(const DataflowGraph& flow, std::size_t node) {
  return {flow, IndexSet::Range(flow.size(), node, node + 1)};
}

/// Adds unions of a reader of a tuple, the tuple, and one producer of each field.
class TupleUnions {
 public:
  TupleUnions(CombineRound& round, std::size_t consumer,
              const std::vector<std::vector<std::size_t>>& leaving)
      : round_(round), consumer_(consumer), leaving_(leaving) {}

  void AddAll(std::size_t tuple) {
    const DataflowGraph& flow = round_.flow();
    const Offered& base = round_.all()[consumer_];
    if (base.sub_graph.inside.Contains(tuple)) return;
    struct Partial {
      SubGraph sub_graph;
      bool any_new;
    };
    std::vector<Partial> partials = {{DisjointUnion(flow, base.sub_graph, Single(flow, tuple)),
                                      consumer_ >= round_.first_new()}};
    for (const FlowIndex tensor : flow.node(tuple).inputs) {
      const FlowIndex field = flow.tensor(tensor).producer;
      if (field == kNoFlow) return;
      std::vector<Partial> next;
      for (const Partial& partial : partials) {
        if (partial.sub_graph.inside.Contains(field)) {
          next.push_back(partial);  // it produces several fields
          continue;
        }
        for (const std::size_t producer : leaving_[field]) {
          const SubGraph& part = round_.all()[producer].sub_graph;
          if (producer == consumer_ || part.inside.Intersects(partial.sub_graph.inside)) continue;
          if (next.size() == kMaxProducts) break;
          next.push_back({DisjointUnion(flow, partial.sub_graph, part),
                          partial.any_new || producer >= round_.first_new()});
        }
      }
      partials = std::move(next);
    }
    for (Partial& partial : partials) {
      const bool tried =
          round_.mode() == RuleMode::kCompat ? consumer_ < round_.first_new() : !partial.any_new;
      // A tuple without fields joins nothing.
      if (tried || flow.node(tuple).inputs.empty()) continue;
      round_.Add({base.rule + "+tuple", std::move(partial.sub_graph)});
    }
  }

 private:
  CombineRound& round_;
  std::size_t consumer_;
  const std::vector<std::vector<std::size_t>>& leaving_;
};

}  // namespace

void CombineRound::Add(Offered offered) {
  std::vector<IndexSet> nested;
  for (const NestedSubGraph& part : offered.sub_graph.nested) nested.push_back(part.nodes);
  if (!seen_.emplace(offered.sub_graph.inside, std::move(nested)).second) return;
  if (seen_.size() > kMaxOffered) {
    throw UserError("the partition rules make more than " + std::to_string(kMaxOffered) +
                    " sub-graphs; lower their largest depth (max_depth)");
  }
  added_.push_back(std::move(offered));
}

void CombineRound::AddUnion(const Offered& a, const Offered& b) {
  const std::string name = a.rule == b.rule ? a.rule : a.rule + "+" + b.rule;
  Add({name, DisjointUnion(flow_, a.sub_graph, b.sub_graph)});
}

bool CombineRound::Next() {
  first_new_ = all_.size();
  all_.insert(all_.end(), std::make_move_iterator(added_.begin()),
              std::make_move_iterator(added_.end()));
  added_.clear();
  return all_.size() > first_new_;
}

Rule CombineRule(Rule rule, std::vector<Combiner> combiners, std::size_t max_depth) {
  std::string name = "combine(" + rule.name + ")";
  return {std::move(name), [rule = std::move(rule), combiners = std::move(combiners), max_depth](
                               const DataflowGraph& flow, RuleMode mode) {
            CombineRound round(flow, mode, max_depth);
            for (Offered& offered : rule.find(flow, mode)) round.Add(std::move(offered));
            while (round.Next()) {
              for (const Combiner& combiner : combiners) combiner(round);
            }
            return std::move(round).Take();
          }};
}

Combiner JoinByKind(std::vector<std::pair<OpKind, OpKind>> kinds) {
  return [kinds = std::move(kinds)](CombineRound& round) {
    ForEachTouchingPair(round, [&](std::size_t i, std::size_t j) {
      const Offered& a = round.all()[i];
      const Offered& b = round.all()[j];
      if (std::any_of(kinds.begin(), kinds.end(), [&](const auto& kind) {
            return a.sub_graph.kind <= kind.first && b.sub_graph.kind <= kind.second;
          })) {
        round.AddUnion(a, b);
      }
    });
  };
}

Combiner JoinAnything() {
  return JoinByKind({{OpKind::kAnchor, OpKind::kAnchor}});
}

Combiner JoinTupleArguments() {
  return [](CombineRound& round) {
    const DataflowGraph& flow = round.flow();
    std::vector<std::vector<std::size_t>> leaving(flow.size());
    for (std::size_t i = 0; i < round.all().size(); ++i) {
      const SubGraph& sub_graph = round.all()[i].sub_graph;
      if (sub_graph.kind > OpKind::kInjective) continue;
      sub_graph.exit.ForEach([&](std::size_t node) { leaving[node].push_back(i); });
    }
    for (std::size_t i = 0; i < round.all().size(); ++i) {
      if (round.all()[i].sub_graph.kind > OpKind::kInjective) continue;
      for (const std::size_t input : round.all()[i].sub_graph.input.Members()) {
        if (flow.node(input).role == FlowRole::kTuple) {
          TupleUnions(round, i, leaving).AddAll(input);
        }
      }
    }
  };
}

Combiner JoinTupleProjections() {
  return [](CombineRound& round) {
    const DataflowGraph& flow = round.flow();
    for (std::size_t i = round.first_new(); i < round.all().size(); ++i) {
      for (const std::size_t output : round.all()[i].sub_graph.output.Members()) {
        if (flow.node(output).role != FlowRole::kProjection) continue;
        const Offered& base = round.all()[i];
        round.Add({base.rule + "+proj", DisjointUnion(flow, base.sub_graph, Single(flow, output))});
      }
    }
  };
}

Combiner JoinConstants() {
  return [](CombineRound& round) {
    const DataflowGraph& flow = round.flow();
    for (std::size_t i = round.first_new(); i < round.all().size(); ++i) {
      const Offered& base = round.all()[i];
      IndexSet constants = flow.EmptySet();
      base.sub_graph.input.ForEach([&](std::size_t node) {
        if (flow.node(node).role == FlowRole::kConstant) constants.Insert(node);
      });
      if (constants.empty()) continue;
      round.Add({base.rule + "+const",
                 DisjointUnion(flow, base.sub_graph, SubGraph(flow, std::move(constants)))});
    }
  };
}

Combiner JoinSiblings() {
  return [](CombineRound& round) {
    const DataflowGraph& flow = round.flow();
    std::map<std::pair<IndexSet, std::string>, std::vector<std::size_t>> families;
    for (std::size_t i = 0; i < round.all().size(); ++i) {
      const SubGraph& sub_graph = round.all()[i].sub_graph;
      IndexSet read = flow.EmptySet();
      sub_graph.input.ForEach([&](std::size_t node) {
        if (flow.node(node).role != FlowRole::kConstant) read.Insert(node);
      });
      std::set<std::string> operators;
      sub_graph.inside.ForEach([&](std::size_t node) {
        if (flow.node(node).role == FlowRole::kCall) operators.insert(flow.node(node).op);
      });
      if (operators.size() != 1 || read.empty()) continue;
      families[{std::move(read), *operators.begin()}].push_back(i);
    }
    for (const auto& [key, members] : families) {
      for (const std::size_t i : members) {
        for (const std::size_t j : members) {
          const SubGraph& a = round.all()[i].sub_graph;
          const SubGraph& b = round.all()[j].sub_graph;
          // Visit each pair once; skip pairs in which one depends on the other.
          if (a.inside.First() >= b.inside.First() || a.inside.Intersects(b.inside)) continue;
          if ((i < round.first_new() && j < round.first_new()) || a.output.Intersects(b.inside) ||
              b.output.Intersects(a.inside) || !IsConvex(flow, a.inside | b.inside)) {
            continue;
          }
          round.AddUnion(round.all()[i], round.all()[j]);
        }
      }
    }
  };
}

Combiner JoinAnchors() {
  return [](CombineRound& round) {
    ForEachTouchingPair(round, [&](std::size_t i, std::size_t j) {
      const Offered& a = round.all()[i];
      const Offered& b = round.all()[j];
      if (a.sub_graph.kind == OpKind::kAnchor && b.sub_graph.kind == OpKind::kAnchor) {
        round.AddUnion(a, b);
      }
    });
  };
}

std::vector<Combiner> FuseLikeTvm() {
  return {JoinByKind({{OpKind::kAnchor, OpKind::kBroadcast},
                      {OpKind::kBroadcast, OpKind::kReduce},
                      {OpKind::kInjective, OpKind::kInjective}}),
          JoinTupleArguments(), JoinTupleProjections()};
}

}  // namespace msc
