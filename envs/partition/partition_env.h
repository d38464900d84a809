#pragma once

#include <memory>

#include "compiler/partition/problem.h"
#include "cost/model/evaluator.h"
#include "envs/register.h"
#include "gym/core/env.h"

namespace msc::envs {

/// "Partition-v0": which target computes which node of a model.
///
/// The first decision, "boundary_us", is what a boundary between regions is taken to cost, out of 0
/// and the context's prices; then one decision a node in the order of the context's cover problem,
/// out of the targets that have a candidate with it. An assignment stands for the regions that cost
/// least in sum with those prices, of the candidates of whom each node was given to; where there
/// are none it stands for each node by itself. The evaluator hears of them as Strategy::partition;
/// where one region is all, as Strategy::target.
///
/// Ruled out is a target for a node where by then no candidate of its is left for that node, or for
/// one before it: it may need them together.
///
/// Anchors: each target alone, where it has a candidate for every node. CoverFront: the best cover
/// at each price, by the exact search. Features of a decision, each in [0, 1]: place, kind of
/// operator (OpKind / 6), tensors read / 8, share of the time of all nodes, each where it is
/// fastest, a node having an equal part of its regions' costs; zeros for the price; for latency
/// (StrategyProblem) how far targets are apart in that. The reward of the last step is -(latency
/// ratio) - distill_loss.
///
/// UserError if the context lacks a model, an evaluator or candidates, one of these has an unknown
/// cost, or no cover exists, or a price is negative or there twice.
[[nodiscard]] std::unique_ptr<gym::Env> MakePartitionEnv(const EnvContext& context);

/// Judges the partition of a strategy by what its regions cost in `problem`, and its boundaries by
/// `boundary_micros` each: no measuring. A Failure where a region is no candidate of the problem or
/// cannot run. Ratios are to the cheapest candidate that is the whole graph; where there is none,
/// to a microsecond.
[[nodiscard]] std::unique_ptr<cost::Evaluator> MakeCoverEvaluator(
    std::shared_ptr<const CoverProblem> problem, double boundary_micros = 0);

}  // namespace msc::envs
