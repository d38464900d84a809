#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/strategy/strategy.h"
#include "cost/model/evaluator.h"
#include "envs/register.h"
#include "gym/core/decision_env.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// A problem whose assignments stand for strategies of one model, each measured by the context's
/// evaluator: what all tools' problems share. A tool says which decisions there are and which
/// strategy an assignment is. The first choice of every decision leaves the model as it is.
///
/// Features end with two columns, in [0, 1]: how much a decision is expected to do to the
/// distillation loss and to the latency, of what the decision does that does most: by the context's
/// estimates, of latency where there are none by its Relevance; else 0.
class StrategyProblem : public gym::SearchProblem {
 public:
  /// UserError, naming the env `id`, if the context lacks a model or an evaluator.
  StrategyProblem(std::string_view id, const EnvContext& context);

 protected:
  [[nodiscard]] const EnvContext& context() const { return context_; }
  /// Of the graph, model and target set, nothing decided but what the context begins with.
  [[nodiscard]] Strategy Undecided() const;

 private:
  [[nodiscard]] virtual Strategy StrategyOf(const gym::Assignment& assignment) const = 0;
  /// A strategy whose layers all have the fewest channels and the narrowest types that any
  /// assignment gives them, as bounds.h takes it. What else is decided does not matter.
  [[nodiscard]] virtual Strategy Least() const = 0;
  /// Of each decision, what is known of its layers: a row of Features but for the last two.
  [[nodiscard]] virtual std::vector<std::vector<double>> OwnFeatures() const = 0;
  /// What the meaning of choices depends on besides the model and the target; part of the hash.
  [[nodiscard]] virtual std::string Meaning() const { return {}; }

  [[nodiscard]] std::vector<std::string> DoMetrics() const override;
  void DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override;
  [[nodiscard]] std::size_t DoRungs() const override { return 2; }
  void DoEvaluateRoughly(std::size_t rung, std::span<const gym::Assignment> batch, const Done& done,
                         const std::function<bool()>& stop) override;
  void Measure(cost::Measure what, std::span<const gym::Assignment> batch, const Done& done,
               const std::function<bool()>& stop);
  [[nodiscard]] std::map<std::string, gym::AdditiveCost> DoEstimates() const override {
    return context_.estimates;
  }
  [[nodiscard]] std::vector<std::vector<double>> DoFeatures() const override;
  [[nodiscard]] std::map<std::string, double> DoLowerBounds() const override;
  /// All that may run a candidate or a part of it.
  [[nodiscard]] std::vector<std::string> Runners() const;
  [[nodiscard]] std::size_t DoParallelism() const override;
  [[nodiscard]] std::string DoDescribe(const gym::Assignment& assignment) const override;
  [[nodiscard]] std::string DoHash() const override;

  std::string id_;
  EnvContext context_;
  std::string model_hash_;
};

/// -(latency ratio) - distill loss: both dimensionless and near 0 to 1; a failed candidate earns
/// less than any that ran.
[[nodiscard]] double LatencyAndLossReward(const gym::Evaluation& evaluation);

/// How the env `id` walks a problem whose candidates are measured: with the context's reward.
[[nodiscard]] gym::DecisionEnvSetup MeasuredEnv(std::string_view id, const EnvContext& context);

}  // namespace msc::envs
