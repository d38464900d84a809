#pragma once

#include <functional>
#include <memory>
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

/// Canonical graph + strategy -> graph without the pruned channels and with Q/DQ and Cast nodes:
/// what is exported.
/// UserError if the strategy was made for another graph.
[[nodiscard]] Graph ApplyStrategy(const Graph& canonical, const Strategy& strategy);

/// The graph after ApplyStrategy, bound, lowered and fused for the target: what runs.
[[nodiscard]] Graph Lower(const Graph& applied, const Target& target,
                          const CompileOptions& options);

/// Lowered graph -> executable. Nodes that `target` does not support run on "reference" if the
/// registry has it; each maximal run of nodes of one target is one region. Expected failures are a
/// Failure; none throws.
[[nodiscard]] Result<Executable> BuildExecutable(const Graph& lowered, const Target& target,
                                                 const TargetRegistry& registry,
                                                 const CompileOptions& options);

/// All three steps.
[[nodiscard]] Result<Executable> Compile(const Graph& canonical, const Strategy& strategy,
                                         const TargetRegistry& registry,
                                         const CompileOptions& options);

}  // namespace msc
