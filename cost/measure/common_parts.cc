#include "cost/measure/common_parts.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>

namespace msc::cost {
namespace {

/// Sets of nodes that grow together: one tree each.
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
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }
  std::map<std::string, std::size_t> ids_;
  std::vector<std::size_t> parent_;
};

}  // namespace

double CommonParts::Ideal() const {
  return std::accumulate(parts.begin(), parts.end(), 0.0, [](double sum, const CommonPart& part) {
    return sum + part.micros[part.fastest];
  });
}

CommonParts FindCommonParts(std::span<const std::vector<StepTime>> profiles) {
  Sets sets;
  for (const std::vector<StepTime>& profile : profiles) {
    for (const StepTime& step : profile) {
      for (const std::string& node : step.nodes) sets.Join(node, step.nodes.front());
    }
  }
  CommonParts common;
  common.conversions.resize(profiles.size());
  std::map<std::size_t, std::size_t> part_of;  // by set
  std::map<std::string, bool> listed;
  for (std::size_t p = 0; p < profiles.size(); ++p) {
    for (const StepTime& step : profiles[p]) {
      const double micros = static_cast<double>(step.time.count()) * 1e-3;
      if (step.nodes.empty()) {
        common.conversions[p] += micros;
        continue;
      }
      const auto [it, is_new] =
          part_of.try_emplace(sets.Of(step.nodes.front()), common.parts.size());
      if (is_new)
        common.parts.push_back({.nodes = {}, .micros = std::vector<double>(profiles.size())});
      CommonPart& part = common.parts[it->second];
      part.micros[p] += micros;
      for (const std::string& node : step.nodes) {
        if (listed.emplace(node, true).second) part.nodes.push_back(node);
      }
    }
  }
  for (CommonPart& part : common.parts) {
    part.fastest = static_cast<std::size_t>(
        std::min_element(part.micros.begin(), part.micros.end()) - part.micros.begin());
  }
  return common;
}

}  // namespace msc::cost
