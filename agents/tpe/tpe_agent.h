#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Tree-structured Parzen estimator, multivariate, over categories.
///
/// Two densities over assignments, of the best trials (Better) and of the rest, each a mixture of
/// one kernel a trial; proposed is, of many draws from the first, the one with the largest ratio of
/// the first to the second. Proposals of the same round count as bad for each other (constant
/// liar), so a round of 4 spreads. The first 5 trials are random unless as many are told before.
/// Source: J. Bergstra et al., "Algorithms for hyper-parameter optimization", 2011, section 4; S.
/// Falkner, A. Klein, F. Hutter, "BOHB", 2018, section 3 (one multivariate density).
[[nodiscard]] std::unique_ptr<gym::Agent> MakeTpeAgent(const gym::AgentSetup& setup);

/// The same in search of the front of all objectives: good are the trials that NSGA-II would keep.
/// Source: Y. Ozaki et al., "Multiobjective tree-structured Parzen estimator", 2022, section 3.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeMotpeAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
