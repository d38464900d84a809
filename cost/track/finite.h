#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"
#include "compiler/pipeline/compile.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/track/stage.h"

namespace msc::cost {

/// Origin of values that are not finite where the uncompressed model has finite ones.
enum class Maker : std::uint8_t {
  kCompression,  ///< the strategy: the reference kernels compute them as well
  kTarget,       ///< the compiled model: the reference kernels do not compute them
};

/// An output with values that should be finite and are not, and the first node that produces such
/// values.
struct NotFinite {
  std::string output;
  std::int64_t values = 0;  ///< count of these values
  std::int64_t of = 0;      ///< count of all values of the output
  Maker maker = Maker::kTarget;
  /// The first node whose result is not finite where it should be; empty if not found.
  std::string node;
  std::string op;
  std::string detail;  ///< explanation by Bisect, if the target is the origin
  bool operator==(const NotFinite&) const = default;
};

/// A run of a model, with its inputs and outputs.
struct ModelRun {
  const Graph* canonical = nullptr;  ///< uncompressed
  const Strategy* strategy = nullptr;
  const TargetRegistry* targets = nullptr;
  CompileOptions compile;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  const Graph* applied = nullptr;  ///< replaces the result of ApplyStrategy, if set
  /// False if a library compiled the model file itself; such a model is not bisected.
  bool compiled_here = true;
};

/// Returns whether all numbers are finite.
[[nodiscard]] bool AllFinite(std::span<const Tensor> tensors);

/// Returns the first output that is not finite although the uncompressed model, computed by the
/// reference kernels, is finite there; nothing if there is none. Costs nothing if all outputs are
/// finite. Otherwise it runs the model up to three times node by node and bisects a target that is
/// the origin (cost/track/bisect.h).
[[nodiscard]] std::optional<NotFinite> FindNotFinite(const ModelRun& run);

/// Does the same for a compiled stage without the uncompressed model: returns the first output that
/// is not finite although all inputs are. Without the uncompressed model, kCompression only means
/// that the lowered graph itself computes these values.
[[nodiscard]] std::optional<NotFinite> FindNotFinite(const TrackStage& stage,
                                                     const TargetRegistry& targets,
                                                     std::span<const Tensor> inputs,
                                                     std::span<const Tensor> outputs);

/// Returns a message such as "output 'y' is not finite (3 of 40 values); first of all the result of
/// Div 'ratio' is not: ...".
[[nodiscard]] std::string CauseText(const NotFinite& found);

}  // namespace msc::cost
