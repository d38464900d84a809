#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/sample_source.h"

namespace msc {

/// Returns how many samples ObserveValues should run at a time, at most `most`, so that the named
/// values of a batch, and what the part of `graph` that computes them needs besides, take about
/// `most_bytes`. At least 1. Reads the first sample of each group. `most` if the model fixes its
/// batch, or if no shapes are known.
[[nodiscard]] std::int64_t FittingBatch(const Graph& graph, std::span<const std::string> values,
                                        const SampleSource& samples, std::int64_t most,
                                        double most_bytes = 256.0 * (1U << 20U));

}  // namespace msc
