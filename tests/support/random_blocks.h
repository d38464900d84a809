#pragma once

#include "tests/support/model_writer.h"

namespace msc {

// What exporters write of several operators and fusion looks for as one. `x` has any static type
// that the comment allows.

/// Attention of [batch, steps, depth] on itself: heads or none, a mask or none, the scale on either
/// side.
void AddAttention(ModelWriter& model, ValueId x);

/// GELU by Erf or by Tanh, in one of the orders that exporters write it in.
void AddGelu(ModelWriter& model, ValueId x);

/// (x - mean) / sqrt(variance + 0.1) over the last axis, with gain and shift.
void AddWrittenLayerNorm(ModelWriter& model, ValueId x);

}  // namespace msc
