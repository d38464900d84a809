#pragma once

#include <memory>

#include "gym/core/agent.h"

namespace msc::agents {

/// Bayesian optimisation with Gaussian processes over names and amounts.
///
/// In a search for one best answer without limits, two processes of the objective take turns: the
/// one described below, and one that fits a rate for each decision (agents/gp/mixed_process.h).
/// Another process predicts which candidates fail, and the criterion is climbed from the best
/// candidates. Where nothing is known, the first eight trials are random. All other searches work
/// as follows.
///
/// There is one process per objective and constraint. Its kernel adds a sum over decisions to a
/// part that decays with the number of decisions that differ; each decision is weighted by its
/// observed effect. Under limits, the means of processes are the estimates of the problem, scaled
/// to the results. The agent proposes the candidate with the largest expected improvement times the
/// probability that every constraint is kept. Candidates are changes of the best trials, the best
/// predictions of an additive model and random draws, or all remaining assignments of a small
/// space. With several objectives the criterion is the expected hypervolume improvement, under
/// constraints only for every fourth proposal. Rounds have up to four proposals; each takes the
/// predictions for the earlier ones as results (kriging believer).
/// Sources: D. R. Jones et al., "Efficient global optimization", 1998; J. R. Gardner et al.,
/// "Bayesian optimization with inequality constraints", 2014; agents/gp/improvement.h.
[[nodiscard]] std::unique_ptr<gym::Agent> MakeGpAgent(const gym::AgentSetup& setup);

}  // namespace msc::agents
