#include "compiler/pipeline/regions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/passes/narrowing.h"

namespace msc {
namespace {

/// Gives every node a region, and copies nodes that several regions need.
class Assigner {
 public:
  Assigner(std::size_t first_single, Graph& graph) : next_single_(first_single), graph_(graph) {}

  RegionIds Assign(const std::map<std::string, std::size_t>& named) {
    for (const auto& [name, region] : named) {
      const NodeId id = graph_.FindNode(name);
      if (id == kNoNode) {
        throw UserError("the partition names a node '" + name + "', which the graph does not have");
      }
      regions_.emplace(id, region);
    }
    const std::vector<NodeId> order = graph_.order();
    for (const NodeId id : order) Place(id);
    for (const NodeId id : narrows_input_) regions_.emplace(id, RegionOfFirstReader(id));
    // Readers come before the nodes that they read, because a copy may be the reader of another
    // copy.
    // clang 14 cannot compile libstdc++'s std::views::reverse.
    // NOLINTNEXTLINE(modernize-loop-convert)
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (!regions_.contains(*it)) GiveToReaders(*it);
    }
    return std::move(regions_);
  }

 private:
  void Place(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.captures.empty()) {
      throw UserError("node '" + node.name +
                      "' has nested graphs that read values around them; a model with such a node "
                      "cannot be cut into regions");
    }
    if (regions_.contains(id) || ReadWidening(graph_, id)) return;
    if (!ReadNarrowing(graph_, id)) {
      regions_.emplace(id, next_single_++);
    } else if (const auto region = RegionOfSource(id)) {
      regions_.emplace(id, *region);
    } else {
      narrows_input_.push_back(id);
    }
  }

  /// Returns the region that computes what `id` reads, directly or through widening nodes; nullopt
  /// if that is a graph input or a constant.
  [[nodiscard]] std::optional<std::size_t> RegionOfSource(NodeId id) const {
    while (id != kNoNode) {
      id = graph_.producer(graph_.node(id).inputs.front());
      const auto it = regions_.find(id);
      if (it != regions_.end()) return it->second;
    }
    return std::nullopt;
  }

  /// Returns the region of the first node that depends on `id`; a new one if there is none.
  [[nodiscard]] std::size_t RegionOfFirstReader(NodeId id) {
    std::set<NodeId> reached = {id};
    for (const NodeId reader : graph_.order()) {
      const std::vector<ValueId>& inputs = graph_.node(reader).inputs;
      const bool reads = std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
        return input != kNoValue && reached.contains(graph_.producer(input));
      });
      if (!reads) continue;
      if (const auto it = regions_.find(reader); it != regions_.end()) return it->second;
      reached.insert(reader);
    }
    return next_single_++;
  }

  void GiveToReaders(NodeId id) {
    const ValueId made = graph_.node(id).outputs.front();
    std::map<std::size_t, std::vector<Use>> readers;
    for (const Use& use : graph_.uses(made)) readers[regions_.at(use.node)].push_back(use);
    std::optional<std::size_t> own;
    if (graph_.IsOutput(made)) own = RegionOfSource(id);
    if (!own) own = readers.empty() ? next_single_++ : readers.begin()->first;
    regions_.emplace(id, *own);
    for (const auto& [region, uses] : readers) {
      if (region != *own) CopyFor(region, uses, id);
    }
  }

  void CopyFor(std::size_t region, const std::vector<Use>& uses, NodeId id) {
    Node copy = graph_.node(id);
    const ValueId made = copy.outputs.front();
    const auto& order = graph_.order();
    const NodeId first = *std::find_if(order.begin(), order.end(), [&](NodeId node) {
      return std::any_of(uses.begin(), uses.end(),
                         [&](const Use& use) { return use.node == node; });
    });
    copy.name = graph_.FreeNodeName(copy.name);
    copy.outputs = {
        graph_.AddValue(graph_.FreeValueName(graph_.value(made).name), graph_.type(made))};
    const ValueId copied = copy.outputs.front();
    regions_.emplace(graph_.AddNode(std::move(copy), first), region);
    for (const Use& use : uses) graph_.SetInput(use.node, use.index, copied);
  }

  std::size_t next_single_;
  Graph& graph_;
  RegionIds regions_;
  std::vector<NodeId> narrows_input_;
};

/// Regions and the dependencies between them.
struct Quotient {
  std::map<std::size_t, std::vector<NodeId>> nodes;     ///< by region, in the graph's order
  std::map<std::size_t, std::set<std::size_t>> needed;  ///< regions whose results a region reads
  std::map<std::size_t, std::set<std::size_t>> readers;
  std::map<std::size_t, std::size_t> start;  ///< position of a region's first node
};

