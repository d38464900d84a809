#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Solves the multiple-choice knapsack that additive costs make of the problem: exactly where no
/// more partial sums are needed than it keeps, else nearly.
///
/// It keeps 4,096 where the problem declares one objective and one constraint, or two objectives;
/// 1,024 of what it measured itself up to 16 decisions and 128 beyond; 32 of more than two sums.
/// Where the problem declares its costs, their front is proposed as it is, the best feasible point
/// first; where it has estimates, theirs, mended by every result. Elsewhere every single change of
/// the best told is tried first; sums of the effects seen are then solved anew each round, fitted
/// to all results, those near the best counting most, and the favourites measured: so the model is
/// mended where it errs. Four a round. Source: H. Kellerer, U. Pferschy, D. Pisinger, "Knapsack
/// problems", 2004, chapter 11.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeIlpAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
