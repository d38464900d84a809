#include "cost/partition/roof_bounds.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/passes/narrowing.h"
#include "cost/analytic/least_work.h"

namespace msc::cost {
namespace {

/// The clock may be higher than when the peak was measured.
constexpr double kMargin = 1.1;

/// Returns the peak for the types that the node reads, the highest if there are several.
double PeakFor(const Graph& graph, const Node& node, const Roof& roof) {
  double peak = roof.f32.per_second;
  for (const ValueId input : node.inputs) {
    if (input == kNoValue) continue;
    if (const auto narrow = NarrowSource(graph, input)) {
      peak = std::max(peak, (narrow->form.IsBF16() ? roof.bf16 : roof.int8).per_second);
    }
  }
  return peak;
}

/// Returns a lower bound on the seconds on one thread.
double LeastSeconds(const Graph& graph, NodeId id, const Roof& roof) {
  const double flops = LeastFlops(graph, id);
  return flops == 0 ? 0 : flops / (kMargin * PeakFor(graph, graph.node(id), roof));
}

}  // namespace

void BoundByRoof(const RegionSource& source, const TargetRegistry& targets, const Roof& roof,
                 int threads, CoverProblem& problem) {
  std::map<const RegionSource*, std::vector<double>> seconds;  // by precision
  const auto seconds_of = [&](const RegionSource& own) -> const std::vector<double>& {
    const auto [it, is_new] = seconds.try_emplace(&own);
    if (!is_new) return it->second;
    for (const FlowNode& flow : problem.flow.nodes()) {
      const NodeId id = own.graph().FindNode(flow.name);
      it->second.push_back(id == kNoNode ? 0 : LeastSeconds(own.graph(), id, roof));
    }
    return it->second;
  };
  constexpr double kMicros = 1e6;
  for (CandidateRegion& candidate : problem.candidates) {
    if (!candidate.cost.unknown()) continue;
    const std::vector<double>& least = seconds_of(source.For(candidate.target));
    double sum = 0;
    candidate.nodes.ForEach([&](std::size_t node) { sum += least[node]; });
    // Full use of all threads is the best case, so the bound still holds.
    const int uses = targets.Get(candidate.target).OptionsFor({.threads = threads}).threads;
    const double micros = std::min(kMicros * sum / uses, Cost::kMaxMicros);
    candidate.cost = Cost::Unknown(std::max(micros, candidate.cost.at_least()));
  }
}

}  // namespace msc::cost
