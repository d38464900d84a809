#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// A constant that replaces the one that input `input` of a node reads.
struct FittedWeight {
  std::string node;  ///< name of the node in the graph after pruning
  std::int64_t input = 0;
  Tensor values;  ///< f32, finite, with the dims of the replaced constant
  bool operator==(const FittedWeight&) const = default;
};

/// Weights that belong to one strategy; FitPlan::weights is their digest.
///
/// As a file: the line "msc-weights-1", a line of JSON with the node, input and dims of each, and
/// their values one after another, little-endian.
struct FittedWeights {
  std::vector<FittedWeight> weights;
};
[[nodiscard]] std::string ToBytes(const FittedWeights& fitted);
/// Parses such a file. UserError that starts with `what` for anything else. Memory is proportional
/// to `bytes`.
[[nodiscard]] FittedWeights FittedFromBytes(std::string_view bytes, const std::string& what);

/// Returns the constants of `fitted`, a graph with the nodes of `plain`, that differ from those of
/// `plain`.
[[nodiscard]] FittedWeights ChangedConstants(const Graph& plain, const Graph& fitted);

/// Gives the strategy these weights and their digest.
void SetFitted(FittedWeights fitted, Strategy& strategy);
/// Puts the weights into a graph from which the strategy's channels were removed. Does nothing if
/// `fit` is empty. UserError if the weights were not read or not made yet, or do not fit the graph.
void ApplyFitted(const FitPlan& fit, Graph& pruned);

/// Writes the weights of a strategy that has them. SystemError if that fails.
void SaveFitted(const Strategy& strategy, const std::string& file);
/// Reads the weights. UserError if the file is missing or is not the one that the strategy names.
void LoadFitted(const std::string& file, Strategy& strategy);

/// Writes strategy.json and, if the strategy has fitted weights, strategy.weights beside it: `path`
/// with another extension.
void SaveStrategy(const Strategy& strategy, const std::string& path);
/// Notes in the file the shapes of the inputs of the canonical graph that the strategy is for, so
/// that ApplyStrategy can say which sizes differ.
void SaveStrategyFor(const Graph& canonical, const Strategy& strategy, const std::string& path);
/// Reads both files. UserError that names the faulty file, also if the strategy assigns nodes to
/// targets but has no model_hash.
[[nodiscard]] Strategy LoadStrategy(const std::string& path);

}  // namespace msc
