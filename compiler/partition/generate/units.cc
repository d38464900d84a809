#include "compiler/partition/generate/units.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

constexpr std::size_t kNoUnit = static_cast<std::size_t>(-1);

/// Units and the edges between them.
struct Quotient {
  std::vector<std::size_t> owner;               ///< by node
  std::vector<std::vector<std::size_t>> feeds;  ///< distinct readers, sorted by first node
  std::vector<std::vector<std::size_t>> reads;

  Quotient(const DataflowGraph& flow, const std::vector<Unit>& units)
      : owner(flow.size(), kNoUnit), feeds(units.size()), reads(units.size()) {
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      units[unit].nodes.ForEach([&](std::size_t node) {
        Check(owner[node] == kNoUnit, "units are disjoint");
        owner[node] = unit;
      });
    }
    for (std::size_t node = 0; node < flow.size(); ++node) {
      for (const FlowIndex producer : flow.producers(node)) {
        const std::size_t from = owner[producer];
        if (from == owner[node]) continue;
        feeds[from].push_back(owner[node]);
        reads[owner[node]].push_back(from);
      }
    }
    for (auto* lists : {&feeds, &reads}) {
      for (std::vector<std::size_t>& list : *lists) {
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
      }
    }
  }
};

std::vector<Unit> WithSingles(const DataflowGraph& flow, std::vector<Unit> units) {
  IndexSet covered = flow.EmptySet();
  for (const Unit& unit : units) covered |= unit.nodes;
  for (std::size_t node = covered.FirstOutside(); node < flow.size();
       node = covered.FirstOutside(node + 1)) {
    units.push_back({IndexSet::Range(flow.size(), node, node + 1), false});
  }
  std::sort(units.begin(), units.end(),
            [](const Unit& a, const Unit& b) { return a.nodes.First() < b.nodes.First(); });
  return units;
}

/// Returns the units that are on a cycle or behind one.
std::vector<std::size_t> Stuck(const Quotient& quotient) {
  std::vector<std::size_t> waits;
  std::vector<std::size_t> ready;
  for (std::size_t unit = 0; unit < quotient.reads.size(); ++unit) {
    waits.push_back(quotient.reads[unit].size());
    if (waits.back() == 0) ready.push_back(unit);
  }
  while (!ready.empty()) {
    const std::size_t unit = ready.back();
    ready.pop_back();
    for (const std::size_t reader : quotient.feeds[unit]) {
      if (--waits[reader] == 0) ready.push_back(reader);
    }
  }
  std::vector<std::size_t> stuck;
  for (std::size_t unit = 0; unit < waits.size(); ++unit) {
    if (waits[unit] > 0) stuck.push_back(unit);
  }
  return stuck;
}

/// Returns the units depth-first from those without readers, operands in the order of their first
/// nodes.
std::vector<std::size_t> PostOrder(const Quotient& quotient) {
  std::vector<std::size_t> order;
  std::vector<char> seen(quotient.reads.size(), 0);
  std::vector<std::pair<std::size_t, std::size_t>> stack;
  for (std::size_t root = 0; root < seen.size(); ++root) {
    if (!quotient.feeds[root].empty()) continue;
    seen[root] = 1;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      const std::size_t unit = stack.back().first;
      const std::size_t next = stack.back().second++;
      if (next == quotient.reads[unit].size()) {
        order.push_back(unit);
        stack.pop_back();
      } else if (const std::size_t from = quotient.reads[unit][next];
                 std::exchange(seen[from], 1) == 0) {
        stack.emplace_back(from, 0);
      }
    }
  }
  return order;
}

/// Collects distinct regions.
class Regions {
 public:
  void Add(IndexSet nodes, const char* rule) {
    if (!nodes.empty() && seen_.insert(nodes).second) list_.push_back({std::move(nodes), rule});
  }
  [[nodiscard]] std::vector<RegionNodes> Take() && { return std::move(list_); }

 private:
  std::vector<RegionNodes> list_;
  std::unordered_set<IndexSet, IndexSetHash> seen_;
};

IndexSet Join(const DataflowGraph& flow, const std::vector<Unit>& units, std::size_t begin,
              std::size_t end) {
  IndexSet nodes = flow.EmptySet();
  for (std::size_t i = begin; i < end; ++i) nodes |= units[i].nodes;
  return nodes;
}

