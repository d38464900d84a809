#include "gym/core/decision.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"

namespace msc::gym {

namespace {

void CheckValues(const Decision& decision) {
  if (decision.values.empty() && decision.quantity.empty()) return;
  if (decision.quantity.empty()) {
    throw UserError("decision '" + decision.name + "' does not say what its values count");
  }
  if (decision.values.size() != decision.choices.size() ||
      !std::all_of(decision.values.begin(), decision.values.end(),
                   [](double value) { return std::isfinite(value); })) {
    throw UserError("decision '" + decision.name + "' needs a finite value for each choice");
  }
}

}  // namespace

void CheckDecisions(std::span<const Decision> decisions) {
  if (decisions.empty()) throw UserError("a search space needs at least one decision");
  std::set<std::string_view> names;
  for (const Decision& decision : decisions) {
    if (decision.name.empty()) throw UserError("a decision needs a name");
    if (!names.insert(decision.name).second) {
      throw UserError("decision '" + decision.name + "' occurs twice");
    }
    if (decision.choices.empty()) {
      throw UserError("decision '" + decision.name + "' has no choices");
    }
    const std::set<std::string_view> choices(decision.choices.begin(), decision.choices.end());
    if (choices.size() != decision.choices.size()) {
      throw UserError("decision '" + decision.name + "' has a choice twice");
    }
    CheckValues(decision);
  }
}

void CheckAssignment(std::span<const Decision> decisions,
                     std::span<const std::int32_t> assignment) {
  if (assignment.size() != decisions.size()) {
    throw UserError("an assignment of " + std::to_string(assignment.size()) +
                    " choices does not fit " + std::to_string(decisions.size()) + " decisions");
  }
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    if (assignment[i] >= 0 && std::cmp_less(assignment[i], decisions[i].choices.size())) continue;
    throw UserError("choice " + std::to_string(assignment[i]) + " of decision '" +
                    decisions[i].name + "' must be between 0 and " +
                    std::to_string(decisions[i].choices.size() - 1));
  }
}

bool IsLegal(const ChoiceMask& mask, const Assignment& assignment) {
  if (!mask) return true;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const std::vector<bool> flags = mask(std::span(assignment).first(i));
    if (!flags.empty() && !flags.at(static_cast<std::size_t>(assignment[i]))) return false;
  }
  return true;
}

void CheckLegal(std::span<const Decision> decisions, const ChoiceMask& mask,
                const Assignment& assignment) {
  CheckAssignment(decisions, assignment);
  if (!mask) return;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const auto choice = static_cast<std::size_t>(assignment[i]);
    const std::vector<bool> flags = mask(std::span(assignment).first(i));
    if (flags.empty() || flags.at(choice)) continue;
    throw UserError("choice '" + decisions[i].choices[choice] + "' of decision '" +
                    decisions[i].name + "' is ruled out by earlier choices");
  }
}

Assignment MakeLegal(const ChoiceMask& mask, Assignment assignment) {
  if (!mask) return assignment;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    // A mask depends only on earlier choices, so one pass in their order suffices.
    const std::vector<bool> flags = mask(std::span(assignment).first(i));
    if (flags.empty()) continue;
    const std::int32_t wanted = assignment[i];
    std::int32_t nearest = -1;
    for (std::int32_t choice = 0; std::cmp_less(choice, flags.size()); ++choice) {
      if (!flags[static_cast<std::size_t>(choice)]) continue;
      // Of equally near choices the first wins.
      if (nearest < 0 || std::abs(choice - wanted) < std::abs(nearest - wanted)) nearest = choice;
    }
    assignment[i] = nearest;
  }
  return assignment;
}

Assignment DrawLegal(std::span<const Decision> decisions, const ChoiceMask& mask, Rng& rng) {
  Assignment assignment;
  assignment.reserve(decisions.size());
  // Uniform over the legal choices of each decision, not over the legal assignments.
  for (const Decision& decision : decisions) {
    const std::vector<bool> flags = mask ? mask(assignment) : std::vector<bool>();
    std::size_t choice = 0;
    if (flags.empty()) {
      choice = rng.Below(decision.choices.size());
    } else {
      const auto legal = static_cast<std::uint64_t>(std::count(flags.begin(), flags.end(), true));
      std::uint64_t skip = rng.Below(legal);
      while (!flags[choice] || skip-- > 0) ++choice;
    }
    assignment.push_back(static_cast<std::int32_t>(choice));
  }
  return assignment;
}

std::string ChoicesAsJson(std::span<const Decision> decisions, const Assignment& assignment) {
  CheckAssignment(decisions, assignment);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    json[decisions[i].name] = decisions[i].choices[static_cast<std::size_t>(assignment[i])];
  }
  // Names come from models: bytes that are not UTF-8 must not throw here.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

double SpaceSize(std::span<const Decision> decisions) {
  // A double, as many spaces have more than 2^64 assignments.
  double size = 1;
  for (const Decision& decision : decisions) size *= static_cast<double>(decision.choices.size());
  return size;
}

}  // namespace msc::gym
