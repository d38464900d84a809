#pragma once

#include "tests/support/model_writer.h"

namespace msc {

// Groups of operators that exporters write and that fusion recognises as one operator. `x` may have
// any static type that the comment allows.

/// Adds self-attention over [batch, steps, depth]: with or without heads and mask, with the scale
/// on either side.
void AddAttention(ModelWriter& model, ValueId x);

/// Adds GELU by Erf or by Tanh, in one of the orders that exporters write.
void AddGelu(ModelWriter& model, ValueId x);

/// Adds (x - mean) / sqrt(variance + 0.1) over the last axis, with gain and shift.
void AddWrittenLayerNorm(ModelWriter& model, ValueId x);

}  // namespace msc
