#include "envs/common/strategy_problem.h"

#include "compiler/base/error.h"
#include "compiler/base/hash.h"
#include "compiler/ir/serialize.h"
#include "cost/model/evaluator.h"
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
  Strategy strategy;
  strategy.model_hash = model_hash_;
  strategy.target = context_.target;
  return strategy;
}

std::vector<std::string> StrategyProblem::DoMetrics() const {
  return MetricNames(context_.labels);
}

void StrategyProblem::DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                                 const std::function<bool()>& stop) {
  std::vector<cost::Candidate> candidates;
  for (const gym::Assignment& assignment : batch) {
    candidates.push_back({.strategy = StrategyOf(assignment)});
  }
  const auto report = [&](std::size_t index, const Result<cost::Outcome>& result) {
    done(index, ToEvaluation(result, StrategyHash(candidates.at(index).strategy)));
  };
  context_.evaluator->Evaluate(candidates, report, stop);
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
  hash.Add(Meaning());
  return hash.Hex();
}

double LatencyAndLossReward(const gym::Evaluation& evaluation) {
  constexpr double kFailure = -10.0;
  if (evaluation.failure) return kFailure;
  return -evaluation.metrics.at(std::string(kLatency)) -
         evaluation.metrics.at(std::string(kDistillLoss));
}

}  // namespace msc::envs
