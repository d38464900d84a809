#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/pipeline/compile.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/track/store.h"

namespace msc::cost {

/// One form of a model between the ONNX file and the compiled executable.
struct TrackStage {
  std::string name;
  /// The graph and its target. Without a target, the reference kernels run it node by node.
  Lowered model;
  int threads = 1;
  [[nodiscard]] bool compiled() const { return !model.target.empty(); }
};

/// Returns the stage "baseline": the canonical graph with its sizes bound.
[[nodiscard]] TrackStage BaselineStage(const Graph& canonical, const CompileOptions& options);
/// Returns the stage "optimized": the graph after the strategy, still in ONNX operators.
[[nodiscard]] TrackStage OptimizedStage(const Graph& canonical, const Strategy& strategy,
                                        const CompileOptions& options);
/// Returns the stage lowered and fused for the strategy's target, which gives it its name.
[[nodiscard]] TrackStage CompiledStage(const Graph& canonical, const Strategy& strategy,
                                       const TargetRegistry& registry,
                                       const CompileOptions& options);

/// Returns the values that a stage computes and that can be compared, in its order: the first
/// output of every node, if it is a number.
[[nodiscard]] std::vector<std::string> TrackedValues(const TrackStage& stage);

/// Runs a stage and passes the named values to `visit`: in the order of `names` for a compiled
/// stage, else in the order of the graph. In a compiled stage the values become outputs; fusion
/// stays as it is, but memory is planned again. UserError if a value is missing, if the stage does
/// not compile or if the inputs do not fit.
void CollectValues(const TrackStage& stage, std::span<const std::string> names,
                   std::span<const Tensor> inputs, const TargetRegistry& registry,
                   const std::function<void(const std::string& name, const Tensor& value)>& visit);

/// Error of a value against its reference.
struct TensorError {
  std::string name;
  std::string op;  ///< operator of the node that computes it in the tested stage
  Dims dims;
  double largest = 0;   ///< max |got - wanted|
  double relative = 0;  ///< largest / (max - min) of the reference
  double noise = 0;     ///< root mean square of got - wanted / root mean square of the reference
  double cosine = 1;    ///< cosine of the angle between both
  /// Count of values that are finite on one side only, or not finite in different ways.
  std::int64_t not_finite = 0;
};
/// Returns the errors; they are infinite if `not_finite` > 0. Both tensors need equal dims;
/// `wanted` must come from AsNumbers.
[[nodiscard]] TensorError CompareNumbers(const Tensor& wanted, const Tensor& got);

/// Comparison of a stage with a stage in the store.
struct StageComparison {
  std::string stage;
  std::string reference;
  std::vector<TensorError> errors;  ///< of values that both stages have, in the stage's order
  /// Values in both stages with other sizes or types, for example without pruned channels.
  std::vector<std::string> other_shapes;
  std::optional<std::size_t> first;  ///< index of the first of `errors` above the tolerance
};
/// Collects `names` of the stage (all TrackedValues if empty), compares those that `reference` also
/// has, and stores them for later stages. `tolerance` applies to TensorError::relative.
[[nodiscard]] StageComparison CompareStage(const TrackStage& stage, const std::string& reference,
                                           std::span<const std::string> names,
                                           std::span<const Tensor> inputs, double tolerance,
                                           const TargetRegistry& registry, TrackStore& store);

}  // namespace msc::cost
