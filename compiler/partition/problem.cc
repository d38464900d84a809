#include "compiler/partition/problem.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "compiler/base/error.h"

namespace msc {
namespace {

Failure Wrong(std::string detail) {
  return {FailureKind::kUnsupported, std::move(detail)};
}

std::string Describe(const CoverProblem& problem, std::uint32_t index) {
  const CandidateRegion& candidate = problem.candidates.at(index);
  return candidate.target + " " + ToString(candidate.nodes);
}

void CheckLabels(const CoverProblem& problem, std::uint32_t index,
                 const std::vector<TensorLabel>& list, const std::vector<FlowIndex>& boundary) {
  const auto refuse = [&](const std::string& why) {
    throw UserError("candidate " + Describe(problem, index) + ": " + why);
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].label >= problem.labels.size()) refuse("its label has no name");
    if (i > 0 && list[i - 1].tensor >= list[i].tensor) refuse("labels are not by rising tensor");
    if (std::find(boundary.begin(), boundary.end(), list[i].tensor) == boundary.end()) {
      refuse("tensor " + std::to_string(list[i].tensor) + " is not on its boundary");
    }
  }
}

/// Returns for each node the position in `chosen` of the candidate that covers it.
Result<std::vector<std::size_t>> Owners(const CoverProblem& problem,
                                        std::span<const std::uint32_t> chosen) {
  std::vector<std::size_t> owner(problem.flow.size(), chosen.size());
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    if (chosen[place] >= problem.candidates.size()) return Wrong("there is no such candidate");
    std::size_t twice = IndexSet::kNone;
    problem.candidates[chosen[place]].nodes.ForEach([&](std::size_t node) {
      if (std::exchange(owner[node], place) != chosen.size()) twice = node;
    });
    if (twice != IndexSet::kNone) {
      return Wrong("node '" + problem.flow.node(twice).name + "' is covered twice");
    }
  }
  for (std::size_t node = 0; node < owner.size(); ++node) {
    if (owner[node] == chosen.size()) {
      return Wrong("node '" + problem.flow.node(node).name + "' is not covered");
    }
  }
  return owner;
}

bool Contains(const std::vector<std::string>& targets, const std::string& target) {
  return std::find(targets.begin(), targets.end(), target) != targets.end();
}

std::string Joined(const std::vector<std::string>& targets) {
  std::string text;
  for (const std::string& target : targets) text += (text.empty() ? "" : " or ") + target;
  return text;
}

std::optional<Failure> CheckConditions(const CoverProblem& problem,
                                       std::span<const std::uint32_t> chosen) {
  std::int64_t bytes = 0;
  std::map<std::string, std::int64_t> regions;
  for (const std::uint32_t index : chosen) {
    const CandidateRegion& candidate = problem.candidates[index];
    bytes += candidate.bytes;
    ++regions[candidate.target];
    for (const auto& [node, targets] : problem.conditions.pins) {
      if (candidate.nodes.Contains(node) && !Contains(targets, candidate.target)) {
        return Wrong("node '" + problem.flow.node(node).name + "' is pinned to " + Joined(targets));
      }
    }
  }
  if (problem.conditions.max_bytes && bytes > *problem.conditions.max_bytes) {
    return Wrong("the regions hold " + std::to_string(bytes) + " bytes");
  }
  for (const RegionLimit& limit : problem.conditions.max_regions) {
    std::int64_t count = 0;
    for (const std::string& target : limit.targets) count += regions[target];
    if (count > limit.most) {
      return Wrong(Joined(limit.targets) + " has " + std::to_string(count) + " regions");
    }
  }
  return std::nullopt;
}

/// Returns for each region (a position in `chosen`) the regions that read from it. `owner` maps
/// nodes to regions.
std::vector<std::set<std::size_t>> Readers(const CoverProblem& problem,
                                           const std::vector<std::size_t>& owner,
                                           std::size_t regions) {
  std::vector<std::set<std::size_t>> readers(regions);
  for (std::size_t node = 0; node < owner.size(); ++node) {
    for (const FlowIndex producer : problem.flow.producers(node)) {
      if (owner[producer] != owner[node]) readers[owner[producer]].insert(owner[node]);
    }
  }
  return readers;
}

}  // namespace

void ConversionTable::Set(Label from, Label to, double fixed_micros, double micros_per_byte) {
  // Cost::Micros rejects numbers that are no costs.
  static_cast<void>(Cost::Micros(fixed_micros));
  static_cast<void>(Cost::Micros(micros_per_byte));
  lines_[{from, to}] = {fixed_micros, micros_per_byte};
}

void ConversionTable::SetFor(FlowIndex tensor, Label from, Label to, double micros) {
  static_cast<void>(Cost::Micros(micros));
  tensors_[{tensor, from, to}] = micros;
}

std::optional<double> ConversionTable::Micros(Label from, Label to, FlowIndex tensor,
                                              std::int64_t bytes) const {
  if (from == to) return 0;
  if (const auto it = tensors_.find({tensor, from, to}); it != tensors_.end()) return it->second;
  const auto it = lines_.find({from, to});
  if (it == lines_.end()) return std::nullopt;
  return it->second.fixed + it->second.per_byte * static_cast<double>(bytes);
}

