#include "compiler/pipeline/schedule.h"

#include <algorithm>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/op.h"

namespace msc {
namespace {

/// Returns the target that runs a node of a lowered graph.
const std::string& RunnerOf(const Lowered& lowered, const std::string& node) {
  for (const PartitionRegion& region : lowered.regions) {
    if (std::find(region.nodes.begin(), region.nodes.end(), node) != region.nodes.end()) {
      return region.target;
    }
  }
  return lowered.target;
}

[[noreturn]] void Reject(const std::string& node, const KernelSchedule& schedule,
                         const std::string& target, const KernelChoices& choices) {
  std::string text = target + " cannot write the kernel of '" + node + "' as '" + Name(schedule);
  if (choices.schedules.empty()) throw UserError(text + "': it has no choice there");
  text += "': that does not fit '" + choices.kernel + "' on this machine, where " +
          std::to_string(choices.schedules.size()) + " others do, such as '" +
          Name(choices.schedules.front()) + "'";
  throw UserError(text + "; search again, or leave 'schedules' of the strategy out");
}

}  // namespace

std::vector<ScheduledKernel> FindKernels(const Lowered& lowered, const TargetRegistry& registry) {
  std::map<std::string, std::string> runners;
  for (const PartitionRegion& region : lowered.regions) {
    for (const std::string& node : region.nodes) runners.emplace(node, region.target);
  }
  std::vector<ScheduledKernel> kernels;
  std::map<std::string, std::size_t> known;
  const Graph& graph = lowered.graph;
  for (const NodeId id : graph.order()) {
    const auto runner = runners.find(graph.node(id).name);
    const std::string& spec = runner == runners.end() ? lowered.target : runner->second;
    const Target& target = registry.Get(spec);
    if (!target.Supports(graph, id)) continue;
    KernelChoices choices = target.Schedules(graph, id);
    if (choices.schedules.size() < 2) continue;
    // The same name may mean different kernels with other options of a target.
    if (spec != lowered.target) choices.kernel += " on " + spec;
    const auto [it, is_new] = known.emplace(choices.kernel, kernels.size());
    if (is_new) {
      kernels.push_back({.kernel = std::move(choices.kernel),
                         .flops = 0,
                         .choices = std::move(choices.schedules)});
    }
    ScheduledKernel& kernel = kernels[it->second];
    kernel.layers.push_back(graph.node(id).name);
    kernel.flops += CostOf(graph, id).flops;
  }
  return kernels;
}

void ApplySchedules(const std::map<std::string, KernelSchedule>& schedules,
                    const TargetRegistry& registry, Lowered& lowered) {
  for (const auto& [name, schedule] : schedules) {
    const NodeId id = lowered.graph.FindNode(name);
    if (id == kNoNode) {
      throw UserError("the strategy has a schedule for '" + name +
                      "', and there is no such node in what runs");
    }
    const std::string& spec = RunnerOf(lowered, name);
    const KernelChoices choices = registry.Get(spec).Schedules(lowered.graph, id);
    const auto& all = choices.schedules;
    if (std::find(all.begin(), all.end(), schedule) == all.end()) {
      Reject(name, schedule, spec, choices);
    }
    lowered.graph.SetAttr(id, kScheduleAttr, ToText(schedule));
  }
}

}  // namespace msc
