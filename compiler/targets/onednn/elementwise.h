#pragma once

// Internal to this folder: includes dnnl.hpp through desc.h.

#include <optional>
#include <vector>

#include "compiler/ops/fused.h"
#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

/// An elementwise function of the library.
struct Function {
  dnnl::algorithm kind = dnnl::algorithm::eltwise_relu;
  float alpha = 0.0F;
  float beta = 0.0F;
};

/// Returns the functions to apply in order for an elementwise node; empty if the library has none.
[[nodiscard]] std::vector<Function> FunctionsOf(const Graph& graph, const Node& node);
/// Returns the functions of the activation of a fused operator; empty for none and for PRelu.
[[nodiscard]] std::vector<Function> FunctionsOf(const Activation& activation);

/// Adds steps that apply `functions` to `x` in layout `desc` and write `y`, which may be `x`.
/// Returns false if the library cannot compute one of them.
[[nodiscard]] bool AddElementwise(Lowering& lowering, const std::vector<Function>& functions,
                                  const Desc& desc, BufferId x, BufferId y, const StepLabel& label);

}  // namespace msc::onednn
