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

/// Who makes numbers that are not finite where finite ones are due.
enum class Maker : std::uint8_t {
  kCompression,  ///< the strategy: the reference kernels make them, too
  kTarget,       ///< what was compiled: the reference kernels do not
};

/// An output that is not finite where it should be, and where that begins.
struct NotFinite {
  std::string output;
  std::int64_t values = 0;  ///< of it that are not finite and should be
  std::int64_t of = 0;      ///< all of its values
  Maker maker = Maker::kTarget;
  std::string node;  ///< the first whose result is not finite where it should be; empty: not found
  std::string op;
  std::string detail;  ///< of a target, as Bisect explains it
  bool operator==(const NotFinite&) const = default;
};

/// What ran and what came out.
struct ModelRun {
  const Graph* canonical = nullptr;  ///< uncompressed
  const Strategy* strategy = nullptr;
  const TargetRegistry* targets = nullptr;
  CompileOptions compile;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  const Graph* applied = nullptr;  ///< instead of what ApplyStrategy makes
  bool compiled_here = true;       ///< false: by a library from the file; it is not searched
};

/// Whether all numbers are finite.
[[nodiscard]] bool AllFinite(std::span<const Tensor> tensors);

/// The first output that is not finite where the uncompressed model's is, by its reference kernels;
/// nothing where there is none. Free where all outputs are finite; else runs the model up to three
/// times node by node and, where its target is to blame, bisects it (cost/track/bisect.h).
[[nodiscard]] std::optional<NotFinite> FindNotFinite(const ModelRun& run);

/// Of a compiled stage alone, without the uncompressed model: the first output that is not finite
/// though all inputs are. Whether the uncompressed model's is, it cannot know: kCompression then
/// means that the lowered graph says so itself.
[[nodiscard]] std::optional<NotFinite> FindNotFinite(const TrackStage& stage,
                                                     const TargetRegistry& targets,
                                                     std::span<const Tensor> inputs,
                                                     std::span<const Tensor> outputs);

/// "output 'y' is not finite (3 of 40 values), where the uncompressed model's is: Div 'ratio' ...".
[[nodiscard]] std::string Explain(const NotFinite& found);

}  // namespace msc::cost
