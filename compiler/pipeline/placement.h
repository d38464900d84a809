#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/ops/branches.h"
#include "compiler/pipeline/compile.h"
#include "compiler/targets/target.h"

namespace msc {

/// Consecutive nodes that one target builds as one region, or one choice between branches.
struct TargetRun {
  const Target* target = nullptr;
  std::vector<NodeId> nodes;
  Guards guards = {};  ///< of all its nodes
  bool chooses = false;
};

/// Which target runs which nodes, in graph order.
struct Placement {
  std::vector<TargetRun> runs;
  bool uses_first_fallback = false;
};

/// Targets for nodes that the wanted one rejects, the fastest first.
inline constexpr std::array kFallbackTargets = {std::string_view("native"),
                                                std::string_view("reference")};

/// Returns whether `target` runs a node. If values of inputs decide a shape, it may differ from the
/// declared one. Targets rely on declared shapes, except the reference, which compares the result
/// with them.
[[nodiscard]] bool MayRun(const Target& target, const Graph& graph, NodeId id);

/// Returns the nodes that each target of a lowered graph is to run. UserError if the regions are
/// not consecutive runs of all nodes of the graph.
[[nodiscard]] std::vector<TargetRun> WantedRuns(const Lowered& lowered,
                                                const TargetRegistry& registry);

/// Places each node on the target of `wanted` if that runs it, else on the first of `fallbacks`
/// that does. Branches are runs of their own, so that one can be left out. The Failure names the
/// first node that no target runs.
[[nodiscard]] Result<Placement> PlaceNodes(const Graph& graph, std::span<const TargetRun> wanted,
                                           std::span<const std::string_view> fallbacks,
                                           const TargetRegistry& registry);

}  // namespace msc
