#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"
#include "cost/analytic/roof.h"

namespace msc::envs {

/// What a machine computes at most.
struct ComputeRoof {
  cost::Roof of_thread;  ///< measured on one thread
  int threads = 1;       ///< that a candidate runs on, at most
};

// Lower bounds of what any strategy is measured to have that has, of every layer, at least the
// channels that `least` leaves it, and nothing computed or stored narrower than there. `least` is a
// strategy of `canonical` which need not run: of each layer it takes the least that is offered.

/// `least` with every layer as narrow as the option `precision` of one of these targets asks for.
[[nodiscard]] Strategy NarrowedByTargets(const Graph& canonical, Strategy least,
                                         const std::vector<std::string>& specs);

/// Bytes of constants: the weights of layers alone, each once, in the narrowest type that one of
/// its readers takes.
[[nodiscard]] double LeastWeightBytes(const Graph& canonical, const Strategy& least);

/// Milliseconds a call on one sample: the multiplications that no kernel goes without (LeastFlops),
/// at twice the measured peak of the fastest arithmetic that the layer may have. Twice, as whoever
/// else was on the cores may have halved the peak. What nothing but constants goes into counts
/// nothing, as it may be computed beforehand; nor do bytes, which may be in any cache. Nothing
/// where the CPU has faster instructions than were tried (Roof::complete).
[[nodiscard]] std::optional<double> LeastMilliseconds(const Graph& canonical, const Strategy& least,
                                                      const ComputeRoof& roof);

}  // namespace msc::envs
