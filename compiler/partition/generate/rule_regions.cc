#include "compiler/partition/generate/rule_regions.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/partition/rules/pattern_text.h"

namespace msc {
namespace {

std::string NodeText(const DataflowGraph& flow, std::size_t node) {
  return "'" + flow.node(node).name + "' (" + flow.node(node).op + ")";
}

/// Returns a node outside of `nodes` on a path that leaves them and comes back.
std::optional<std::size_t> Between(const DataflowGraph& flow, const IndexSet& nodes) {
  IndexSet behind = flow.EmptySet();  // nodes outside that depend on `nodes`
  for (std::size_t i = nodes.First(); i <= nodes.Last(); ++i) {
    for (const FlowIndex producer : flow.producers(i)) {
      if (nodes.Contains(i) && behind.Contains(producer)) return producer;
      if (!nodes.Contains(i) && (nodes.Contains(producer) || behind.Contains(producer))) {
        behind.Insert(i);
      }
    }
  }
  return std::nullopt;
}

/// Returns the distinct convex sets of nodes that a rule finds. UserError if a rule that lists its
/// nodes is not convex.
std::vector<IndexSet> Offers(const DataflowGraph& flow, const NamedRule& rule) {
  std::vector<SubGraph> found;
  try {
    found = rule.rule(flow);
  } catch (const UserError& error) {
    throw UserError("rule '" + rule.name + "': " + error.what());
  }
  std::vector<IndexSet> offers;
  for (SubGraph& sub_graph : found) {
    IndexSet& nodes = sub_graph.inside;
    if (nodes.empty()) continue;
    const std::optional<std::size_t> between = Between(flow, nodes);
    if (between && rule.exact) {
      throw UserError("rule '" + rule.name + "': a path leaves its nodes and comes back through " +
                      NodeText(flow, *between) + "; name that node, too");
    }
    if (!between) offers.push_back(std::move(nodes));
  }
  std::sort(offers.begin(), offers.end());
  offers.erase(std::unique(offers.begin(), offers.end()), offers.end());
  return offers;
}

std::vector<RegionNodes> TakenOf(const std::vector<IndexSet>& offers, const std::string& rule,
                                 const IndexSet& runs) {
  std::vector<RegionNodes> taken;
  for (const IndexSet& nodes : offers) {
    if (nodes.SubsetOf(runs)) taken.push_back({nodes, rule});
  }
  return taken;
}

/// Describes the first node of `offer` that the target does not support.
std::string Refused(const DataflowGraph& flow, const IndexSet& offer, const Runs& runs) {
  return NodeText(flow, (offer - runs.nodes).First());
}

bool IsFor(const NamedRule& rule, const Target& target) {
  return rule.targets.empty() || NamesTarget(rule.targets, target);
}

}  // namespace

bool NamesTarget(const std::vector<std::string>& list, const Target& target) {
  return std::find(list.begin(), list.end(), target.facts().name) != list.end() ||
         std::find(list.begin(), list.end(), target.spec()) != list.end();
}

std::vector<RegionNodes> PatternRegions(const DataflowGraph& flow, const Runs& runs) {
  std::vector<RegionNodes> regions;
  for (const RegionPattern& pattern : runs.target->Patterns()) {
    const std::string what =
        "pattern '" + pattern.name + "' of target " + runs.target->facts().name;
    const NamedRule rule{.name = pattern.name,
                         .targets = {},
                         .exact = false,
                         .rule = PatternRule(ParsePattern(pattern.text, what))};
    for (RegionNodes& region : TakenOf(Offers(flow, rule), rule.name, runs.nodes)) {
      regions.push_back(std::move(region));
    }
  }
  return regions;
}

std::vector<std::vector<RegionNodes>> RuleRegions(const DataflowGraph& flow,
                                                  const std::vector<NamedRule>& rules,
                                                  std::span<const Runs> targets) {
  std::vector<std::vector<RegionNodes>> regions(targets.size());
  for (const NamedRule& rule : rules) {
    const std::vector<IndexSet> offers = Offers(flow, rule);
    if (offers.empty()) continue;
    bool any = false;
    std::string refused;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!IsFor(rule, *targets[i].target)) continue;
      std::vector<RegionNodes> taken = TakenOf(offers, rule.name, targets[i].nodes);
      if (taken.empty()) {
        const std::string node = Refused(flow, offers.front(), targets[i]);
        const std::string name = targets[i].target->spec();
        if (!rule.targets.empty()) {
          throw UserError("rule '" + rule.name + "': " + name + " does not take node " + node +
                          "; leave the node or the target out of the rule");
        }
        if (!refused.empty()) refused += ", ";
        refused.append(name).append(" not ").append(node);
      }
      any = any || !taken.empty();
      std::move(taken.begin(), taken.end(), std::back_inserter(regions[i]));
    }
    if (!any && !refused.empty()) {
      throw UserError("rule '" + rule.name + "': no target takes all of its nodes: " + refused);
    }
  }
  return regions;
}

std::vector<std::string> LeftOut(const DataflowGraph& flow, const NamedRule& rule,
                                 std::span<const Runs> targets) {
  const std::vector<IndexSet> offers = Offers(flow, rule);
  std::vector<std::string> left_out;
  for (const Runs& runs : targets) {
    if (!IsFor(rule, *runs.target)) continue;
    const auto left = std::find_if(offers.begin(), offers.end(), [&](const IndexSet& nodes) {
      return !nodes.SubsetOf(runs.nodes);
    });
    const std::size_t taken = TakenOf(offers, rule.name, runs.nodes).size();
    if (taken == 0 || left == offers.end()) continue;
    std::string text = runs.target->spec();
    text.append(" takes ").append(std::to_string(taken)).append(" of its ");
    text.append(std::to_string(offers.size())).append(" regions; it does not take node ");
    left_out.push_back(text.append(Refused(flow, *left, runs)));
  }
  return left_out;
}

}  // namespace msc
