#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/result.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/run_value.h"
#include "compiler/pipeline/compile.h"

namespace msc {

/// Returns the name of the first node whose outputs get their types, sizes or number of tensors
/// only in a run, as of NonZero, NonMaxSuppression, a Loop or a sequence, or that reads or makes
/// strings; nothing if there is none. All sizes of inputs are bound.
[[nodiscard]] std::optional<std::string> FirstDecidedInRun(const Graph& bound);

/// A model of which some sizes are only known in a run. The nodes that do not depend on such sizes
/// are compiled; the interpreter computes the others. Movable. Run is thread-safe.
class PartlyCompiled {
 public:
  /// Compiles the nodes that can be. UserError as Compile, and if the strategy has a partition.
  [[nodiscard]] static Result<PartlyCompiled> Build(const Graph& canonical,
                                                    const Strategy& strategy,
                                                    const TargetRegistry& registry,
                                                    const CompileOptions& options);

  /// Runs the model. Inputs and outputs are in the graph's order.
  [[nodiscard]] std::vector<RunValue> Run(std::span<const Tensor> inputs) const;

  /// Returns the types of the inputs with all sizes bound.
  [[nodiscard]] const std::vector<ValueType>& input_types() const noexcept { return input_types_; }
  [[nodiscard]] std::size_t compiled_nodes() const noexcept { return compiled_nodes_; }
  [[nodiscard]] std::size_t interpreted_nodes() const noexcept { return rest_.order().size(); }

 private:
  PartlyCompiled() = default;

  std::optional<Executable> fixed_;        ///< absent if no node can be compiled
  std::vector<std::size_t> fixed_inputs_;  ///< positions among the inputs
  /// Takes the inputs, then the outputs of `fixed_`.
  Graph rest_;
  std::vector<ValueType> input_types_;
  std::size_t compiled_nodes_ = 0;
};

}  // namespace msc
