#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent with a multivariate tree-structured Parzen estimator over categorical decisions.
///
/// It fits one density to the best trials (IsBetterTrial) and one to the rest, each a mixture with
/// a kernel per trial. Of many draws from the first density it proposes the one with the largest
/// ratio of the first to the second. Proposals of the same round count as bad for each other
/// (constant liar), so that a round of 4 spreads. The first 5 trials are random unless there are as
/// many earlier results.
/// Source: J. Bergstra et al., "Algorithms for hyper-parameter optimization", 2011, section 4; S.
/// Falkner, A. Klein, F. Hutter, "BOHB", 2018, section 3 (one multivariate density).
[[nodiscard]] std::unique_ptr<gym::Agent> MakeTpeAgent(const gym::AgentSetup& setup);

/// Makes the same agent for the front of all objectives: good trials are those that NSGA-II would
/// keep.
/// Source: Y. Ozaki et al., "Multiobjective tree-structured Parzen estimator", 2022, section 3.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeMotpeAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
