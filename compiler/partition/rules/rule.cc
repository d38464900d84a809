#include "compiler/partition/rules/rule.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/nearest.h"

namespace msc {
namespace {

using Found = std::vector<Offered>;

constexpr std::size_t kMaxNeighbours = 8;  ///< in a family of siblings

Offered Single(const DataflowGraph& flow, std::size_t node, const std::string& rule) {
  return {rule, SubGraph(flow, IndexSet::Range(flow.size(), node, node + 1))};
}

std::vector<std::string> NamesOf(const DataflowGraph& flow) {
  std::vector<std::string> names;
  for (const FlowNode& node : flow.nodes()) names.push_back(node.name);
  return names;
}

/// Returns the tensors that a node reads, constants not counted.
std::set<FlowIndex> TensorsRead(const DataflowGraph& flow, const FlowNode& node) {
  std::set<FlowIndex> read;
  for (const FlowIndex tensor : node.inputs) {
    const FlowIndex producer = flow.tensor(tensor).producer;
    if (producer != kNoFlow) {
      const FlowNode& from = flow.node(producer);
      if (from.inlined() || from.role == FlowRole::kConstant) continue;
    }
    read.insert(tensor);
  }
  return read;
}

/// Returns the calls of `op`, in order, grouped by the tensors that they read.
std::vector<std::vector<std::size_t>> Families(const DataflowGraph& flow, const std::string& op) {
  std::map<std::set<FlowIndex>, std::vector<std::size_t>> by_read;
  for (std::size_t i = 0; i < flow.size(); ++i) {
    const FlowNode& node = flow.node(i);
    if (node.role == FlowRole::kCall && node.op == op)
      by_read[TensorsRead(flow, node)].push_back(i);
  }
  by_read.erase(std::set<FlowIndex>());
  std::vector<std::vector<std::size_t>> families;
  families.reserve(by_read.size());
  for (auto& [read, members] : by_read) families.push_back(std::move(members));
  return families;
}

/// Returns `rule` with `change` applied to each sub-graph.
template <class Change>
Rule Mapped(std::string name, Rule rule, Change change) {
  return {name, [name, rule = std::move(rule), change = std::move(change)](
                    const DataflowGraph& flow, RuleMode mode) {
            Found found = rule.find(flow, mode);
            for (Offered& offered : found) {
              offered.rule = name + "." + offered.rule;
              offered.sub_graph = change(flow, offered.sub_graph);
            }
            return found;
          }};
}

}  // namespace

Rule PatternRule(std::string name, PatternPtr pattern,
                 std::function<bool(const FlowNode&)> accepts) {
  return {name, [name, pattern = std::move(pattern), accepts = std::move(accepts)](
                    const DataflowGraph& flow, RuleMode mode) {
            Found found;
            const Matches matches = mode == RuleMode::kCompat ? Matches::kFirst : Matches::kAll;
            for (std::size_t root = 0; root < flow.size(); ++root) {
              if (accepts && !accepts(flow.node(root))) continue;
              for (IndexSet& nodes : FindMatches(flow, *pattern, root, matches)) {
                if (!nodes.empty()) found.push_back({name, SubGraph(flow, std::move(nodes))});
                if (mode == RuleMode::kCompat) break;
              }
            }
            return found;
          }};
}

Rule KindRule() {
  return {"kind", [](const DataflowGraph& flow, RuleMode /*mode*/) {
            Found found;
            for (std::size_t i = 0; i < flow.size(); ++i) {
              const FlowNode& node = flow.node(i);
              if (node.role == FlowRole::kCall && node.kind <= OpKind::kAnchor) {
                found.push_back(Single(flow, i, "kind"));
              }
            }
            return found;
          }};
}

Rule OperatorRule(std::string name, std::function<bool(const FlowNode&)> accepts) {
  return {name, [name, accepts = std::move(accepts)](const DataflowGraph& flow, RuleMode /*mode*/) {
            Found found;
            for (std::size_t i = 0; i < flow.size(); ++i) {
              if (flow.node(i).role != FlowRole::kCall || !accepts(flow.node(i))) continue;
              IndexSet nodes = IndexSet::Range(flow.size(), i, i + 1);
              for (const FlowIndex producer : flow.producers(i)) {
                if (flow.node(producer).role == FlowRole::kConstant) nodes.Insert(producer);
              }
              found.push_back({name, SubGraph(flow, std::move(nodes))});
            }
            return found;
          }};
}

Rule HostRule() {
  return {"host", [](const DataflowGraph& flow, RuleMode /*mode*/) {
            Found found;
            for (std::size_t i = 0; i < flow.size(); ++i) {
              if (flow.node(i).role != FlowRole::kCall) found.push_back(Single(flow, i, "host"));
            }
            return found;
          }};
}

Rule SiblingRule(std::string op) {
  const auto find = [op = std::move(op)](const DataflowGraph& flow, RuleMode /*mode*/) {
    Found found;
    for (const std::vector<std::size_t>& members : Families(flow, op)) {
      // A family has exponentially many subsets; only runs of neighbours and the whole are offered.
      for (std::size_t begin = 0; begin < members.size(); ++begin) {
        IndexSet nodes = flow.EmptySet();
        nodes.Insert(members[begin]);
        const std::size_t end = std::min(members.size(), begin + kMaxNeighbours);
        for (std::size_t last = begin + 1; last < end; ++last) {
          nodes.Insert(members[last]);
          found.push_back({"siblings", SubGraph(flow, nodes)});
        }
      }
      if (members.size() <= kMaxNeighbours) continue;
      found.push_back({"siblings", SubGraph(flow, IndexSet(flow.size(), members))});
    }
    return found;
  };
  return {"siblings", find};
}

Rule UserRule(std::vector<std::vector<std::string>> regions) {
  return {"user", [regions = std::move(regions)](const DataflowGraph& flow, RuleMode /*mode*/) {
            Found found;
            for (const std::vector<std::string>& names : regions) {
              IndexSet nodes = flow.EmptySet();
              for (const std::string& name : names) {
                const FlowIndex node = flow.Find(name);
                if (node == kNoFlow)
                  throw UserError("a region names node '" + name +
                                  "', which the graph does not have" +
                                  DidYouMean(name, NamesOf(flow)));
                nodes.Insert(node);
              }
              if (!nodes.empty()) found.push_back({"user", SubGraph(flow, std::move(nodes))});
            }
            return found;
          }};
}

Rule CompositeRule(const std::string& name, Rule rule) {
  return Mapped(name, std::move(rule),
                [name](const DataflowGraph& flow, const SubGraph& sub_graph) {
                  return WithAttribute(flow, sub_graph, "Composite", name);
                });
}

Rule PrimitiveRule(Rule rule, std::string compiler) {
  return Mapped(
      "primitive", std::move(rule),
      [compiler = std::move(compiler)](const DataflowGraph& flow, const SubGraph& sub_graph) {
        SubGraph result = WithAttribute(flow, sub_graph, "Primitive", "1");
        if (compiler.empty()) return result;
        return WithAttribute(flow, result, "Compiler", compiler);
      });
}

Rule UnionRule(std::vector<Rule> rules) {
  return {"union", [rules = std::move(rules)](const DataflowGraph& flow, RuleMode mode) {
            Found found;
            for (const Rule& rule : rules) {
              for (Offered& offered : rule.find(flow, mode)) found.push_back(std::move(offered));
            }
            return found;
          }};
}

Rule ValidRule(Rule rule, SubGraphConfig config) {
  std::string name = "valid(" + rule.name + ")";
  return {std::move(name),
          [rule = std::move(rule), config](const DataflowGraph& flow, RuleMode mode) {
            Found found = rule.find(flow, mode);
            std::erase_if(found, [&](const Offered& offered) {
              return !IsValid(flow, offered.sub_graph, config);
            });
            return found;
          }};
}

Rule GeneratedCodeRule(std::size_t max_depth) {
  return ValidRule(CombineRule(KindRule(), FuseLikeTvm(), max_depth),
                   {.max_exits = 1, .max_depth = max_depth});
}

Rule LibraryRule(std::string compiler, const std::vector<TargetPattern>& patterns,
                 FusionStyle style, std::size_t max_depth) {
  std::vector<Rule> rules;
  rules.reserve(patterns.size());
  for (const TargetPattern& entry : patterns) {
    rules.push_back(CompositeRule(compiler + "." + entry.name,
                                  PatternRule(entry.name, entry.pattern, entry.accepts)));
  }
  std::vector<Combiner> combiners;
  if (style == FusionStyle::kLikeTvm) combiners = FuseLikeTvm();
  if (style == FusionStyle::kAnything) combiners = {JoinAnything()};
  return PrimitiveRule(
      ValidRule(CombineRule(UnionRule(std::move(rules)), std::move(combiners), max_depth),
                {.max_exits = 1, .max_depth = max_depth}),
      std::move(compiler));
}

}  // namespace msc
