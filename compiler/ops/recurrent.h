#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/ops/infer.h"

namespace msc {

// What LSTM, GRU and RNN share. To reject a node, the functions throw UserError, which names it.

/// Combines `dim` and an axis of an input of rank `rank`, which must be equal; returns the more
/// specific one.
[[nodiscard]] Dim Joined(const InferInput& in, const Dim& dim, std::size_t index, std::size_t rank,
                         std::size_t axis);
/// Rejects an axis 1 that does not consist of `parts` blocks of the hidden size.
void RequireBlocks(const InferInput& in, std::size_t index, std::size_t rank, std::int64_t parts,
                   const Dim& hidden);
/// Returns the number of steps of one sequence of a batch, from the input of lengths, or `steps`
/// without it.
[[nodiscard]] std::size_t StepsOf(const Node& node, const Tensor* lengths, std::size_t sample,
                                  std::size_t steps);

}  // namespace msc
