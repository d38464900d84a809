#pragma once

// Small random cover problems, and all their covers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/base/rng.h"
#include "compiler/partition/problem.h"
#include "tests/support/cover.h"

namespace msc::test {

/// Returns random labels for some tensors of a boundary.
inline std::vector<TensorLabel> RandomLabels(const std::vector<FlowIndex>& boundary,
                                             std::size_t labels, Rng& rng) {
  std::vector<TensorLabel> list;
  std::set<FlowIndex> sorted(boundary.begin(), boundary.end());
  for (const FlowIndex tensor : sorted) {
    const auto label = static_cast<Label>(rng.Below(labels));
    if (label != kDense || rng.Below(2) == 0) list.push_back({tensor, label});
  }
  return list;
}

/// Returns a random problem. Its graph has up to 10 nodes, with several inputs, outputs, taps and
/// nodes read twice. Its candidates are convex, of any shape (many exits, not connected, often
/// waiting for each other), for targets "a" and "b"; some costs are Invalid.
inline CoverProblem RandomProblem(std::uint64_t seed) {
  Rng rng(seed);
  const std::size_t count = 1 + rng.Below(10);
  std::vector<std::vector<int>> reads(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t inputs = 1 + rng.Below(2);
    for (std::size_t k = 0; k < inputs; ++k) {
      const std::size_t back = 1 + rng.Below(4);
      reads[i].push_back(back > i ? -1 : static_cast<int>(i - back));
    }
  }
  CoverProblem problem{.flow = Flow(reads)};
  const std::size_t labels = 1 + rng.Below(3);
  for (std::size_t i = 1; i < labels; ++i) problem.labels.push_back("l" + std::to_string(i));
  for (Label from = 0; from < labels; ++from) {
    for (Label to = 0; to < labels; ++to) {
      // One pair in six has no conversion.
      if (from != to && rng.Below(6) != 0) {
        problem.conversions.Set(from, to, static_cast<double>(rng.Below(40)) / 10, 0.01);
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (rng.Below(12) != 0) {
      AddCandidate(problem, {i}, "a", 1 + static_cast<double>(rng.Below(50)) / 10);
    }
  }
  const std::size_t more = 4 + rng.Below(14);
  for (std::size_t k = 0; k < more; ++k) {
    IndexSet nodes(count);
    const std::size_t size = 1 + rng.Below(4);
    for (std::size_t i = 0; i < size; ++i) nodes.Insert(rng.Below(count));
    if (!IsConvex(problem.flow, nodes)) continue;
    const double each = 1 + static_cast<double>(rng.Below(30)) / 10;
    AddCandidate(problem, nodes.Members(), rng.Below(2) == 0 ? "a" : "b",
                 each * static_cast<double>(nodes.Count()),
                 RandomLabels(TensorsIn(problem.flow, nodes), labels, rng),
                 RandomLabels(TensorsOut(problem.flow, nodes), labels, rng));
    problem.candidates.back().bytes = static_cast<std::int64_t>(rng.Below(10));
    if (rng.Below(15) == 0) problem.candidates.back().cost = Cost::Invalid("broken");
  }
  return problem;
}

/// Returns whether regions wait for each other in a cycle, by transitive closure. `owner` is the
/// region of each node.
inline bool WaitInACircle(const DataflowGraph& flow, const std::vector<std::size_t>& owner,
                          std::size_t regions) {
  std::vector<std::vector<char>> reach(regions, std::vector<char>(regions, 0));
  for (std::size_t node = 0; node < flow.size(); ++node) {
    for (const FlowIndex producer : flow.producers(node)) {
      if (owner[producer] != owner[node]) reach[owner[producer]][owner[node]] = 1;
    }
  }
  for (std::size_t k = 0; k < regions; ++k) {
    for (std::size_t i = 0; i < regions; ++i) {
      if (reach[i][k] == 0) continue;
      for (std::size_t j = 0; j < regions; ++j) {
        if (reach[k][j] != 0) reach[i][j] = 1;
      }
    }
  }
  for (std::size_t i = 0; i < regions; ++i) {
    if (reach[i][i] != 0) return true;
  }
  return false;
}

/// Returns the cost, by definition, of `chosen`, which cover every node exactly once; nullopt if
/// they are not a cover or violate a side condition. Shares no code with the searches or with
/// CheckCover.
inline std::optional<double> CostByDefinition(const CoverProblem& problem,
                                              const std::vector<std::uint32_t>& chosen) {
  const DataflowGraph& flow = problem.flow;
  const SideConditions& conditions = problem.conditions;
  std::vector<std::size_t> owner(flow.size());
  std::int64_t bytes = 0;
  Picoseconds sum = 0;
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    const CandidateRegion& candidate = problem.candidates[chosen[place]];
    if (!candidate.cost.known()) return std::nullopt;
    sum += ToPicoseconds(candidate.cost.micros());
    bytes += candidate.bytes;
    for (const std::size_t node : candidate.nodes.Members()) {
      owner[node] = place;
      const auto pin = conditions.pins.find(static_cast<FlowIndex>(node));
      if (pin != conditions.pins.end() &&
          std::count(pin->second.begin(), pin->second.end(), candidate.target) == 0) {
        return std::nullopt;
      }
    }
  }
  if (WaitInACircle(flow, owner, chosen.size())) return std::nullopt;
  if (conditions.max_bytes && bytes > *conditions.max_bytes) return std::nullopt;
  for (const RegionLimit& limit : conditions.max_regions) {
    const auto of_these = [&](std::uint32_t i) {
      const std::string& target = problem.candidates[i].target;
      return std::count(limit.targets.begin(), limit.targets.end(), target) > 0;
    };
    if (std::count_if(chosen.begin(), chosen.end(), of_these) > limit.most) return std::nullopt;
  }
  for (FlowIndex t = 0; t < flow.tensors().size(); ++t) {
    const FlowTensor& tensor = flow.tensor(t);
    const auto of = [&](FlowIndex node) { return owner[node]; };
    Label made = kDense;
    if (tensor.producer != kNoFlow) {
      made = LabelOf(problem.candidates[chosen[of(tensor.producer)]].makes, t);
    }
    std::set<Label> wanted;
    if (tensor.leaves) wanted.insert(kDense);
    for (const FlowIndex reader : tensor.readers) {
      if (tensor.producer != kNoFlow && of(reader) == of(tensor.producer)) continue;
      wanted.insert(LabelOf(problem.candidates[chosen[of(reader)]].wants, t));
    }
    for (const Label label : wanted) {
      const auto micros = problem.conversions.Micros(made, label, t, tensor.bytes);
      if (!micros) return std::nullopt;
      sum += ToPicoseconds(*micros);
    }
  }
  return ToMicros(sum);
}

/// All exact covers without cyclic waits that satisfy the side conditions and whose tensors can be
/// converted.
class BruteForce {
 public:
  explicit BruteForce(const CoverProblem& problem) : problem_(problem) {
    Extend(problem.flow.EmptySet());
    std::sort(costs_.begin(), costs_.end());
  }
  /// Returns the costs of these covers in ascending order.
  [[nodiscard]] const std::vector<double>& costs() const { return costs_; }
  /// Returns all ways to cover every node exactly once, valid or not.
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& exact() const { return exact_; }

 private:
  void Extend(const IndexSet& covered) {
    const std::size_t next = covered.FirstOutside();
    if (next == problem_.flow.size()) {
      exact_.push_back(chosen_);
      if (const auto cost = CostByDefinition(problem_, chosen_)) costs_.push_back(*cost);
      return;
    }
    for (std::uint32_t i = 0; i < problem_.candidates.size(); ++i) {
      const IndexSet& nodes = problem_.candidates[i].nodes;
      if (!nodes.Contains(next) || nodes.Intersects(covered)) continue;
      chosen_.push_back(i);
      Extend(covered | nodes);
      chosen_.pop_back();
    }
  }

  const CoverProblem& problem_;
  std::vector<std::uint32_t> chosen_;
  std::vector<double> costs_;
  std::vector<std::vector<std::uint32_t>> exact_;
};

}  // namespace msc::test
