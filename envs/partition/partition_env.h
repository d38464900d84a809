#pragma once

#include <memory>
#include <vector>

#include "compiler/partition/problem.h"
#include "envs/common/model_context.h"
#include "envs/common/strategy_problem.h"

namespace msc::envs {

/// The model of a problem of partitions.
struct PartitionContext : ModelContext {
  std::shared_ptr<const CoverProblem> cover = {};  ///< candidate regions of targets, with costs
  /// Prices of a boundary between regions to choose from besides 0, in microseconds.
  std::vector<double> boundary_prices = {1, 3, 10, 30, 100, 1000, 1e6};
};

/// Makes the problem of "Partition-v0": which target computes each node of a model.
///
/// The first decision, "boundary_us", is the assumed price of a boundary between regions: 0 or one
/// of the context's prices. Then there is one decision per node, in the order of the context's
/// cover problem, out of the targets that have a candidate region with the node. An assignment
/// stands for the cheapest cover at that price whose regions are candidates of the targets chosen
/// for their nodes; if there is none, for one region per node. The evaluator receives the regions
/// as Strategy::partition, or a single region as Strategy::target.
///
/// The mask excludes a target for a node if the choices so far leave none of its candidates for
/// that node or for an earlier one: a target may support some nodes only together.
///
/// Anchors: each target alone, if it has a candidate for every node. CoverFront: the best cover at
/// each price, by the exact search.
///
/// Features of a decision, each in [0, 1]: position, kind of operator (OpKind / 6), tensors read /
/// 8, and the share in the total time of all nodes, each on its fastest target, where a node has an
/// equal part of its region's cost; zeros for the price. The relevance, used for latency
/// (StrategyProblem), is the difference of that time between the slowest and the fastest target.
///
/// Throws UserError if the context lacks a model, an evaluator or candidates, the cost of a
/// candidate is unknown, no cover exists, or a price is negative or listed twice.
[[nodiscard]] std::unique_ptr<StrategyProblem> MakePartitionProblem(
    const PartitionContext& context);

}  // namespace msc::envs
