#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/core/problem.h"
#include "gym/study/objective.h"

namespace msc::gym {

struct RaceOptions {
  std::size_t keep_one_in = 4;     ///< one in so many of a stage's results so far advances; >= 2
  std::size_t pairs = 10;          ///< the first so many candidates run all stages; >= 3
  std::size_t audit_one_in = 10;   ///< one in so many later candidates runs all stages; >= 1
  double least_correlation = 0.7;  ///< lowest accepted rank correlation of rough and full results
};

/// A problem that evaluates candidates by asynchronous successive halving. A stage is a
/// rough, cheaper evaluation. Each candidate starts at the roughest stage and advances to the next,
/// and finally to the full evaluation, only if it is among the best results of the stage so far.
/// The others are dropped: their Evaluation is marked so and holds the metrics of their last stage.
///
/// Racing helps only if rough results rank candidates like full results do. The race checks this on
/// candidates that run all stages regardless of their rank. A stage is disabled, and `listener`
/// reports why, if the rank correlation between its values of a metric and the full values is too
/// low, or cannot be computed because only one of the two is constant. If no stage is left, every
/// candidate is evaluated fully. Source: L. Li et al., "A system for massively parallel
/// hyperparameter tuning", 2020, section 3.
///
/// The decision to drop a candidate depends on results in the order of batches only. A resumed
/// study restores the race by Recall.
class RacingProblem final : public SearchProblem {
 public:
  using Listener = std::function<void(const std::string& text)>;
  /// `inner` supports rough evaluation and outlives this object. UserError if it has no rough
  /// stage.
  RacingProblem(SearchProblem& inner, Objective objective, RaceOptions options, Listener listener);

  /// Returns whether any stage is still enabled.
  [[nodiscard]] bool racing() const noexcept;

 private:
  /// Sort key of a rough result.
  struct Rank {
    std::vector<double> objectives;
    double violation = 0;
  };

  [[nodiscard]] const std::vector<Decision>& DoDecisions() const override {
    return inner_.decisions();
  }
  [[nodiscard]] bool DoMasked() const override { return inner_.masked(); }
  [[nodiscard]] std::vector<bool> DoMask(std::span<const std::int32_t> prefix) const override {
    return inner_.Mask(prefix);
  }
  [[nodiscard]] std::vector<std::string> DoMetrics() const override { return inner_.metrics(); }
  void DoEvaluate(std::span<const Assignment> batch, const Done& done,
                  const std::function<bool()>& stop) override;
  void DoRecall(const Assignment& assignment, const Evaluation& evaluation) override;
  [[nodiscard]] std::vector<std::pair<std::string, Assignment>> DoAnchors() const override {
    return inner_.Anchors();
  }
  [[nodiscard]] PriorKnowledge DoPrior() const override { return inner_.Prior(); }
  [[nodiscard]] std::size_t DoParallelism() const override { return inner_.parallelism(); }
  [[nodiscard]] std::string DoDescribe(const Assignment& assignment) const override {
    return inner_.Describe(assignment);
  }
  [[nodiscard]] std::string DoHash() const override { return inner_.Hash() + "+race"; }

  /// State of one stage.
  struct Stage {
    bool live = true;        ///< candidates still run on it
    std::vector<Rank> seen;  ///< all its results
    /// By metric of the objective: rough and full values of the candidates that ran all stages.
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> pairs;
  };
  /// A candidate that is still in the race.
  struct Racer {
    std::size_t place = 0;  ///< index in the batch
    bool kept = false;      ///< runs all stages regardless of its rank
    std::vector<std::map<std::string, double>> rough_metrics;  ///< by stage, as in Evaluation
  };

  /// Counts a candidate; returns whether it runs all stages regardless of its rank.
  [[nodiscard]] bool CountRacer();
  [[nodiscard]] bool AmongBest(const Stage& stage, const Rank& rank) const;
  [[nodiscard]] Rank RankOf(const std::map<std::string, double>& metrics) const;
  /// Returns only the metrics of the objective; others, such as times, may differ between stages.
  [[nodiscard]] std::map<std::string, double> ObjectiveMetrics(
      const std::map<std::string, double>& metrics) const;
  /// Evaluates racers on a stage. Returns those that advance and reports the others.
  [[nodiscard]] std::vector<Racer> RunStage(std::size_t number, std::vector<Racer> racers,
                                            std::span<const Assignment> batch, const Done& done,
                                            const std::function<bool()>& stop);
  /// Adds the result of a complete candidate to the pairs of every stage that it ran on.
  void AddPairs(const Evaluation& evaluation);
  /// Checks a result from a journal, which may hold anything. UserError if such a race cannot have
  /// produced it.
  void CheckRecalled(const Evaluation& evaluation) const;
  /// Returns why rough values of a metric do not rank candidates like full values; "" if they do.
  [[nodiscard]] std::string DoubtOf(const std::string& metric, std::span<const double> rough,
                                    std::span<const double> full) const;
  void DisableUninformativeStages();
  void DisableStage(std::size_t number, const std::string& why);

  SearchProblem& inner_;
  Objective objective_;
  RaceOptions options_;
  Listener listener_;
  std::vector<Stage> stages_;  ///< roughest first
  std::size_t raced_ = 0;      ///< candidates with a result on some stage
};

}  // namespace msc::gym
