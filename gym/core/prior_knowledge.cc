#include "gym/core/prior_knowledge.h"

#include <algorithm>
#include <cmath>

#include "compiler/base/error.h"

namespace msc::gym {
namespace {

void CheckCost(const AdditiveCost& cost, std::span<const Decision> decisions) {
  Check(std::equal(cost.effects.begin(), cost.effects.end(), decisions.begin(), decisions.end(),
                   [](const std::vector<double>& effects, const Decision& decision) {
                     return effects.size() == decision.choices.size();
                   }),
        "additive costs have one effect for each choice of each decision");
}

void CheckFeatures(const std::vector<std::vector<double>>& features, std::size_t decisions) {
  Check(features.empty() || features.size() == decisions, "features have one row per decision");
  for (const std::vector<double>& row : features) {
    Check(!row.empty() && row.size() == features.front().size(),
          "the rows of features have one length, at least 1");
    Check(std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); }),
          "features are finite");
  }
}

void CheckRelevance(const std::vector<double>& relevance, std::size_t decisions) {
  Check(relevance.empty() || relevance.size() == decisions,
        "there is a relevance for each decision");
  Check(std::all_of(relevance.begin(), relevance.end(),
                    [](double value) { return std::isfinite(value) && value >= 0; }),
        "a relevance is finite and not negative");
}

void CheckFront(const std::vector<CoverPoint>& front, std::span<const Decision> decisions,
                const ChoiceMask& mask) {
  for (std::size_t i = 0; i < front.size(); ++i) {
    CheckLegal(decisions, mask, front[i].assignment);
    Check(i == 0 ||
              (front[i - 1].cost <= front[i].cost && front[i - 1].boundaries > front[i].boundaries),
          "along a front of covers cost rises and boundaries fall");
  }
}

}  // namespace

void CheckPrior(const PriorKnowledge& prior, std::span<const Decision> decisions,
                const ChoiceMask& mask) {
  for (const auto& [metric, cost] : prior.costs) CheckCost(cost, decisions);
  for (const auto& [metric, cost] : prior.estimates) CheckCost(cost, decisions);
  CheckFeatures(prior.features, decisions.size());
  CheckRelevance(prior.relevance, decisions.size());
  CheckFront(prior.cover_front, decisions, mask);
}

void CheckLowerBounds(const std::map<std::string, double>& bounds,
                      std::span<const std::string> metrics) {
  for (const auto& [metric, bound] : bounds) {
    Check(
        std::isfinite(bound) && std::find(metrics.begin(), metrics.end(), metric) != metrics.end(),
        "lower bounds are finite and of metrics");
  }
}

}  // namespace msc::gym
