#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// The range of the integers of an activation.
struct Levels {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
[[nodiscard]] Levels LevelsOf(const TensorScale& scale);

/// Adds a node behind the producer of its first input, so that every reader can be redirected.
/// Returns its output, which has the shape of that input.
ValueId AddBehind(const std::string& name, const char* op, std::vector<ValueId> inputs, DType dtype,
                  Graph& graph, AttrMap attrs = {});

/// Adds QuantizeLinear and DequantizeLinear behind `value`, and a Clip in front of them if `scale`
/// has fewer than 8 bits: QuantizeLinear itself saturates only at 8. Returns the f32 value that
/// they make; redirects no reader.
ValueId AddQuantization(ValueId value, const TensorScale& scale, Graph& graph);

}  // namespace msc
