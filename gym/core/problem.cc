#include "gym/core/problem.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "compiler/base/error.h"

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

}  // namespace

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

std::vector<std::pair<std::string, Assignment>> SearchProblem::Anchors() const {
  std::vector<std::pair<std::string, Assignment>> anchors = DoAnchors();
  std::set<std::string_view> names;
  for (const auto& [name, assignment] : anchors) {
    Check(!name.empty() && names.insert(name).second, "anchors have names of their own");
    CheckLegal(decisions(), MaskFunction(), assignment);
  }
  return anchors;
}

PriorKnowledge SearchProblem::Prior() const {
  PriorKnowledge prior = DoPrior();
  CheckPrior(prior, decisions(), MaskFunction());
  if (!prior.compute_bounds) return prior;
  prior.compute_bounds = [compute = std::move(prior.compute_bounds), names = metrics()] {
    std::map<std::string, double> bounds = compute();
    CheckLowerBounds(bounds, names);
    return bounds;
  };
  return prior;
}

void SearchProblem::Evaluate(std::span<const Assignment> batch, const Done& done,
                             const std::function<bool()>& stop) {
  Run(std::nullopt, batch, done, stop);
}

void SearchProblem::EvaluateRoughly(std::size_t fidelity, std::span<const Assignment> batch,
                                    const Done& done, const std::function<bool()>& stop) {
  Check(fidelity < fidelities(), "a problem that is evaluated roughly has a way to do so");
  Run(fidelity, batch, done, stop);
}

void SearchProblem::Run(std::optional<std::size_t> fidelity, std::span<const Assignment> batch,
                        const Done& done, const std::function<bool()>& stop) {
  Check(static_cast<bool>(done), "Evaluate is given a function to report to");
  const ChoiceMask mask = MaskFunction();
  for (const Assignment& assignment : batch) CheckLegal(decisions(), mask, assignment);
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
  if (fidelity) {
    DoEvaluateRoughly(*fidelity, batch, report, ask);
  } else {
    DoEvaluate(batch, report, ask);
  }
  Check(stopped || std::find(reported.begin(), reported.end(), false) == reported.end(),
        "a problem that was not stopped reports every assignment");
}

std::string SearchProblem::Describe(const Assignment& assignment) const {
  CheckLegal(decisions(), MaskFunction(), assignment);
  return DoDescribe(assignment);
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
