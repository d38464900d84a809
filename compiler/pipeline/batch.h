#pragma once

#include <cstdint>
#include <optional>

#include "compiler/ir/graph.h"
#include "compiler/ir/tensor.h"

namespace msc {

/// Rows [first, first + count) of the outermost dimension. UserError if they are not all there.
[[nodiscard]] Tensor Rows(const Tensor& tensor, std::int64_t first, std::int64_t count);

/// The outermost dimension of the first input where the model fixes it. UserError without inputs.
[[nodiscard]] std::optional<std::int64_t> FixedBatch(const Graph& graph);

/// How many samples a compiled graph takes at a time when `wanted` are asked for: those that the
/// model fixes, else `wanted`. UserError without inputs.
[[nodiscard]] std::int64_t BatchSize(const Graph& graph, std::int64_t wanted);

/// A batch size that leaves none of `count` samples over: the largest one between half of `most`
/// and `most`, else `most`, after which there is a smaller batch. All are at least 1.
[[nodiscard]] std::int64_t EvenBatch(std::int64_t count, std::int64_t most);

/// Binds the symbolic outermost dimension of every input to `batch`; empty where none is symbolic.
[[nodiscard]] ShapeBindings BatchBindings(const Graph& graph, std::int64_t batch);

}  // namespace msc
