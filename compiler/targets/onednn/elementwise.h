#pragma once

// Of this folder only: brings dnnl.hpp (by desc.h).

#include <optional>
#include <vector>

#include "compiler/ops/fused.h"
#include "compiler/targets/onednn/lowering.h"

namespace msc::onednn {

/// One function of one number that the library knows.
struct Function {
  dnnl::algorithm kind = dnnl::algorithm::eltwise_relu;
  float alpha = 0.0F;
  float beta = 0.0F;
};

/// Functions to apply one after the other; empty where the library has none.
[[nodiscard]] std::vector<Function> FunctionsOf(const Graph& graph, const Node& node);
/// The same for the closing function of a fused operator; empty for none and for PRelu.
[[nodiscard]] std::vector<Function> FunctionsOf(const Activation& activation);

/// Steps that apply `functions` to `x` in layout `desc` and write `y`, which may be `x`. False
/// where the library cannot.
[[nodiscard]] bool AddElementwise(Lowering& lowering, const std::vector<Function>& functions,
                                  const Desc& desc, BufferId x, BufferId y, const StepLabel& label);

}  // namespace msc::onednn
