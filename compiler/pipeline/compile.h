#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/runtime/executable.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

struct CompileOptions {
  int threads = 1;
  /// Sizes of symbolic dimensions; one that is not named is 1.
  ShapeBindings bindings;
};

/// Canonical graph + strategy -> graph without the pruned channels, with the weights fitted to that
/// and with Q/DQ and Cast nodes: what is exported. Layers have the precision that the option
/// precision of their target asks for, else that of the strategy (see region_precision.h).
/// UserError if the strategy was made for another graph, or as ApplyFitted.
[[nodiscard]] Graph ApplyStrategy(const Graph& canonical, const Strategy& strategy);

/// The graph with every size known, canonical again: what the names of a partition refer to, but
/// for the nodes that ApplyStrategy adds. UserError where sizes are missing or of unknown symbols.
[[nodiscard]] Graph BindSizes(const Graph& graph, const CompileOptions& options);

/// The graph after ApplyStrategy, bound, lowered and fused for the target: what runs.
[[nodiscard]] Graph Lower(const Graph& applied, const Target& target,
                          const CompileOptions& options);

/// Lowered graph -> executable. Nodes that `target` does not support run on "reference" if the
/// registry has it; each maximal run of nodes of one target is one region. Expected failures are a
/// Failure; none throws.
[[nodiscard]] Result<Executable> BuildExecutable(const Graph& lowered, const Target& target,
                                                 const TargetRegistry& registry,
                                                 const CompileOptions& options);

/// What runs: a lowered graph, and who runs what of it.
struct Lowered {
  Graph graph;
  std::string target;  ///< who runs it all, where there are no regions
  /// Names of all nodes in the graph's order: a region is a run of them.
  std::vector<PartitionRegion> regions;
};

/// Lower for the target of the strategy; with a partition, every region by itself for its own
/// target, and joined again. A value that crosses is narrow where the strategy stores it so, and an
/// image channels last where the targets' option images says so. Nodes carry the schedules of the
/// strategy. UserError as ApplySchedules, and if regions name nodes that the bound graph does not
/// have, share one, have none, or need each other's results in a circle.
[[nodiscard]] Lowered LowerFor(const Graph& applied, const Strategy& strategy,
                               const TargetRegistry& registry, const CompileOptions& options);

/// Names of the nodes that who is to run them refuses: "reference" runs those instead.
[[nodiscard]] std::vector<std::string> RefusedNodes(const Lowered& lowered,
                                                    const TargetRegistry& registry);

/// BuildExecutable with every region built as one by its target; UserError if a region is not a run
/// of nodes of the graph.
[[nodiscard]] Result<Executable> BuildExecutable(const Lowered& lowered,
                                                 const TargetRegistry& registry,
                                                 const CompileOptions& options);

/// Gives `executable` the weights of `lowered`, which was lowered for the same targets and options
/// from the same model but for values of weights: it then computes, bit for bit, what
/// BuildExecutable(lowered) would. Nothing is compiled or planned again. A Failure (kUnsupported),
/// and nothing changed, where a part is run by a target that goes from graph to runtime in one
/// step, as libraries do, or where the values are part of the code. Not while it runs.
[[nodiscard]] std::optional<Failure> UpdateConstants(const Lowered& lowered,
                                                     const TargetRegistry& registry,
                                                     const CompileOptions& options,
                                                     Executable& executable);

/// All three steps.
[[nodiscard]] Result<Executable> Compile(const Graph& canonical, const Strategy& strategy,
                                         const TargetRegistry& registry,
                                         const CompileOptions& options);

}  // namespace msc
