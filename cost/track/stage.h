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

/// One form of a model on its way to what runs.
struct TrackStage {
  std::string name;
  /// The graph, and who runs it; without a target the reference kernels do, node by node.
  Lowered model;
  int threads = 1;
  [[nodiscard]] bool compiled() const { return !model.target.empty(); }
};

/// "baseline": the canonical graph with its sizes bound.
[[nodiscard]] TrackStage BaselineStage(const Graph& canonical, const CompileOptions& options);
/// "optimized": after the strategy, still in operators of ONNX.
[[nodiscard]] TrackStage OptimizedStage(const Graph& canonical, const Strategy& strategy,
                                        const CompileOptions& options);
/// Lowered, fused and compiled for the strategy's target, whose name it has.
[[nodiscard]] TrackStage CompiledStage(const Graph& canonical, const Strategy& strategy,
                                       const TargetRegistry& registry,
                                       const CompileOptions& options);

/// Values that a stage makes and that can be compared, in its order: every first output of a node.
[[nodiscard]] std::vector<std::string> TrackedValues(const TrackStage& stage);

/// Runs a stage and shows the named values, in order. In a compiled stage they are made outputs:
/// nodes stay as they were fused, but memory is planned anew around them. UserError where the
/// stage does not compile or the inputs do not fit.
void Collect(const TrackStage& stage, std::span<const std::string> names,
             std::span<const Tensor> inputs, const TargetRegistry& registry,
             const std::function<void(const std::string& name, const Tensor& value)>& visit);

/// How far a value is from what it should be.
struct TensorError {
  std::string name;
  std::string op;  ///< of the node that makes it in the stage under test
  Dims dims;
  double largest = 0;           ///< max |got - wanted|
  double relative = 0;          ///< that over (max - min) of what was wanted
  double noise = 0;             ///< root of mean square of got - wanted over that of wanted
  double cosine = 1;            ///< of the angle between both
  std::int64_t not_finite = 0;  ///< values that are not finite where they should be, or otherwise
};
/// Errors are infinite where `not_finite` > 0. Both have equal dims; `wanted` as AsNumbers gives.
[[nodiscard]] TensorError CompareNumbers(const Tensor& wanted, const Tensor& got);

/// A stage against one that is in the store.
struct StageComparison {
  std::string stage;
  std::string reference;
  std::vector<TensorError> errors;        ///< values that both have, in the stage's order
  std::vector<std::string> other_shapes;  ///< in both, but with other sizes or types: channels gone
  std::optional<std::size_t> first;       ///< the first of `errors` above the tolerance
};
/// Collects `names` of the stage (all of TrackedValues where empty), compares those that
/// `reference` has, and keeps them in the store for later stages. `tolerance` is relative.
[[nodiscard]] StageComparison CompareStage(const TrackStage& stage, const std::string& reference,
                                           std::span<const std::string> names,
                                           std::span<const Tensor> inputs, double tolerance,
                                           const TargetRegistry& registry, TrackStore& store);

}  // namespace msc::cost
