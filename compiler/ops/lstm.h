#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/ir/graph.h"

namespace msc {

// LSTM (X, W, R, B?, lengths?, H0?, C0?, P?) -> (Y, Y_h, Y_c); each output is optional. D is the
// number of directions, H the hidden size:
//
//   X [steps, batch, inputs]
//   W [D, 4 H, inputs], R [D, 4 H, H]   a block of H rows for each gate: i, o, f, c
//   B [D, 8 H]                          biases of W's gates, then of R's
//   lengths i32 [batch]                 between 0 and steps; absent: all steps
//   H0, C0 [D, batch, H]                state at the beginning; absent: 0
//   P [D, 3 H]                          peepholes of i, o, f; absent: 0
//   Y [steps, D, batch, H]              h of every step; 0 behind the end of a sequence
//   Y_h, Y_c [D, batch, H]              h and c of the last step
//
//   i = sigmoid(W_i x + R_i h + P_i c + b_i)     f likewise
//   c' = f c + i tanh(W_c x + R_c h + b_c)
//   o = sigmoid(W_o x + R_o h + P_o c' + b_o)    h' = o tanh(c')
//
// The direction "reverse", and the second one of "bidirectional", start at the end of each
// sequence. Unsupported: other activations, clip, input_forget and batch-first tensors (layout 1).
// Source: ONNX operator page LSTM-14.

/// Input positions.
enum LstmInput : std::size_t {
  kLstmX = 0,
  kLstmW = 1,
  kLstmR = 2,
  kLstmB = 3,
  kLstmLengths = 4,
  kLstmH = 5,
  kLstmC = 6,
  kLstmP = 7,
};

/// Order of the gates among the blocks of W, R and B.
enum LstmGate : std::size_t {
  kLstmGateI = 0,
  kLstmGateO = 1,
  kLstmGateF = 2,
  kLstmGateC = 3,
  kLstmGates = 4,
};

/// Returns 1, or 2 for "bidirectional". Throws UserError, which names the node, for another
/// direction.
[[nodiscard]] std::int64_t LstmDirections(const Node& node);

}  // namespace msc
