#pragma once

#include <cstdint>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// Rows [first, first + count) of the outermost dimension. UserError if they are not all there.
[[nodiscard]] Tensor Rows(const Tensor& tensor, std::int64_t first, std::int64_t count);

/// How many samples a compiled graph takes at a time when `wanted` are asked for: the outermost
/// dimension of the first input where the model fixes it, else `wanted`. UserError without inputs.
[[nodiscard]] std::int64_t BatchSize(const Graph& graph, std::int64_t wanted);

/// Binds the symbolic outermost dimension of every input to `batch`; empty where none is symbolic.
[[nodiscard]] ShapeBindings BatchBindings(const Graph& graph, std::int64_t batch);

}  // namespace msc