Quotient Contract(const Graph& graph, const RegionIds& regions) {
  Quotient quotient;
  std::size_t position = 0;
  for (const NodeId id : graph.order()) {
    const std::size_t region = regions.at(id);
    quotient.nodes[region].push_back(id);
    quotient.start.emplace(region, position++);
    for (const ValueId input : graph.node(id).inputs) {
      const NodeId from = input == kNoValue ? kNoNode : graph.producer(input);
      if (from == kNoNode || regions.at(from) == region) continue;
      quotient.needed[region].insert(regions.at(from));
      quotient.readers[regions.at(from)].insert(region);
    }
  }
  return quotient;
}

std::string Label(const Graph& graph, const Quotient& quotient, std::size_t region,
                  std::size_t first_single) {
  const std::string first = "'" + graph.node(quotient.nodes.at(region).front()).name + "'";
  return region < first_single ? "region " + std::to_string(region) + " (from " + first + " on)"
                               : "node " + first;
}

/// Throws a UserError about regions that wait for each other. `waiting` are the regions that cannot
/// run, by start.
[[noreturn]] void RejectCircle(const Graph& graph, const Quotient& quotient,
                               std::size_t first_single, const std::set<std::size_t>& waiting) {
  // Each waits for another one in the set, so going back must reach a region twice.
  std::vector<std::size_t> path = {*waiting.begin()};
  while (true) {
    const std::set<std::size_t>& needed = quotient.needed.at(path.back());
    const std::size_t next = *std::find_if(
        needed.begin(), needed.end(), [&](std::size_t region) { return waiting.contains(region); });
    const auto met = std::find(path.begin(), path.end(), next);
    const bool round = met != path.end();
    if (round) path.erase(path.begin(), met);
    path.push_back(next);
    if (round) break;
  }
  std::string text;
  for (const std::size_t region : path) {
    text += (text.empty() ? "" : ", which needs ") + Label(graph, quotient, region, first_single);
  }
  throw UserError("regions of the partition need each other's results in a circle: " + text);
}

}  // namespace

RegionIds AssignRegions(const std::map<std::string, std::size_t>& named, std::size_t first_single,
                        Graph& graph) {
  return Assigner(first_single, graph).Assign(named);
}

std::vector<OrderedRegion> OrderRegions(const Graph& graph, const RegionIds& regions,
                                        std::size_t first_single) {
  const Quotient quotient = Contract(graph, regions);
  const auto is_single = [&](std::size_t region) { return region >= first_single; };
  // Ready regions by start. Regions of one node are kept separately, so that a run of them
  // continues if possible.
  std::map<std::size_t, std::size_t> ready;
  std::map<std::size_t, std::size_t> ready_singles;
  std::map<std::size_t, std::size_t> missing;
  std::set<std::size_t> waiting;
  const auto make_ready = [&](std::size_t region) {
    (is_single(region) ? ready_singles : ready).emplace(quotient.start.at(region), region);
  };
  for (const auto& [region, nodes] : quotient.nodes) {
    const auto needed = quotient.needed.find(region);
    waiting.insert(region);
    missing[region] = needed == quotient.needed.end() ? 0 : needed->second.size();
    if (missing[region] == 0) make_ready(region);
  }
  std::vector<OrderedRegion> ordered;
  bool in_run = false;
  while (!ready.empty() || !ready_singles.empty()) {
    const bool single =
        !ready_singles.empty() &&
        (in_run || ready.empty() || ready_singles.begin()->first < ready.begin()->first);
    auto& from = single ? ready_singles : ready;
    const std::size_t region = from.begin()->second;
    from.erase(from.begin());
    waiting.erase(region);
    const std::vector<NodeId>& nodes = quotient.nodes.at(region);
    if (single && in_run) {
      ordered.back().nodes.insert(ordered.back().nodes.end(), nodes.begin(), nodes.end());
    } else {
      ordered.push_back({.id = region, .nodes = nodes});
    }
    in_run = single;
    const auto readers = quotient.readers.find(region);
    if (readers == quotient.readers.end()) continue;
    for (const std::size_t reader : readers->second) {
      if (--missing[reader] == 0) make_ready(reader);
    }
  }
  if (!waiting.empty()) RejectCircle(graph, quotient, first_single, waiting);
  return ordered;
}

}  // namespace msc
