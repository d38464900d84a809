#include "gym/core/problem.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"

namespace msc::gym {

namespace {

void CheckEvaluation(const std::vector<std::string>& metrics, const Evaluation& evaluation) {
  if (evaluation.failure) {
    Check(evaluation.metrics.empty(), "a failed evaluation has no metrics");
    return;
  }
  for (const std::string& metric : metrics) {
    Check(evaluation.metrics.contains(metric), "an evaluation has every metric of its problem");
  }
  Check(std::all_of(evaluation.metrics.begin(), evaluation.metrics.end(),
                    [](const auto& metric) { return std::isfinite(metric.second); }),
        "the metrics of an evaluation are finite");
}

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

Assignment MakeLegal(const ChoiceMask& mask, Assignment assignment) {
  if (!mask) return assignment;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const std::vector<bool> flags = mask(std::span(assignment).first(i));
    if (flags.empty()) continue;
    const std::int32_t wanted = assignment[i];
    std::int32_t nearest = -1;
    for (std::int32_t choice = 0; std::cmp_less(choice, flags.size()); ++choice) {
      if (!flags[static_cast<std::size_t>(choice)]) continue;
      if (nearest < 0 || std::abs(choice - wanted) < std::abs(nearest - wanted)) nearest = choice;
    }
    assignment[i] = nearest;
  }
  return assignment;
}

Assignment DrawLegal(std::span<const Decision> decisions, const ChoiceMask& mask, Rng& rng) {
  Assignment assignment;
  assignment.reserve(decisions.size());
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

std::vector<bool> SearchProblem::Mask(std::span<const std::int32_t> prefix) const {
  const std::vector<Decision>& all = decisions();
  if (prefix.size() >= all.size()) throw UserError("no decision follows the last one");
  CheckAssignment(std::span(all).first(prefix.size()), prefix);
  const std::size_t choices = all[prefix.size()].choices.size();
  std::vector<bool> flags = masked() ? DoMask(prefix) : std::vector<bool>(choices, true);
  Check(flags.size() == choices, "a mask has one flag for each choice");
  Check(std::find(flags.begin(), flags.end(), true) != flags.end(), "a mask leaves a choice");
  return flags;
}

ChoiceMask SearchProblem::MaskFunction() const {
  if (!masked()) return {};
  return [this](std::span<const std::int32_t> prefix) { return Mask(prefix); };
}

void SearchProblem::CheckLegal(const Assignment& assignment) const {
  CheckAssignment(decisions(), assignment);
  if (!masked()) return;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const auto choice = static_cast<std::size_t>(assignment[i]);
    if (Mask(std::span(assignment).first(i))[choice]) continue;
    const Decision& decision = decisions()[i];
    throw UserError("choice '" + decision.choices[choice] + "' of decision '" + decision.name +
                    "' is ruled out by earlier choices");
  }
}

std::vector<std::pair<std::string, Assignment>> SearchProblem::Anchors() const {
  std::vector<std::pair<std::string, Assignment>> anchors = DoAnchors();
  std::set<std::string_view> names;
  for (const auto& [name, assignment] : anchors) {
    Check(!name.empty() && names.insert(name).second, "anchors have names of their own");
    CheckLegal(assignment);
  }
  return anchors;
}

static void CheckFits(const AdditiveCost& cost, const std::vector<Decision>& decisions) {
  Check(std::equal(cost.effects.begin(), cost.effects.end(), decisions.begin(), decisions.end(),
                   [](const std::vector<double>& effects, const Decision& decision) {
                     return effects.size() == decision.choices.size();
                   }),
        "additive costs have one effect for each choice of each decision");
}

std::map<std::string, AdditiveCost> SearchProblem::AdditiveCosts() const {
  std::map<std::string, AdditiveCost> costs = DoAdditiveCosts();
  for (const auto& [metric, cost] : costs) CheckFits(cost, decisions());
  return costs;
}

std::map<std::string, AdditiveCost> SearchProblem::Estimates() const {
  std::map<std::string, AdditiveCost> estimates = DoEstimates();
  for (const auto& [metric, cost] : estimates) CheckFits(cost, decisions());
  return estimates;
}

std::vector<std::vector<double>> SearchProblem::Features() const {
  std::vector<std::vector<double>> features = DoFeatures();
  if (features.empty()) return features;
  Check(features.size() == decisions().size(), "features have one row per decision");
  for (const auto& row : features) {
    Check(!row.empty() && row.size() == features.front().size(),
          "the rows of features have one length, at least 1");
    Check(std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); }),
          "features are finite");
  }
  return features;
}

