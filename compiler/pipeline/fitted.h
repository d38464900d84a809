#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// A constant that takes the place of the one that input `input` of a node reads.
struct FittedWeight {
  std::string node;  ///< by name, in the graph after pruning
  std::int64_t input = 0;
  Tensor values;  ///< f32, finite, of the dims of what it replaces
  bool operator==(const FittedWeight&) const = default;
};

/// Weights that belong to one strategy: what FitPlan::weights is the digest of.
///
/// As a file: the line "msc-weights-1", a line of JSON that lists node, input and dims of each, and
/// their values one after another, little-endian.
struct FittedWeights {
  std::vector<FittedWeight> weights;
};
[[nodiscard]] std::string ToBytes(const FittedWeights& fitted);
/// UserError that starts with `what` for anything but such a file. Memory in proportion to `bytes`.
[[nodiscard]] FittedWeights FittedFromBytes(std::string_view bytes, const std::string& what);

/// What `fitted`, a graph with the nodes of `plain`, has for other constants.
[[nodiscard]] FittedWeights ChangedConstants(const Graph& plain, const Graph& fitted);

/// Gives the strategy these weights and their digest.
void SetFitted(FittedWeights fitted, Strategy& strategy);
/// Puts the weights into a graph that the strategy's channels were removed from. Nothing without
/// fit. UserError where the weights were not read or are still to be made, or do not fit the graph.
void ApplyFitted(const FitPlan& fit, Graph& pruned);

/// Writes the weights of a strategy that has them; SystemError.
void SaveFitted(const Strategy& strategy, const std::string& file);
/// Reads them. UserError if the file is missing or is not the one that the strategy names.
void LoadFitted(const std::string& file, Strategy& strategy);

/// Writes strategy.json and, where it has fitted weights, strategy.weights beside it: `path` with
/// another ending.
void SaveStrategy(const Strategy& strategy, const std::string& path);
/// Reads both. UserError naming the file at fault, also where it gives nodes to targets and has no
/// model_hash.
[[nodiscard]] Strategy LoadStrategy(const std::string& path);

}  // namespace msc
