#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/result.h"
#include "gym/core/decision.h"
#include "gym/core/prior_knowledge.h"

namespace msc::gym {

/// Result of evaluating an assignment: named metrics ("latency_ratio", "accuracy_drop") or a
/// failure.
struct Evaluation {
  std::map<std::string, double> metrics;  ///< finite; empty after a failure
  std::optional<Failure> failure = {};
  std::string record = {};  ///< JSON text with all measurements, for journal and report
  /// For each round of a race, roughest first: the rough metrics that the objective names; an entry
  /// is empty if the candidate was not evaluated in that round. Empty if it did not race.
  std::vector<std::map<std::string, double>> rough_metrics = {};
  /// Whether the race dropped the candidate: `metrics` are then those of its last round.
  bool dropped = false;
  /// Returns whether there are full results.
  [[nodiscard]] bool Complete() const { return !failure && !dropped; }
  bool operator==(const Evaluation&) const = default;
};

/// A search space and the evaluation of its points, for search agents and studies. An Env exposes
/// it by Env::problem().
///
/// The public methods check the contract; a derived class implements the Do* methods.
class SearchProblem {
 public:
  SearchProblem() = default;
  SearchProblem(const SearchProblem&) = delete;
  SearchProblem& operator=(const SearchProblem&) = delete;
  virtual ~SearchProblem() = default;

  [[nodiscard]] const std::vector<Decision>& decisions() const { return DoDecisions(); }
  /// Returns whether Mask excludes any assignment, as one that is known not to work.
  [[nodiscard]] bool masked() const { return DoMasked(); }
  /// Returns one flag for each choice of decision prefix.size(): whether it is legal after the
  /// choices in `prefix`. At least one is set; all are if the problem is not masked. Assignments
  /// with an illegal choice are neither evaluated nor described. Throws InternalError if the
  /// problem returns malformed flags, UserError if `prefix` does not fit the decisions or already
  /// has all of them.
  [[nodiscard]] std::vector<bool> Mask(std::span<const std::int32_t> prefix) const;
  /// Returns Mask as a function for agents; empty if the problem is not masked. The problem
  /// outlives it.
  [[nodiscard]] ChoiceMask MaskFunction() const;
  /// Returns the names of the metrics that every successful evaluation has; for all of them smaller
  /// is better.
  [[nodiscard]] std::vector<std::string> metrics() const { return DoMetrics(); }
  /// Returns named baseline assignments to try before any search, the most promising first.
  [[nodiscard]] std::vector<std::pair<std::string, Assignment>> Anchors() const;
  using Done = std::function<void(std::size_t index, const Evaluation&)>;
  /// Evaluates each assignment and reports each once, in any order, from the calling thread. Throws
  /// UserError, before anything is evaluated, if an assignment does not fit the decisions or is
  /// illegal. Returns early, with some assignments unreported, once `stop` returns true. Throws
  /// InternalError if an evaluation lacks a metric or has one that is not finite.
  void Evaluate(std::span<const Assignment> batch, const Done& done,
                const std::function<bool()>& stop = {});
  /// Returns the number of cheaper, less exact evaluation modes (fewer samples, fewer repetitions),
  /// the rounds of a race. Often 0.
  [[nodiscard]] std::size_t fidelities() const { return DoFidelities(); }
  /// Evaluates as Evaluate does, but in mode `fidelity`; 0 is the roughest. Throws InternalError if
  /// there is no such mode.
  void EvaluateRoughly(std::size_t fidelity, std::span<const Assignment> batch, const Done& done,
                       const std::function<bool()>& stop = {});
  /// Passes an earlier result of a resumed study to the problem, each assignment once, in order.
  /// For problems whose evaluation depends on earlier results.
  void Recall(const Assignment& assignment, const Evaluation& evaluation) {
    DoRecall(assignment, evaluation);
  }
  /// Returns what is known without evaluating anything, checked (CheckPrior). Its lower bounds are
  /// checked when they are computed; the problem outlives them. Computes anew in each call.
  [[nodiscard]] PriorKnowledge Prior() const;
  /// Returns how many assignments the problem evaluates at the same time, >= 1.
  [[nodiscard]] std::size_t parallelism() const { return DoParallelism(); }
  /// Returns the meaning of the assignment as JSON text, such as the strategy that it stands for.
  /// Throws UserError if it does not fit the decisions or is illegal.
  [[nodiscard]] std::string Describe(const Assignment& assignment) const;
  /// Returns a hash of everything that the meaning of an assignment depends on: decisions, model,
  /// settings.
  [[nodiscard]] std::string Hash() const { return DoHash(); }

 private:
  /// Evaluates in mode `fidelity`, or fully if it is absent.
  void Run(std::optional<std::size_t> fidelity, std::span<const Assignment> batch, const Done& done,
           const std::function<bool()>& stop);
  [[nodiscard]] virtual const std::vector<Decision>& DoDecisions() const = 0;
  [[nodiscard]] virtual bool DoMasked() const { return false; }
  /// Implements Mask. Called only if DoMasked() is true, with a prefix that fits.
  [[nodiscard]] virtual std::vector<bool> DoMask(std::span<const std::int32_t> /*prefix*/) const {
    return {};
  }
  [[nodiscard]] virtual std::vector<std::string> DoMetrics() const = 0;
  /// Implements Evaluate. `done` and `stop` are never empty.
  virtual void DoEvaluate(std::span<const Assignment> batch, const Done& done,
                          const std::function<bool()>& stop) = 0;
  [[nodiscard]] virtual std::size_t DoFidelities() const { return 0; }
  /// Implements EvaluateRoughly. `fidelity` < DoFidelities(); `done` and `stop` are never empty.
  virtual void DoEvaluateRoughly(std::size_t /*fidelity*/, std::span<const Assignment> /*batch*/,
                                 const Done& /*done*/, const std::function<bool()>& /*stop*/) {}
  virtual void DoRecall(const Assignment& /*assignment*/, const Evaluation& /*evaluation*/) {}
  [[nodiscard]] virtual std::vector<std::pair<std::string, Assignment>> DoAnchors() const {
    return {};
  }
  [[nodiscard]] virtual PriorKnowledge DoPrior() const { return {}; }
  [[nodiscard]] virtual std::size_t DoParallelism() const { return 1; }
  [[nodiscard]] virtual std::string DoDescribe(const Assignment& assignment) const = 0;
  [[nodiscard]] virtual std::string DoHash() const = 0;
};

/// Returns the number of legal assignments: SpaceSize if there is no mask, else counted one by one.
/// Nothing if counting takes more than `most_masks` calls of Mask.
[[nodiscard]] std::optional<double> LegalSize(const SearchProblem& problem,
                                              std::size_t most_masks = 20000);

}  // namespace msc::gym
