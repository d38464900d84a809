#pragma once

#include <cstdint>

#include "compiler/ir/graph.h"

namespace msc {

struct RandomModelOptions {
  int least_nodes = 2;
  int most_nodes = 14;
};

/// Returns a random graph of f32 operators that infers, runs and keeps its values near 1:
/// convolutions of all kinds, matrix products, attention, LSTMs, pools, reductions, normalisations,
/// GELU, elementwise chains, joins, splits and rearrangements over small odd sizes, with values
/// read several times and several outputs. Every type is static. The same seed gives the same
/// graph.
[[nodiscard]] Graph RandomModel(std::uint64_t seed, const RandomModelOptions& options = {});

}  // namespace msc
