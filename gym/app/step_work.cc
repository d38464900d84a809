#include "gym/app/step_work.h"

#include <cstddef>

namespace msc::gym {

std::vector<OpCost> WorkOf(std::span<const StepTime> steps,
                           const std::map<std::string, OpCost>& costs) {
  std::map<std::string, std::size_t> own;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::string& node : steps[i].nodes) {
      const auto it = own.emplace(node, i).first;
      const StepTime& before = steps[it->second];
      if (steps[i].name == before.name && steps[i].time > before.time) it->second = i;
    }
  }
  std::vector<OpCost> work(steps.size());
  for (const auto& [node, step] : own) {
    const auto it = costs.find(node);
    if (it == costs.end()) continue;
    work[step].flops += it->second.flops;
    work[step].bytes += it->second.bytes;
  }
  return work;
}

}  // namespace msc::gym
