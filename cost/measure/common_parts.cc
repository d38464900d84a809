#include "cost/measure/common_parts.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <set>

namespace msc::cost {
namespace {

/// Disjoint sets of nodes, each stored as a tree (union-find).
class Sets {
 public:
  std::size_t Of(const std::string& node) {
    const auto [it, is_new] = ids_.try_emplace(node, parent_.size());
    if (is_new) parent_.push_back(it->second);
    return Root(it->second);
  }
  void Join(const std::string& a, const std::string& b) { parent_[Of(a)] = Of(b); }

 private:
  std::size_t Root(std::size_t id) {
    while (parent_[id] != id) {
      // Halving the paths keeps them short.
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }
  std::map<std::string, std::size_t> ids_;
  std::vector<std::size_t> parent_;
};

/// Returns the nodes of the model that a step computes.
std::vector<std::string> NodesOf(const StepTime& step, const NodeProfile& profile) {
  std::vector<std::string> nodes;
  for (const std::string& name : step.nodes) {
    const auto it = profile.origins.find(name);
    if (it == profile.origins.end()) {
      nodes.push_back(name);
    } else {
      nodes.insert(nodes.end(), it->second.begin(), it->second.end());
    }
  }
  return nodes;
}

}  // namespace

std::optional<double> CommonParts::Ideal() const {
  double sum = 0;
  for (const CommonPart& part : parts) {
    for (const std::optional<double>& micros : part.micros) {
      if (!micros) return std::nullopt;
    }
    sum += *part.micros[part.fastest];
  }
  return sum;
}

CommonParts FindCommonParts(std::span<const NodeProfile> profiles) {
  // Nodes that any profile computes in one step belong to one part, so each step of each profile
  // lies within one part.
  Sets sets;
  const auto join = [&](const std::vector<std::string>& nodes) {
    for (const std::string& node : nodes) sets.Join(node, nodes.front());
  };
  for (const NodeProfile& profile : profiles) {
    for (const StepTime& step : profile.steps) join(NodesOf(step, profile));
    for (const auto& [name, nodes] : profile.origins) join(nodes);
  }
  CommonParts common;
  common.conversions.resize(profiles.size());
  // The time of a part is the sum of its steps; steps without nodes only convert.
  std::map<std::size_t, std::size_t> part_of;  // by root of the set
  std::set<std::string> listed;
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    for (const StepTime& step : profiles[p].steps) {
      const double micros = static_cast<double>(step.time.count()) * 1e-3;
      const std::vector<std::string> nodes = NodesOf(step, profiles[p]);
      if (nodes.empty()) {
        common.conversions[p] += micros;
        continue;
      }
      const auto [it, is_new] = part_of.try_emplace(sets.Of(nodes.front()), common.parts.size());
      if (is_new) {
        common.parts.push_back(
            {.micros = std::vector<std::optional<double>>(profiles.size(), 0.0)});
      }
      CommonPart& part = common.parts[it->second];
      *part.micros[p] += micros;
      for (const std::string& node : nodes) {
        if (listed.insert(node).second) part.nodes.push_back(node);
      }
    }
  }
  // A profile that lacks a node of a part has no time that compares with those of others.
  std::vector<std::set<std::string>> known(profiles.size());
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    for (const auto& [name, nodes] : profiles[p].origins) {
      known[p].insert(nodes.begin(), nodes.end());
    }
  }
  for (CommonPart& part : common.parts) {
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < profiles.size(); ++p) {
      const bool all = std::all_of(part.nodes.begin(), part.nodes.end(),
                                   [&](const std::string& n) { return known[p].contains(n); });
      if (!all) {
        part.micros[p].reset();
      } else if (*part.micros[p] < least) {
        least = *part.micros[p];
        part.fastest = p;
      }
    }
  }
  return common;
}

}  // namespace msc::cost