std::vector<double> SearchProblem::Relevance() const {
  std::vector<double> relevance = DoRelevance();
  Check(relevance.empty() || relevance.size() == decisions().size(),
        "there is a relevance for each decision");
  Check(std::all_of(relevance.begin(), relevance.end(),
                    [](double value) { return std::isfinite(value) && value >= 0; }),
        "a relevance is finite and not negative");
  return relevance;
}

std::vector<CoverPoint> SearchProblem::CoverFront() const {
  std::vector<CoverPoint> front = DoCoverFront();
  for (std::size_t i = 0; i < front.size(); ++i) {
    CheckLegal(front[i].assignment);
    Check(i == 0 ||
              (front[i - 1].cost <= front[i].cost && front[i - 1].boundaries > front[i].boundaries),
          "along a front of covers cost rises and boundaries fall");
  }
  return front;
}

std::map<std::string, double> SearchProblem::LowerBounds() const {
  std::map<std::string, double> bounds = DoLowerBounds();
  const std::vector<std::string> names = metrics();
  for (const auto& [metric, bound] : bounds) {
    Check(std::isfinite(bound) && std::find(names.begin(), names.end(), metric) != names.end(),
          "lower bounds are finite and of metrics");
  }
  return bounds;
}

void SearchProblem::Evaluate(std::span<const Assignment> batch, const Done& done,
                             const std::function<bool()>& stop) {
  Run(std::nullopt, batch, done, stop);
}

void SearchProblem::EvaluateRoughly(std::size_t rung, std::span<const Assignment> batch,
                                    const Done& done, const std::function<bool()>& stop) {
  Check(rung < rungs(), "a problem that is evaluated roughly has a way to do so");
  Run(rung, batch, done, stop);
}

void SearchProblem::Run(std::optional<std::size_t> rung, std::span<const Assignment> batch,
                        const Done& done, const std::function<bool()>& stop) {
  Check(static_cast<bool>(done), "Evaluate is given a function to report to");
  for (const Assignment& assignment : batch) CheckLegal(assignment);
  if (batch.empty()) return;

  const std::vector<std::string> names = metrics();
  std::vector<bool> reported(batch.size(), false);
  bool stopped = false;
  const Done report = [&](std::size_t index, const Evaluation& evaluation) {
    Check(index < reported.size(), "a problem reports what it was given");
    Check(!reported[index], "a problem reports each assignment once");
    CheckEvaluation(names, evaluation);
    reported[index] = true;
    done(index, evaluation);
  };
  const auto ask = [&] {
    stopped = stopped || (stop && stop());
    return stopped;
  };
  if (rung) {
    DoEvaluateRoughly(*rung, batch, report, ask);
  } else {
    DoEvaluate(batch, report, ask);
  }
  Check(stopped || std::find(reported.begin(), reported.end(), false) == reported.end(),
        "a problem that was not stopped reports every assignment");
}

std::string SearchProblem::Describe(const Assignment& assignment) const {
  CheckLegal(assignment);
  return DoDescribe(assignment);
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
  double size = 1;
  for (const Decision& decision : decisions) size *= static_cast<double>(decision.choices.size());
  return size;
}

std::optional<double> LegalSize(const SearchProblem& problem, std::size_t most_masks) {
  const std::vector<Decision>& decisions = problem.decisions();
  if (!problem.masked()) return SpaceSize(decisions);
  // Depth-first search: `prefix` is legal, masks[i] are the flags of decision i after the choices
  // before it.
  double count = 0;
  Assignment prefix;
  std::vector<std::vector<bool>> masks;
  while (true) {
    if (most_masks-- == 0) return std::nullopt;
    masks.push_back(problem.Mask(prefix));
    prefix.push_back(-1);
    if (prefix.size() == decisions.size()) {
      count += static_cast<double>(std::count(masks.back().begin(), masks.back().end(), true));
      prefix.pop_back();
      masks.pop_back();
    }
    // Advances to the next prefix, from the last decision that has a legal choice left.
    while (!prefix.empty()) {
      const std::vector<bool>& mask = masks.back();
      const auto next = std::find(mask.begin() + (prefix.back() + 1), mask.end(), true);
      if (next != mask.end()) {
        prefix.back() = static_cast<std::int32_t>(next - mask.begin());
        break;
      }
      prefix.pop_back();
      masks.pop_back();
    }
    if (prefix.empty()) return count;
  }
}

}  // namespace msc::gym
