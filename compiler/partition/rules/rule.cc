#include "compiler/partition/rules/rule.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/nearest.h"

namespace msc {
namespace {

using Found = std::vector<SubGraph>;

constexpr std::size_t kMaxNeighbours = 8;  ///< in a family of siblings

std::vector<std::string> NamesOf(const DataflowGraph& flow) {
  std::vector<std::string> names;
  for (const FlowNode& node : flow.nodes()) names.push_back(node.name);
  return names;
}

/// Returns the calls of `op`, in order, grouped by the tensors that they read.
std::vector<std::vector<std::size_t>> Families(const DataflowGraph& flow, const std::string& op) {
  std::map<std::set<FlowIndex>, std::vector<std::size_t>> by_read;
  for (std::size_t i = 0; i < flow.size(); ++i) {
    const FlowNode& node = flow.node(i);
    if (node.op == op) by_read[{node.inputs.begin(), node.inputs.end()}].push_back(i);
  }
  by_read.erase(std::set<FlowIndex>());
  std::vector<std::vector<std::size_t>> families;
  families.reserve(by_read.size());
  for (auto& [read, members] : by_read) families.push_back(std::move(members));
  return families;
}

}  // namespace

Rule PatternRule(PatternPtr pattern) {
  return [pattern = std::move(pattern)](const DataflowGraph& flow) {
    Found found;
    for (std::size_t root = 0; root < flow.size(); ++root) {
      for (IndexSet& nodes : FindMatches(flow, *pattern, root)) {
        if (!nodes.empty()) found.emplace_back(flow, std::move(nodes));
      }
    }
    return found;
  };
}

Rule SiblingRule(std::string op) {
  return [op = std::move(op)](const DataflowGraph& flow) {
    Found found;
    for (const std::vector<std::size_t>& members : Families(flow, op)) {
      // A family has exponentially many subsets; only runs of neighbours and the whole are offered.
      for (std::size_t begin = 0; begin < members.size(); ++begin) {
        IndexSet nodes = flow.EmptySet();
        nodes.Insert(members[begin]);
        const std::size_t end = std::min(members.size(), begin + kMaxNeighbours);
        for (std::size_t last = begin + 1; last < end; ++last) {
          nodes.Insert(members[last]);
          found.emplace_back(flow, nodes);
        }
      }
      if (members.size() <= kMaxNeighbours) continue;
      found.emplace_back(flow, IndexSet(flow.size(), members));
    }
    return found;
  };
}

Rule UserRule(std::vector<std::vector<std::string>> regions) {
  return [regions = std::move(regions)](const DataflowGraph& flow) {
    Found found;
    for (const std::vector<std::string>& names : regions) {
      IndexSet nodes = flow.EmptySet();
      for (const std::string& name : names) {
        const FlowIndex node = flow.Find(name);
        if (node == kNoFlow)
          throw UserError("a region names node '" + name + "', which the graph does not have" +
                          DidYouMean(name, NamesOf(flow)));
        nodes.Insert(node);
      }
      if (!nodes.empty()) found.emplace_back(flow, std::move(nodes));
    }
    return found;
  };
}

Rule UnionRule(std::vector<Rule> rules) {
  return [rules = std::move(rules)](const DataflowGraph& flow) {
    Found found;
    for (const Rule& rule : rules) {
      for (SubGraph& sub_graph : rule(flow)) found.push_back(std::move(sub_graph));
    }
    return found;
  };
}

}  // namespace msc
