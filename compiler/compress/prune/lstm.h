#pragma once

#include <cstdint>
#include <vector>

#include "compiler/compress/prune/node_axes.h"
#include "compiler/ir/tensor.h"

namespace msc {

// Pruning of LSTM. A hidden unit consists of its rows of all gates in W, R, B and P, its column in
// R, and its entry in the states and outputs. Both directions of a bidirectional LSTM are in the
// same tensors and must have equal width, so unit k of one direction goes with unit k of the other.

/// Relates the axes of an LSTM node; one of the rules of relations.cc.
void RelateLstm(NodeAxes& node);

/// Returns the weights that compute hidden unit `unit`: its rows of W and R, gate by gate, of all
/// directions. Tensors must be f32.
[[nodiscard]] std::vector<float> LstmUnitWeights(const Tensor& w, const Tensor& r,
                                                 std::int64_t unit);

}  // namespace msc
