#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Makes an agent that solves the multiple-choice knapsack of an additive model of the problem:
/// exactly if the solver can keep all partial sums, else approximately.
///
/// The solver keeps 4,096 partial sums for declared costs and 1,024 (up to 16 decisions) or 128
/// (beyond) for fitted ones, but 32 if there are more than two sums. With declared costs their
/// front is proposed, the best feasible point first; with estimates theirs, corrected by every
/// result. Otherwise every single change of the best known trial comes first; then each round fits
/// the sums to all results, those near the best counting most, and proposes the best predictions,
/// which corrects the model where it errs. Four a round. Source: H. Kellerer, U. Pferschy, D.
/// Pisinger, "Knapsack problems", 2004, chapter 11.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeIlpAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
