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
  std::size_t keep_one_in = 4;     ///< of the results of a rung so far; >= 2
  std::size_t pairs = 10;          ///< candidates evaluated all ways before any is dropped; >= 3
  std::size_t audit_one_in = 10;   ///< later candidates that are never dropped; >= 1
  double least_correlation = 0.7;  ///< between the ranks in rough and in full results
};

/// A problem whose candidates race: each is evaluated on the roughest rung first, and goes on to
/// the next, and at last to a full evaluation, only if it is among the best of all results of its
/// rung so far. The rest are dropped: their Evaluation says so and holds the metrics of their last
/// rung. Asynchronous successive halving.
///
/// Racing is worth something only where rough results rank candidates as full ones do. That is
/// watched on candidates that are evaluated on all rungs whatever they are: a rung where the ranks
/// of a metric that the objective names correlate too little with those of full results, or cannot
/// as only one of the two is always the same, is left out from then on, and `say` hears why. Where
/// none is left, every candidate is evaluated fully.
/// Source: L. Li et al., "A system for massively parallel hyperparameter tuning", 2020, section 3.
///
/// Which are dropped depends on results in the order of batches only. A study that is resumed lets
/// it Recall, and goes on as it was.
class RacingProblem final : public SearchProblem {
 public:
  using Say = std::function<void(const std::string& text)>;
  /// `inner` can be evaluated roughly and outlives it. UserError if not.
  RacingProblem(SearchProblem& inner, Objective objective, RaceOptions options, Say say);

  /// Whether candidates still race on any rung.
  [[nodiscard]] bool racing() const noexcept;

 private:
  /// What ranks a rough result: what is sought, and how far its constraints are from being kept.
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
  [[nodiscard]] std::map<std::string, AdditiveCost> DoAdditiveCosts() const override {
    return inner_.AdditiveCosts();
  }
  [[nodiscard]] std::map<std::string, AdditiveCost> DoEstimates() const override {
    return inner_.Estimates();
  }
  [[nodiscard]] std::vector<std::vector<double>> DoFeatures() const override {
    return inner_.Features();
  }
  [[nodiscard]] std::vector<double> DoRelevance() const override { return inner_.Relevance(); }
  [[nodiscard]] std::vector<CoverPoint> DoCoverFront() const override {
    return inner_.CoverFront();
  }
  [[nodiscard]] std::map<std::string, double> DoLowerBounds() const override {
    return inner_.LowerBounds();
  }
  [[nodiscard]] std::size_t DoParallelism() const override { return inner_.parallelism(); }
  [[nodiscard]] std::string DoDescribe(const Assignment& assignment) const override {
    return inner_.Describe(assignment);
  }
  [[nodiscard]] std::string DoHash() const override { return inner_.Hash() + "+race"; }

  /// What the results of one rung were so far.
  struct Rung {
    bool live = true;        ///< candidates are tried on it
    std::vector<Rank> seen;  ///< all its results
    /// By metric that the objective names: values here and in full, of those evaluated all ways.
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> pairs;
  };
  /// A candidate on its way up.
  struct Racer {
    std::size_t place = 0;  ///< in the batch
    bool kept = false;      ///< it is evaluated on all rungs whatever it is
    std::vector<std::map<std::string, double>> rungs;  ///< as in Evaluation
  };

  /// Whether the next candidate to race is evaluated on all rungs whatever it is.
  [[nodiscard]] bool CountRacer();
  [[nodiscard]] bool AmongBest(const Rung& rung, const Rank& rank) const;
  [[nodiscard]] Rank RankOf(const std::map<std::string, double>& metrics) const;
  /// What the objective names: the rest may differ by its nature, such as times.
  [[nodiscard]] std::map<std::string, double> Named(
      const std::map<std::string, double>& metrics) const;
  /// Tries racers on a rung; returns those that go on, and reports the others.
  [[nodiscard]] std::vector<Racer> Climb(std::size_t number, std::vector<Racer> racers,
                                         std::span<const Assignment> batch, const Done& done,
                                         const std::function<bool()>& stop);
  /// Adds to the pairs of every rung that it was tried on. It is complete.
  void Pair(const Evaluation& evaluation);
  /// UserError unless it can come from such a race: journals may hold anything.
  void CheckRecalled(const Evaluation& evaluation) const;
  /// Why rough values of a metric do not rank candidates as full ones do; "" where they do.
  [[nodiscard]] std::string DoubtOf(const std::string& metric, std::span<const double> rough,
                                    std::span<const double> full) const;
  void Watch();
  void LeaveOut(std::size_t number, const std::string& why);

  SearchProblem& inner_;
  Objective objective_;
  RaceOptions options_;
  Say say_;
  std::vector<Rung> rungs_;  ///< roughest first
  std::size_t raced_ = 0;    ///< candidates with a result on some rung
};

}  // namespace msc::gym
