#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Bayesian optimisation with Gaussian processes over categories.
///
/// One process an objective and constraint; the kernel adds a part that is a sum over decisions to
/// one that falls with the number of decisions that differ, each decision weighted by what it was
/// seen to do. Proposed is what has the largest expected improvement times the probability of
/// keeping every constraint, among changes of the best, an additive model's favourites and random
/// draws; among all that is left where that is not much. With several objectives it is the
/// expected improvement of hypervolume, under constraints for every fourth proposal.
/// Four a round, each taking the expected results of those before it as real (kriging believer).
/// Sources: D. R. Jones et al., "Efficient global optimization", 1998; J. R. Gardner et al.,
/// "Bayesian optimization with inequality constraints", 2014; agents/gp/improvement.h.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeGpAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
