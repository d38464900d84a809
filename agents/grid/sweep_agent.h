#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Tries every choice of every decision alone, all others at their first, in the order of the
/// decisions; then the best of each together. That is the grid search of TVM's MSC, whose tasks are
/// decisions. Then the same about the best so far, until no single change betters it; after that,
/// changes of the best at random. Where results interact, the best of each need not be good
/// together: what is best is known of what was tried only.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeSweepAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
