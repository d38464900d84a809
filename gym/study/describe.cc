#include "gym/study/describe.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/base/formatted.h"

namespace msc::gym {
namespace {

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string Text(const Constraint& constraint) {
  return constraint.metric + " <= " + Formatted("%.6g", constraint.limit);
}

/// Lists decisions grouped by equal choices, groups in the order of their first decision.
std::string DecisionLines(const std::vector<Decision>& decisions) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> kinds;
  for (const Decision& decision : decisions) {
    auto it = kinds.begin();
    while (it != kinds.end() && it->first != decision.choices) ++it;
    if (it == kinds.end()) it = kinds.insert(it, {decision.choices, {}});
    it->second.push_back(decision.name);
  }
  std::string text;
  for (auto& [choices, names] : kinds) {
    const std::size_t count = names.size();
    if (count > kNamed) {
      names.resize(kNamed - 1);
      names.push_back("and " + std::to_string(count - kNamed + 1) + " more");
    }
    text += "  " + std::to_string(count) + " of " + Joined(choices, ", ") + ": " +
            Joined(names, ", ") + "\n";
  }
  return text;
}

std::string SizeLine(const SearchProblem& problem) {
  const std::string all = Formatted("%.6g", SpaceSize(problem.decisions()));
  std::string text = std::to_string(problem.decisions().size()) + " decisions, ";
  if (!problem.masked()) return text + all + " assignments\n";
  const std::optional<double> legal = LegalSize(problem);
  if (!legal) return text + "at most " + all + " assignments: masks rule some out\n";
  return text + Formatted("%.6g", *legal) + " assignments, of " + all +
         " that masks rule some of out\n";
}

/// Returns a line that starts with `begin` and says whether a lower bound rules the limit out.
std::string LimitLine(const char* begin, const Constraint& limit,
                      const std::map<std::string, double>& bounds) {
  std::string text = std::string("  ") + begin + " " + Text(limit) + ": ";
  const auto bound = bounds.find(limit.metric);
  if (bound == bounds.end()) return text + "no bound known; only measuring can tell\n";
  return text + (bound->second > limit.limit ? "CANNOT be met" : "not ruled out") +
         ", no assignment is below " + Formatted("%.6g", bound->second) + "\n";
}

/// Says how small each metric gets if every decision takes its cheapest choice by the estimates.
/// Skips metrics for which the sum is impossible.
std::string ExpectedLine(const std::map<std::string, AdditiveCost>& estimates,
                         const Objective& objective, const std::map<std::string, double>& bounds) {
  std::vector<std::string> names = objective.minimize;
  for (const Constraint& constraint : objective.subject_to) names.push_back(constraint.metric);
  std::vector<std::string> parts;
  std::set<std::string> said;
  for (const std::string& name : names) {
    const auto it = estimates.find(name);
    if (it == estimates.end() || !said.insert(name).second) continue;
    double least = it->second.offset;
    for (const std::vector<double>& effects : it->second.effects)
      least += std::ranges::min(effects);
    // A sum of separate effects falls below the possible minimum where savings of several decisions
    // overlap, or where the effects are noise.
    const auto bound = bounds.find(name);
    if (least < (bound != bounds.end() ? bound->second : 0.0)) continue;
    parts.push_back(name + " down to " + Formatted("%.6g", least));
  }
  if (parts.empty()) return "";
  return "expected from the effect of each decision alone: " + Joined(parts, ", ") + "\n";
}

}  // namespace

std::string DescribeSpace(const SearchProblem& problem, const Objective& objective,
                          const DescribeOptions& options) {
  std::string text = SizeLine(problem) + DecisionLines(problem.decisions());
  std::vector<std::string> anchors;
  for (const auto& [name, assignment] : problem.Anchors()) anchors.push_back(name);
  if (!anchors.empty()) text += "baselines, tried first: " + Joined(anchors, ", ") + "\n";
  text += "goal: minimize " + Joined(objective.minimize, ", then ") + "\n";
  const PriorKnowledge prior = problem.Prior();
  std::map<std::string, double> bounds = prior.LowerBounds();
  for (const auto& [metric, bound] : options.bounds) {
    const auto [place, is_new] = bounds.emplace(metric, bound);
    place->second = std::max(place->second, bound);
  }
  for (const Constraint& limit : objective.subject_to) {
    text += LimitLine("subject to", limit, bounds);
  }
  for (const Constraint& limit : options.goal) text += LimitLine("ends at", limit, bounds);
  return text + ExpectedLine(prior.estimates, objective, bounds);
}

}  // namespace msc::gym
