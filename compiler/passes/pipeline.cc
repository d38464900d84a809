#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "compiler/base/formatted.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

// Models so far need 2 to 4 rounds. A graph that needs more stays correct, but is folded less.
constexpr int kMaxRounds = 16;

bool RunLogged(const Pass& pass, Graph& graph, const std::function<void(const std::string&)>& log) {
  const auto start = std::chrono::steady_clock::now();
  const bool changed = pass.run(graph);
  if (log) {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    log(pass.name + ": " + (changed ? "changed" : "unchanged") +
        Formatted(", %.1f ms", took.count()));
  }
  return changed;
}

}  // namespace

std::vector<Pass> CanonicalPasses() {
  return {
      {"widen_f16", WidenF16},
      {"remove_identities", RemoveIdentities},
      {"fold_constants", FoldConstants},
      {"unroll_loops", UnrollLoops},
      {"resolve_sequences", ResolveSequences},
      {"fix_reshape_targets", FixReshapeTargets},
      {"move_transposes", MoveTransposes},
      {"lift_integer_layers", LiftIntegerLayers},
      {"lift_vector_products", LiftVectorProducts},
      {"recognize_lookups", RecognizeLookups},
      {"drop_unread_columns", DropUnreadColumns},
      {"fold_batch_norm", FoldBatchNorm},
      {"fold_into_next_layer", FoldIntoNextLayer},
      {"fold_padding", FoldPadding},
      {"recognize_activations", RecognizeActivations},
      {"recognize_layer_norm", RecognizeLayerNorm},
      {"recognize_global_pools", RecognizeGlobalPools},
      {"cancel_requantization", CancelRequantization},
      {"remove_dead_code", RemoveDeadCode},
  };
}

namespace {

void RunRounds(Graph& graph, const std::function<void(const std::string&)>& log) {
  const std::vector<Pass> passes = CanonicalPasses();
  bool changed = true;
  for (int round = 0; round < kMaxRounds && changed; ++round) {
    changed = false;
    for (const Pass& pass : passes) changed |= RunLogged(pass, graph, log);
    // Folding makes more types known.
    if (changed) InferTypes(graph);
  }
}

}  // namespace

void Canonicalize(Graph& graph, const std::function<void(const std::string&)>& log) {
  RunRounds(graph, log);
  // Once, and not in each round: it canonicalizes the branches, which may have branches.
  if (RunLogged({"flatten_branches", [](Graph& g) { return FlattenBranches(g); }}, graph, log))
    RunRounds(graph, log);
}

}  // namespace msc
