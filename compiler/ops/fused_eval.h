#pragma once

#include <vector>

#include "compiler/ops/op.h"

namespace msc {

// Kernels of the fused operators; shapes and types were checked by inference, which also made `y`.
// See fused.h for the meaning.

using FusedInputs = std::span<const Tensor* const>;

void EvalFusedConv(const Node& node, FusedInputs inputs, Tensor& y);
void EvalFusedGemm(const Node& node, FusedInputs inputs, Tensor& y);
void EvalFusedBinary(const Node& node, FusedInputs inputs, Tensor& y);
void EvalFusedPool(const Node& node, FusedInputs inputs, Tensor& y);

}  // namespace msc
