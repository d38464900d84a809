#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/partition/problem.h"
#include "cost/model/evaluator.h"

namespace msc::envs {

/// Computes the cost of a strategy's partition from the costs of its regions in a problem and
/// `boundary_micros` for each boundary, without measuring. The result is a Failure if a region is
/// not a candidate of the problem or cannot run. Ratios are relative to the cheapest candidate that
/// is the whole graph, or to one microsecond if there is none.
class CoverEvaluator final : public cost::Evaluator {
 public:
  explicit CoverEvaluator(std::shared_ptr<const CoverProblem> problem, double boundary_micros = 0)
      : problem_(std::move(problem)), boundary_micros_(boundary_micros) {
    for (FlowIndex i = 0; i < problem_->flow.size(); ++i) {
      index_.emplace(problem_->flow.node(i).name, i);
    }
    double whole = 0;
    for (std::uint32_t i = 0; i < problem_->candidates.size(); ++i) {
      const CandidateRegion& candidate = problem_->candidates[i];
      if (!candidate.cost.known()) continue;
      const auto [it, added] = best_.emplace(KeyOf(candidate.target, candidate.nodes), i);
      const double micros = candidate.cost.micros();
      if (micros < problem_->candidates[it->second].cost.micros()) it->second = i;
      if (candidate.nodes.Count() == problem_->flow.size() && (whole == 0 || micros < whole)) {
        whole = micros;
      }
    }
    if (whole > 0) reference_ = whole;
  }

 private:
  static std::string KeyOf(const std::string& target, const IndexSet& nodes) {
    return target + ToString(nodes);
  }

  [[nodiscard]] Result<cost::Outcome> Judge(const Strategy& strategy) const {
    std::vector<std::uint32_t> chosen;
    std::vector<PartitionRegion> regions = strategy.partition;
    if (regions.empty()) {
      regions.push_back({.nodes = {}, .target = strategy.target});
      for (const FlowNode& node : problem_->flow.nodes()) regions[0].nodes.push_back(node.name);
    }
    for (const PartitionRegion& region : regions) {
      IndexSet nodes = problem_->flow.EmptySet();
      for (const std::string& name : region.nodes) {
        const auto it = index_.find(name);
        if (it == index_.end()) {
          return Failure{FailureKind::kUnsupported, "there is no node '" + name + "'"};
        }
        nodes.Insert(it->second);
      }
      const auto it = best_.find(KeyOf(region.target, nodes));
      if (it == best_.end()) {
        return Failure{FailureKind::kUnsupported,
                       "the cost of " + region.target + " on " + ToString(nodes) + " is unknown"};
      }
      chosen.push_back(it->second);
    }
    Result<std::vector<std::uint32_t>> order = ExecutionOrder(*problem_, chosen);
    if (!order.ok()) return order.failure();
    const Result<double> micros = CheckCover(*problem_, order.value());
    if (!micros.ok()) return micros.failure();
    const double all = micros.value() + boundary_micros_ * static_cast<double>(chosen.size() - 1);
    constexpr double kNanosPerMicro = 1e3;
    const double ratio = all / reference_;
    cost::Outcome outcome;
    outcome.latency = cost::Latency{.median_ns = all * kNanosPerMicro,
                                    .reference_median_ns = reference_ * kNanosPerMicro,
                                    .ratio = ratio,
                                    .ratio_low = ratio,
                                    .ratio_high = ratio};
    return outcome;
  }

  void DoEvaluate(std::span<const cost::Candidate> batch, const Done& done,
                  const std::function<bool()>& stop) override {
    for (std::size_t i = 0; i < batch.size() && !(stop && stop()); ++i) {
      done(i, Judge(batch[i].strategy));
    }
  }

  std::shared_ptr<const CoverProblem> problem_;
  double boundary_micros_;
  double reference_ = 1;
  std::map<std::string, FlowIndex> index_;     ///< indices of nodes by name
  std::map<std::string, std::uint32_t> best_;  ///< cheapest candidate by KeyOf
};

}  // namespace msc::envs
