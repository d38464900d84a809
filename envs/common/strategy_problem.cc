#include "envs/common/strategy_problem.h"

#include <algorithm>
#include <map>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "cost/model/evaluator.h"
#include "cost/model/loss.h"
#include "envs/common/evaluation.h"

namespace msc::envs {
namespace {

/// Appends a column of the expected effects on `metric` to the features.
void AddExpectedEffects(std::string_view metric, gym::PriorKnowledge& prior) {
  std::vector<std::vector<double>>& rows = prior.features;
  std::vector<double> ranges(rows.size(), 0.0);
  if (const auto it = prior.estimates.find(std::string(metric)); it != prior.estimates.end()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto [least, most] = std::ranges::minmax(it->second.effects.at(i));
      ranges[i] = most - least;
    }
  } else if (metric == kLatency && !prior.relevance.empty()) {
    ranges = prior.relevance;
  }
  const double largest = rows.empty() ? 0 : std::ranges::max(ranges);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Columns are relative to their largest value, as metrics differ in scale.
    rows[i].push_back(largest > 0 ? ranges.at(i) / largest : 0);
  }
}

}  // namespace

StrategyProblem::StrategyProblem(std::string_view id, const ModelContext& context)
    : id_(id), context_(context) {
  if (context.graph == nullptr || context.evaluator == nullptr) {
    throw UserError(id_ + " needs a model and an evaluator; use it through a search");
  }
  model_hash_ = GraphHash(*context.graph);
}

Strategy StrategyProblem::StrategyOf(const gym::Assignment& assignment) const {
  gym::CheckLegal(decisions(), MaskFunction(), assignment);
  return DoStrategyOf(assignment);
}

Strategy StrategyProblem::Undecided() const {
  if (context_.base != nullptr) return *context_.base;
  Strategy strategy;
  strategy.model_hash = model_hash_;
  strategy.target = context_.target;
  return strategy;
}

std::vector<std::string> StrategyProblem::DoMetrics() const {
  return MetricNames(context_.losses, context_.energy);
}

void StrategyProblem::DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                                 const std::function<bool()>& stop) {
  Measure(cost::Measure::kQualityAndLatency, batch, done, stop);
}

void StrategyProblem::DoEvaluateRoughly(std::size_t fidelity,
                                        std::span<const gym::Assignment> batch, const Done& done,
                                        const std::function<bool()>& stop) {
  Measure(fidelity == 0 ? cost::Measure::kRoughest : cost::Measure::kRough, batch, done, stop);
}

void StrategyProblem::Measure(cost::Measure what, std::span<const gym::Assignment> batch,
                              const Done& done, const std::function<bool()>& stop) {
  std::vector<cost::Candidate> candidates;
  for (const gym::Assignment& assignment : batch) {
    candidates.push_back({.strategy = DoStrategyOf(assignment), .measure = what});
  }
  const auto report = [&](std::size_t index, const Result<cost::Outcome>& result) {
    done(index, ToEvaluation(result, StrategyHash(candidates.at(index).strategy)));
  };
  context_.evaluator->Evaluate(candidates, report, stop);
}

gym::PriorKnowledge StrategyProblem::OwnPrior() const {
  gym::PriorKnowledge prior;
  const auto count = static_cast<double>(decisions().size());
  for (std::size_t i = 0; i < decisions().size(); ++i) {
    prior.features.push_back({static_cast<double>(i) / count});
  }
  return prior;
}

gym::PriorKnowledge StrategyProblem::DoPrior() const {
  gym::PriorKnowledge prior = OwnPrior();
  prior.estimates = context_.estimates;
  for (const std::string_view metric : {cost::kDistillLoss, kLatency}) {
    AddExpectedEffects(metric, prior);
  }
  prior.compute_bounds = [this] { return LowerBounds(); };
  return prior;
}

std::vector<std::string> StrategyProblem::Runners() const {
  std::vector<std::string> specs = context_.other_targets;
  const Strategy start = Undecided();
  specs.push_back(start.target);
  for (const PartitionRegion& region : start.partition) specs.push_back(region.target);
  return specs;
}

std::map<std::string, double> StrategyProblem::LowerBounds() const {
  // Distances from the uncompressed model are >= 0, and the model itself attains 0. Against labels
  // and by users' own metrics it may be beaten.
  std::map<std::string, double> bounds;
  for (const std::string& loss : context_.losses) {
    const bool distance = cost::FindLoss(loss) != nullptr && !cost::IsAgainstLabels(loss);
    if (distance) bounds.emplace(loss, 0.0);
  }
  const std::optional<Strategy> narrowest = NarrowestStrategy();
  if (!narrowest) return bounds;
  const Graph& graph = *context_.graph;
  const Strategy least = NarrowedByTargets(graph, *narrowest, Runners());
  bounds.emplace(kWeightBytes, LeastWeightBytes(graph, least));
  if (!context_.roof) return bounds;
  if (const auto ms = LeastMilliseconds(graph, least, context_.roof()); ms && *ms > 0) {
    bounds.emplace(kLatencyMs, *ms);
  }
  return bounds;
}

std::vector<std::pair<std::string, gym::Assignment>> StrategyProblem::DoAnchors() const {
  return {{"unchanged", gym::Assignment(decisions().size(), 0)}};
}

std::size_t StrategyProblem::DoParallelism() const {
  return context_.evaluator->parallelism();
}

std::string StrategyProblem::DoDescribe(const gym::Assignment& assignment) const {
  return ToJson(DoStrategyOf(assignment));
}

std::string StrategyProblem::DoHash() const {
  Sha256 hash;
  hash.Add(id_ + "\n" + model_hash_ + "\n" + context_.target + "\n");
  for (const gym::Decision& decision : decisions()) {
    hash.Add(decision.name + "\n");
    for (const std::string& choice : decision.choices) hash.Add(choice + "\n");
  }
  if (context_.base != nullptr) hash.Add(StrategyHash(*context_.base) + "\n");
  hash.Add(Meaning());
  return hash.Hex();
}

StrategyProblem& AsStrategyProblem(gym::SearchProblem& problem) {
  auto* strategies = dynamic_cast<StrategyProblem*>(&problem);
  Check(strategies != nullptr, "the candidates of a measured task are strategies");
  return *strategies;
}

}  // namespace msc::envs