void CheckProblem(const CoverProblem& problem) {
  if (problem.labels.empty() || problem.labels.size() > kMaxLabels) {
    throw UserError("a partition problem has 1 to " + std::to_string(kMaxLabels) + " labels");
  }
  for (std::uint32_t i = 0; i < problem.candidates.size(); ++i) {
    const CandidateRegion& candidate = problem.candidates[i];
    if (candidate.nodes.universe() != problem.flow.size() || candidate.nodes.empty()) {
      throw UserError("candidate " + Describe(problem, i) + " holds no nodes of the problem");
    }
    if (candidate.bytes < 0) {
      throw UserError("candidate " + Describe(problem, i) + " holds less than no memory");
    }
    if (!candidate.wants.empty()) {
      CheckLabels(problem, i, candidate.wants, TensorsIn(problem.flow, candidate.nodes));
    }
    if (!candidate.makes.empty()) {
      CheckLabels(problem, i, candidate.makes, TensorsOut(problem.flow, candidate.nodes));
    }
  }
  for (const auto& [node, targets] : problem.conditions.pins) {
    if (node >= problem.flow.size()) throw UserError("a pin names a node that there is not");
  }
  std::set<std::string> limited;
  for (const RegionLimit& limit : problem.conditions.max_regions) {
    for (const std::string& target : limit.targets) {
      if (limited.insert(target).second) continue;
      throw UserError("the regions of " + target + " are limited twice");
    }
  }
}

Result<std::vector<ConversionStep>> ConversionsNeeded(const CoverProblem& problem,
                                                      std::span<const std::uint32_t> chosen) {
  std::vector<Label> made(problem.flow.tensors().size(), kDense);
  std::vector<std::set<Label>> wanted(made.size());
  for (const std::uint32_t index : chosen) {
    const CandidateRegion& candidate = problem.candidates.at(index);
    for (const TensorLabel& entry : candidate.makes) made.at(entry.tensor) = entry.label;
    for (const FlowIndex tensor : TensorsIn(problem.flow, candidate.nodes)) {
      wanted[tensor].insert(LabelOf(candidate.wants, tensor));
    }
  }
  std::vector<ConversionStep> steps;
  for (FlowIndex tensor = 0; tensor < made.size(); ++tensor) {
    const FlowTensor& flow = problem.flow.tensor(tensor);
    if (flow.leaves) wanted[tensor].insert(kDense);
    // Readers that want the same label share one conversion.
    for (const Label to : wanted[tensor]) {
      const Label from = made[tensor];
      if (from == to) continue;
      const std::optional<double> micros = problem.conversions.Micros(from, to, tensor, flow.bytes);
      if (!micros) {
        return Wrong("tensor '" + flow.name + "' cannot be converted from " +
                     problem.labels.at(from) + " into " + problem.labels.at(to));
      }
      steps.push_back({.tensor = tensor, .from = from, .to = to, .micros = *micros});
    }
  }
  return steps;
}

Result<std::vector<std::uint32_t>> ExecutionOrder(const CoverProblem& problem,
                                                  std::span<const std::uint32_t> chosen) {
  Result<std::vector<std::size_t>> owners = Owners(problem, chosen);
  if (!owners.ok()) return owners.failure();
  const std::vector<std::set<std::size_t>> readers =
      Readers(problem, owners.value(), chosen.size());
  std::vector<std::size_t> waits(chosen.size(), 0);
  for (const std::set<std::size_t>& some : readers) {
    for (const std::size_t reader : some) ++waits[reader];
  }
  // Sort by first node, so that the result does not depend on the order of `chosen`.
  const auto first = [&](std::size_t place) {
    return problem.candidates[chosen[place]].nodes.First();
  };
  std::set<std::pair<std::size_t, std::size_t>> ready;
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    if (waits[place] == 0) ready.emplace(first(place), place);
  }
  std::vector<std::uint32_t> order;
  while (!ready.empty()) {
    const std::size_t place = ready.begin()->second;
    ready.erase(ready.begin());
    order.push_back(chosen[place]);
    for (const std::size_t reader : readers[place]) {
      if (--waits[reader] == 0) ready.emplace(first(reader), reader);
    }
  }
  if (order.size() == chosen.size()) return order;
  std::string cycle;
  for (std::size_t place = 0; place < chosen.size(); ++place) {
    if (waits[place] > 0) cycle += (cycle.empty() ? "" : ", ") + Describe(problem, chosen[place]);
  }
  return Wrong("these regions, or some of them, wait for each other: " + cycle);
}

Result<double> CheckCover(const CoverProblem& problem, std::span<const std::uint32_t> chosen) {
  Result<std::vector<std::size_t>> owners = Owners(problem, chosen);
  if (!owners.ok()) return owners.failure();
  for (std::size_t node = 0; node < problem.flow.size(); ++node) {
    for (const FlowIndex producer : problem.flow.producers(node)) {
      if (owners.value()[producer] > owners.value()[node]) {
        return Wrong("node '" + problem.flow.node(node).name + "' runs before what it reads");
      }
    }
  }
  // The sum of integers does not depend on their order.
  Picoseconds total = 0;
  for (const std::uint32_t index : chosen) {
    const Cost& cost = problem.candidates[index].cost;
    if (!cost.known()) return Wrong(Describe(problem, index) + " costs " + ToString(cost));
    total += ToPicoseconds(cost.micros());
  }
  Result<std::vector<ConversionStep>> steps = ConversionsNeeded(problem, chosen);
  if (!steps.ok()) return steps.failure();
  for (const ConversionStep& step : steps.value()) total += ToPicoseconds(step.micros);
  if (std::optional<Failure> failure = CheckConditions(problem, chosen)) {
    return *std::move(failure);
  }
  return ToMicros(total);
}

}  // namespace msc
