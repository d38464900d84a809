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

/// How a model is compiled.
struct CompileOptions {
  int threads = 1;
  /// Sizes of symbolic dimensions of inputs. One that is missing is 1 along the axis of samples
  /// (sample_axes.h); others must be given.
  ShapeBindings bindings = {};
};

/// Applies a strategy to a canonical graph: removes pruned channels, puts in fitted weights, adds
/// Q/DQ and Cast nodes. The result is what is exported. A layer has the precision of its target's
/// option `precision`, if that is given, else that of the strategy (see region_precision.h).
/// UserError if the strategy was made for another graph, or as ApplyFitted.
[[nodiscard]] Graph ApplyStrategy(const Graph& canonical, const Strategy& strategy);

/// Returns the graph with all sizes bound, canonicalized again. Node names in a partition refer to
/// this graph, without the nodes that ApplyStrategy adds. UserError if sizes are missing or given
/// for unknown symbols.
[[nodiscard]] Graph BindSizes(const Graph& graph, const CompileOptions& options);

/// Returns the graph that runs: the graph after ApplyStrategy, bound, lowered and fused for the
/// target.
[[nodiscard]] Graph Lower(const Graph& applied, const Target& target,
                          const CompileOptions& options);

/// Builds a lowered graph. Nodes that `target` does not support run on "native", or else on
/// "reference": those that `native` rejects, and all of them if it cannot be built, as without a
/// C++ compiler. Each maximal run of nodes of one target is one region. Returns expected failures
/// as a Failure instead of throwing.
[[nodiscard]] Result<Executable> BuildExecutable(const Graph& lowered, const Target& target,
                                                 const TargetRegistry& registry,
                                                 const CompileOptions& options);

/// A lowered graph and the targets that run its parts.
struct Lowered {
  Graph graph;
  std::string target;  ///< target of all nodes, if there are no regions
  /// Together they list all nodes in the graph's order; a region is a run of them.
  std::vector<PartitionRegion> regions = {};
};

/// Lowers a graph for the target of the strategy; if there is a partition, lowers every region
/// separately for its own target and joins the results. A value that crosses between regions is
/// narrow if the strategy stores it so, and an image is channels last if the targets' option
/// `images` says so. Nodes get the strategy's schedules. UserError as ApplySchedules, and if
/// regions name nodes that the bound graph does not have, share a node, are empty, or wait for each
/// other.
[[nodiscard]] Lowered LowerFor(const Graph& applied, const Strategy& strategy,
                               const TargetRegistry& registry, const CompileOptions& options);

/// Returns the names of the nodes that their target rejects, which "native" or "reference" runs
/// instead.
[[nodiscard]] std::vector<std::string> RejectedNodes(const Lowered& lowered,
                                                     const TargetRegistry& registry);

/// Works as the other BuildExecutable, but builds every region separately by its target. UserError
/// if the regions are not consecutive runs of all nodes of the graph.
[[nodiscard]] Result<Executable> BuildExecutable(const Lowered& lowered,
                                                 const TargetRegistry& registry,
                                                 const CompileOptions& options);

/// Gives `executable` the weights of `lowered`, which must have been lowered for the same targets
/// and options from the same model with other values of weights. The executable then computes, bit
/// for bit, what BuildExecutable(lowered) would. Nothing is compiled or planned again. Returns a
/// Failure (kUnsupported), with nothing changed, if a target builds its part from graph to runtime
/// in one step, as libraries do, or if values are part of the code. Must not be called while the
/// executable runs.
[[nodiscard]] std::optional<Failure> UpdateConstants(const Lowered& lowered,
                                                     const TargetRegistry& registry,
                                                     const CompileOptions& options,
                                                     Executable& executable);

/// Runs ApplyStrategy, LowerFor and BuildExecutable.
[[nodiscard]] Result<Executable> Compile(const Graph& canonical, const Strategy& strategy,
                                         const TargetRegistry& registry,
                                         const CompileOptions& options);

}  // namespace msc
