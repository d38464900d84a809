#include "envs/common/strategy_problem.h"

#include <algorithm>
#include <map>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/compress/prune/prune.h"
#include "compiler/ir/serialize.h"
#include "envs/common/evaluation.h"

namespace msc::envs {

StrategyProblem::StrategyProblem(std::string_view id, const EnvContext& context)
    : id_(id), context_(context) {
  if (context.graph == nullptr || context.evaluator == nullptr) {
    throw UserError(id_ + " needs a model and a way to measure; use it through a search");
  }
  model_hash_ = GraphHash(*context.graph);
}

Strategy StrategyProblem::Undecided() const {
  if (context_.base != nullptr) return *context_.base;
  Strategy strategy;
  strategy.model_hash = model_hash_;
  strategy.target = context_.target;
  return strategy;
}

std::vector<std::string> StrategyProblem::DoMetrics() const {
  return MetricNames(context_.labels, context_.energy);
}

void StrategyProblem::DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                                 const std::function<bool()>& stop) {
  Measure(cost::Measure::kQualityAndLatency, batch, done, stop);
}

void StrategyProblem::DoEvaluateRoughly(std::size_t rung, std::span<const gym::Assignment> batch,
                                        const Done& done, const std::function<bool()>& stop) {
  Measure(rung == 0 ? cost::Measure::kRoughest : cost::Measure::kRough, batch, done, stop);
}

void StrategyProblem::Measure(cost::Measure what, std::span<const gym::Assignment> batch,
                              const Done& done, const std::function<bool()>& stop) {
  std::vector<cost::Candidate> candidates;
  for (const gym::Assignment& assignment : batch) {
    candidates.push_back({.strategy = StrategyOf(assignment), .measure = what});
  }
  const auto report = [&](std::size_t index, const Result<cost::Outcome>& result) {
    done(index, ToEvaluation(result, StrategyHash(candidates.at(index).strategy)));
  };
  context_.evaluator->Evaluate(candidates, report, stop);
}

std::vector<std::vector<double>> StrategyProblem::DoFeatures() const {
  std::vector<std::vector<double>> rows = OwnFeatures();
  for (const std::string_view metric : {kDistillLoss, kLatency}) {
    std::vector<double> ranges(rows.size(), 0.0);
    if (const auto it = context_.estimates.find(std::string(metric));
        it != context_.estimates.end()) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto [least, most] = std::ranges::minmax(it->second.effects.at(i));
        ranges[i] = most - least;
      }
    }
    const double largest = rows.empty() ? 0 : std::ranges::max(ranges);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].push_back(largest > 0 ? ranges[i] / largest : 0);
    }
  }
  return rows;
}

std::map<std::string, double> StrategyProblem::DoLowerBounds() const {
  std::map<std::string, double> bounds;
  for (const std::string_view metric :
       {kLatency, kLatencyMs, kDistillLoss, kDisagreement, kPeakBytes}) {
    bounds.emplace(metric, 0.0);
  }
  if (context_.energy == EnergyMetric::kPresent) bounds.emplace(kEnergy, 0.0);
  const gym::Assignment smallest = Smallest();
  if (smallest.empty()) return bounds;
  const Strategy strategy = StrategyOf(smallest);
  Graph graph = *context_.graph;
  ApplyPrunePlan(strategy.prune, graph);
  // Whatever else stays, each weight is there once, in the narrowest type that a reader allows.
  std::map<ValueId, double> bytes;
  for (const WeightedLayer& layer : FindWeightedLayers(graph)) {
    const auto it = strategy.quantize.layers.find(graph.node(layer.node).name);
    const Precision precision =
        it == strategy.quantize.layers.end() ? Precision::kF32 : ParsePrecision(it->second);
    const double width = precision == Precision::kInt8 ? 1 : precision == Precision::kBF16 ? 2 : 4;
    const double own = width * static_cast<double>(graph.constant(layer.weight)->size());
    const auto [place, is_new] = bytes.emplace(layer.weight, own);
    if (!is_new) place->second = std::min(place->second, own);
  }
  double least = 0;
  for (const auto& [weight, size] : bytes) least += size;
  bounds.emplace(kWeightBytes, least);
  return bounds;
}

gym::Assignment StrategyProblem::LastChoices() const {
  gym::Assignment last;
  for (const gym::Decision& decision : decisions()) {
    last.push_back(static_cast<std::int32_t>(decision.choices.size()) - 1);
  }
  return last;
}

std::size_t StrategyProblem::DoParallelism() const {
  return context_.evaluator->parallelism();
}

std::string StrategyProblem::DoDescribe(const gym::Assignment& assignment) const {
  return ToJson(StrategyOf(assignment));
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

double LatencyAndLossReward(const gym::Evaluation& evaluation) {
  constexpr double kFailure = -10.0;
  if (evaluation.failure) return kFailure;
  return -evaluation.metrics.at(std::string(kLatency)) -
         evaluation.metrics.at(std::string(kDistillLoss));
}

gym::DecisionEnvSetup MeasuredEnv(std::string_view id, const EnvContext& context) {
  return {.facts = {.id = std::string(id), .nondeterministic = true},
          .reward = context.reward ? context.reward : LatencyAndLossReward,
          .violation = context.violation};
}

}  // namespace msc::envs
