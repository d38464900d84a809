#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"
#include "cost/analytic/roof.h"

namespace msc::envs {

/// Upper limit of the machine's arithmetic.
struct ComputeRoof {
  cost::Roof of_thread;  ///< measured on one thread
  int threads = 1;       ///< largest number of threads of a candidate
};

// Lower bounds of metrics over all strategies in which every layer keeps at least the channels that
// `least` keeps, and computes and stores nothing in narrower types. `least` is a strategy for
// `canonical`; it has the smallest choice available for each layer and need not be runnable.

/// Returns `least` with its f32 layers in bf16 if the target option `precision` of one of `specs`
/// asks for bf16.
[[nodiscard]] Strategy NarrowedByTargets(const Graph& canonical, Strategy least,
                                         const std::vector<std::string>& specs);

/// Returns a lower bound of the bytes of constants: the weights of layers only, each tensor once,
/// in the narrowest type that one of its readers uses.
[[nodiscard]] double LeastWeightBytes(const Graph& canonical, const Strategy& least);

/// Returns a lower bound of the milliseconds per call on one sample: the multiplications that no
/// kernel avoids (LeastFlops), at twice the measured peak of the fastest arithmetic that the layer
/// may use. The factor 2 allows for other processes on the cores, which may have halved the
/// measured peak. Nodes that depend only on constants are excluded, as they may be computed
/// beforehand, and so is memory traffic, as data may be in a cache. Nothing if the CPU has faster
/// instructions than those measured (Roof::complete).
[[nodiscard]] std::optional<double> LeastMilliseconds(const Graph& canonical, const Strategy& least,
                                                      const ComputeRoof& roof);

}  // namespace msc::envs