/// Adds the runs of the units [begin, end), which must all be taken.
void AddRuns(const DataflowGraph& flow, const std::vector<Unit>& units, std::size_t begin,
             std::size_t end, const RegionOptions& options, Regions& regions) {
  for (std::size_t at = begin; at < end; ++at) {
    IndexSet nodes = units[at].nodes;
    for (std::size_t last = at + 1; last < end && last - at < options.max_run; ++last) {
      nodes |= units[last].nodes;
      regions.Add(nodes, "run");
    }
  }
  // Longer runs double in length and overlap by half, so there are O(n) of them instead of O(n^2).
  for (std::size_t length = 2 * std::max<std::size_t>(options.max_run, 1); length < end - begin;
       length *= 2) {
    for (std::size_t at = begin; at + length <= end; at += length / 2) {
      regions.Add(Join(flow, units, at, at + length), "run");
    }
  }
}

/// Adds regions of connected taken units on the same level, the maximal number of changes between
/// taken and not taken on a path to a unit. A path that leaves such a region passes a unit that is
/// not taken, so it could come back only on a higher level.
void AddLevels(const DataflowGraph& flow, const std::vector<Unit>& units, Regions& regions) {
  const Quotient quotient(flow, units);
  std::vector<std::size_t> level(units.size(), 0);
  std::vector<std::size_t> group(units.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto root = [&](std::size_t unit) {
    while (group[unit] != unit) unit = group[unit] = group[group[unit]];
    return unit;
  };
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    for (const std::size_t from : quotient.reads[unit]) {
      const std::size_t change = units[from].taken != units[unit].taken ? 1 : 0;
      level[unit] = std::max(level[unit], level[from] + change);
    }
    for (const std::size_t from : quotient.reads[unit]) {
      if (units[from].taken && units[unit].taken && level[from] == level[unit]) {
        group[root(from)] = root(unit);
      }
    }
  }
  std::map<std::size_t, IndexSet> joined;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    if (!units[unit].taken) continue;
    joined.try_emplace(root(unit), flow.EmptySet()).first->second |= units[unit].nodes;
  }
  for (auto& [first, nodes] : joined) regions.Add(std::move(nodes), "greedy");
}

}  // namespace

std::vector<Unit> OrderUnits(const DataflowGraph& flow, std::vector<Unit> units) {
  std::erase_if(
      units, [&](const Unit& unit) { return unit.nodes.empty() || !IsConvex(flow, unit.nodes); });
  units = WithSingles(flow, std::move(units));
  while (true) {
    const Quotient quotient(flow, units);
    const std::vector<std::size_t> stuck = Stuck(quotient);
    if (stuck.empty()) {
      std::vector<Unit> ordered;
      ordered.reserve(units.size());
      for (const std::size_t unit : PostOrder(quotient)) ordered.push_back(std::move(units[unit]));
      return ordered;
    }
    // This ends, as single nodes cannot wait for each other.
    // Split one of the waiting units at a time, so that the others may stay.
    const auto largest =
        std::max_element(stuck.begin(), stuck.end(), [&](std::size_t a, std::size_t b) {
          return units[a].nodes.Count() < units[b].nodes.Count();
        });
    units.erase(units.begin() + static_cast<std::ptrdiff_t>(*largest));
    units = WithSingles(flow, std::move(units));
  }
}

std::vector<RegionNodes> MakeRegions(const DataflowGraph& flow, const std::vector<Unit>& units,
                                     const RegionOptions& options) {
  Regions regions;
  for (const Unit& unit : units) {
    if (unit.taken) regions.Add(unit.nodes, "unit");
  }
  for (std::size_t begin = 0; begin < units.size();) {
    std::size_t end = begin + 1;
    while (end < units.size() && units[end].taken == units[begin].taken) ++end;
    if (units[begin].taken) {
      if (options.runs) AddRuns(flow, units, begin, end, options, regions);
      const bool all = begin == 0 && end == units.size();
      regions.Add(Join(flow, units, begin, end), all ? "whole" : "greedy");
    }
    begin = end;
  }
  AddLevels(flow, units, regions);
  return std::move(regions).Take();
}

}  // namespace msc
