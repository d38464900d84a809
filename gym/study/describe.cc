#include "gym/study/describe.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace msc::gym {
namespace {

std::string Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

std::string Joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string Text(const Constraint& constraint) {
  return constraint.metric + " <= " + Number(constraint.limit);
}

/// Decisions with equal choices together, in the order of their first.
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

/// How small each metric gets if every decision takes what makes it least, where that can be.
std::string ExpectedLine(const SearchProblem& problem, const Objective& objective) {
  std::vector<std::string> names = objective.minimize;
  for (const Constraint& constraint : objective.subject_to) names.push_back(constraint.metric);
  const std::map<std::string, AdditiveCost> estimates = problem.Estimates();
  const std::map<std::string, double> bounds = problem.LowerBounds();
  std::vector<std::string> parts;
  std::set<std::string> said;
  for (const std::string& name : names) {
    const auto it = estimates.find(name);
    if (it == estimates.end() || !said.insert(name).second) continue;
    double least = it->second.offset;
    for (const std::vector<double>& effects : it->second.effects)
      least += std::ranges::min(effects);
    // Sums go on below what can be where decisions share what they save, or are noise.
    const auto bound = bounds.find(name);
    if (least < (bound != bounds.end() ? bound->second : 0.0)) continue;
    parts.push_back(name + " down to " + Number(least));
  }
  if (parts.empty()) return "";
  return "expected by what each decision does alone: " + Joined(parts, ", ") + "\n";
}

}  // namespace

std::string DescribeSpace(const SearchProblem& problem, const Objective& objective) {
  const std::vector<Decision>& decisions = problem.decisions();
  std::string text = std::to_string(decisions.size()) + " decisions, " +
                     Number(SpaceSize(decisions)) + " assignments\n" + DecisionLines(decisions);
  std::vector<std::string> anchors;
  for (const auto& [name, assignment] : problem.Anchors()) anchors.push_back(name);
  if (!anchors.empty()) text += "baselines, tried first: " + Joined(anchors, ", ") + "\n";
  text += "goal: minimize " + Joined(objective.minimize, ", then ") + "\n";
  const std::map<std::string, double> bounds = problem.LowerBounds();
  for (const Constraint& constraint : objective.subject_to) {
    const auto bound = bounds.find(constraint.metric);
    text += "  subject to " + Text(constraint) + ": ";
    if (bound == bounds.end()) {
      text += "only measuring tells whether that can be met\n";
    } else if (bound->second > constraint.limit) {
      text += "CANNOT be met, no assignment is below " + Number(bound->second) + "\n";
    } else {
      text += "not ruled out, no assignment is below " + Number(bound->second) + "\n";
    }
  }
  return text + ExpectedLine(problem, objective);
}

}  // namespace msc::gym
