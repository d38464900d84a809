#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/strategy/strategy.h"
#include "cost/model/evaluator.h"
#include "envs/common/model_context.h"
#include "gym/core/problem.h"

namespace msc::envs {

/// A problem whose assignments stand for strategies of one model, each measured by the context's
/// evaluator: the common part of all tools' problems. A derived class defines the decisions and the
/// strategy of an assignment. The first choice of every decision leaves the model unchanged.
///
/// The last two columns of the features are the expected effects of a decision on the distillation
/// loss and on the latency, relative to the largest effect of any decision, so in [0, 1]. They come
/// from the context's estimates; without an estimate of latency from the relevance; else they are
/// 0.
class StrategyProblem : public gym::SearchProblem {
 public:
  /// Throws UserError, naming the env `id`, if the context lacks a model or an evaluator.
  StrategyProblem(std::string_view id, const ModelContext& context);
  /// Returns the strategy that the assignment stands for. Throws UserError as Describe does.
  [[nodiscard]] Strategy StrategyOf(const gym::Assignment& assignment) const;

 protected:
  [[nodiscard]] const ModelContext& context() const { return context_; }
  /// Returns the strategy before any decision: the context's base strategy if there is one, else an
  /// empty one for the model and target.
  [[nodiscard]] Strategy Undecided() const;

 private:
  [[nodiscard]] virtual Strategy DoStrategyOf(const gym::Assignment& assignment) const = 0;
  /// Returns a strategy whose layers all have the fewest channels and the narrowest types that any
  /// assignment gives them, for the lower bounds in bounds.h. Other decisions do not matter.
  /// Nothing: sizes and times have no bound.
  [[nodiscard]] virtual std::optional<Strategy> NarrowestStrategy() const { return std::nullopt; }
  /// Returns what the decisions themselves tell: features, without the last two columns, relevance
  /// and covers. By default the only feature of a decision is its position.
  [[nodiscard]] virtual gym::PriorKnowledge OwnPrior() const;
  /// Returns text for the hash: whatever the meaning of choices depends on besides the model and
  /// the target.
  [[nodiscard]] virtual std::string Meaning() const { return {}; }

  [[nodiscard]] std::vector<std::string> DoMetrics() const override;
  void DoEvaluate(std::span<const gym::Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override;
  [[nodiscard]] std::size_t DoFidelities() const override { return 2; }
  void DoEvaluateRoughly(std::size_t fidelity, std::span<const gym::Assignment> batch,
                         const Done& done, const std::function<bool()>& stop) override;
  /// Evaluates the strategies of `batch` with the effort `what`.
  void Measure(cost::Measure what, std::span<const gym::Assignment> batch, const Done& done,
               const std::function<bool()>& stop);
  /// Adds the context's estimates, the last two columns of the features and the lower bounds.
  [[nodiscard]] gym::PriorKnowledge DoPrior() const final;
  [[nodiscard]] std::map<std::string, double> LowerBounds() const;
  /// Returns the specs of all targets that may run a candidate or a part of it.
  [[nodiscard]] std::vector<std::string> Runners() const;
  [[nodiscard]] std::size_t DoParallelism() const override;
  /// The first choices, unless the derived class has better ones.
  [[nodiscard]] std::vector<std::pair<std::string, gym::Assignment>> DoAnchors() const override;
  [[nodiscard]] std::string DoDescribe(const gym::Assignment& assignment) const override;
  [[nodiscard]] std::string DoHash() const override;

  std::string id_;
  ModelContext context_;
  std::string model_hash_;
};

/// Returns the problem of a task whose candidates are strategies (SearchTask::measured) as such.
/// Throws InternalError for any other problem.
[[nodiscard]] StrategyProblem& AsStrategyProblem(gym::SearchProblem& problem);

}  // namespace msc::envs
