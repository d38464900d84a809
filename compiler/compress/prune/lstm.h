#pragma once

#include <cstdint>
#include <vector>

#include "compiler/compress/prune/node_axes.h"
#include "compiler/ir/tensor.h"

namespace msc {

// What pruning knows of LSTM. A hidden unit is its rows of all gates in W, R, B and P, its column
// in R, and its entry in the states and outputs. Both directions of a bidirectional one lie in the
// same tensors and stay equally wide: unit k of one goes with unit k of the other.

/// The rule of relations.cc.
void RelateLstm(NodeAxes& node);

/// The weights that make hidden unit `unit`: its rows of W and R, gate by gate, of all directions.
/// f32.
[[nodiscard]] std::vector<float> LstmUnitWeights(const Tensor& w, const Tensor& r,
                                                 std::int64_t unit);

}  // namespace msc
