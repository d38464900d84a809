#pragma once

#include <vector>

#include "compiler/ops/op.h"

namespace msc {

// Kernels of the fused operators; fused.h defines them. Inference has checked shapes and types and
// made `y`.

using FusedInputs = std::span<const Tensor* const>;

void EvalFusedConv(const Node& node, FusedInputs inputs, Tensor& y);
void EvalFusedGemm(const Node& node, FusedInputs inputs, Tensor& y);
void EvalFusedBinary(const Node& node, FusedInputs inputs, Tensor& y);
void EvalFusedPool(const Node& node, FusedInputs inputs, Tensor& y);

}  // namespace msc
