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

namespace msc {
class Rng;
}  // namespace msc

namespace msc::gym {

/// One choice to make out of a finite list.
struct Decision {
  std::string name;                  ///< "conv1"
  std::vector<std::string> choices;  ///< "f32", "bf16", "int8"; never empty
  /// The quantity that `values` measure, such as "density" or "bits"; empty if choices are only
  /// names.
  std::string quantity = {};
  /// One finite value per choice; empty if choices are only names.
  std::vector<double> values = {};
  bool operator==(const Decision&) const = default;
  /// Returns whether choices are amounts with an order, not only names.
  [[nodiscard]] bool ordinal() const { return !values.empty(); }
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("name", self.name, "name of the decision");
    visit("choices", self.choices, "choices of the decision");
    visit("quantity", self.quantity, "quantity of `values`; empty if choices are names");
    visit("values", self.values, "amounts that the choices stand for; empty if they are names");
  }
};

/// One choice index per decision.
using Assignment = std::vector<std::int32_t>;

/// Throws UserError, naming the decision, unless `assignment` has one choice per decision, in
/// range.
void CheckAssignment(std::span<const Decision> decisions, std::span<const std::int32_t> assignment);
/// Throws UserError unless there is at least one decision, every name is unique and not empty, each
/// decision has choices with unique names, and each decision with a quantity has a finite value for
/// each choice.
void CheckDecisions(std::span<const Decision> decisions);

/// Returns one flag for each choice of the decision that follows `prefix`: whether it is legal
/// after those choices. At least one flag is set. Empty flags, or an empty function, mean that all
/// are legal.
using ChoiceMask = std::function<std::vector<bool>(std::span<const std::int32_t> prefix)>;

/// Returns whether every choice is legal after those before it. `assignment` is in range.
[[nodiscard]] bool IsLegal(const ChoiceMask& mask, const Assignment& assignment);
/// Returns a legal assignment near `assignment`: decision by decision the legal choice with the
/// nearest index, the lower one of two. A legal assignment is returned as it is. `assignment` is in
/// range.
[[nodiscard]] Assignment MakeLegal(const ChoiceMask& mask, Assignment assignment);
/// Draws the decisions in their order, each uniformly from its legal choices.
[[nodiscard]] Assignment DrawLegal(std::span<const Decision> decisions, const ChoiceMask& mask,
                                   Rng& rng);

/// Result of evaluating an assignment: named metrics ("latency_ratio", "accuracy_drop") or a
/// failure.
struct Evaluation {
  std::map<std::string, double> metrics;  ///< finite; empty after a failure
  std::optional<Failure> failure;
  std::string record;  ///< JSON text with all measurements, for journal and report
  /// For each round of a race, roughest first: the rough metrics that the objective names; an entry
  /// is empty if the candidate was not evaluated in that round. Empty if it did not race.
  std::vector<std::map<std::string, double>> rungs = {};
  /// Whether the race dropped the candidate: `metrics` are then those of its last round.
  bool dropped = false;
  /// Returns whether there are full results.
  [[nodiscard]] bool Complete() const { return !failure && !dropped; }
  bool operator==(const Evaluation&) const = default;
};

/// A metric that is a sum over the decisions: metric(a) = offset + sum over i of effects[i][a[i]].
struct AdditiveCost {
  double offset = 0;
  std::vector<std::vector<double>> effects;  ///< by decision and choice
  bool operator==(const AdditiveCost&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("offset", self.offset, "cost of all first choices together");
    visit("effects", self.effects, "by decision and choice");
  }
};

/// An assignment that splits the decisions into groups (regions), with the known sum of the costs
/// of the groups. The cost of the whole is near `cost` plus a price for each boundary between
/// groups.
struct CoverPoint {
  Assignment assignment;
  double cost = 0;
  double boundaries = 0;  ///< number of groups - 1
  bool operator==(const CoverPoint&) const = default;
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
  [[nodiscard]] std::size_t rungs() const { return DoRungs(); }
  /// Evaluates as Evaluate does, but in mode `rung`; 0 is the roughest. Throws InternalError if
  /// there is no such mode.
  void EvaluateRoughly(std::size_t rung, std::span<const Assignment> batch, const Done& done,
                       const std::function<bool()>& stop = {});
  /// Passes an earlier result of a resumed study to the problem, each assignment once, in order.
  /// For problems whose evaluation depends on earlier results.
  void Recall(const Assignment& assignment, const Evaluation& evaluation) {
    DoRecall(assignment, evaluation);
  }
  /// Returns the metrics that are exact sums over the decisions, known without evaluating anything;
  /// exact methods need them. Empty for most problems. Throws InternalError if one does not fit the
  /// decisions.
  [[nodiscard]] std::map<std::string, AdditiveCost> AdditiveCosts() const;
  /// Returns estimates of metrics as sums over the decisions: the effect of each decision alone, a
  /// finite-difference gradient of a proxy. Agents start from them and correct them by results; the
  /// scale of one may be wrong. Empty if there are none. Throws InternalError if one does not fit
  /// the decisions.
  [[nodiscard]] std::map<std::string, AdditiveCost> Estimates() const;
  /// Returns a feature vector for each decision, known without evaluating anything: all of the same
  /// length, finite. Empty if there are none. Throws InternalError if they are malformed.
  [[nodiscard]] std::vector<std::vector<double>> Features() const;
  /// Returns the expected influence of each decision on the metrics, known without evaluating
  /// anything: one number >= 0 each, in any unit, such as the multiply-adds of its layers. A guess
  /// that agents correct by results. Empty if unknown. Throws InternalError if it is malformed.
  [[nodiscard]] std::vector<double> Relevance() const;
  /// Returns the best assignment for each of several prices per boundary, from price 0 on, found by
  /// an exact method without evaluating anything: cost rises and boundaries fall along the list.
  /// Empty if no costs of groups are known, as for most problems. Throws InternalError if it is
  /// malformed.
  [[nodiscard]] std::vector<CoverPoint> CoverFront() const;
  /// Returns lower bounds of metrics over all assignments, known without evaluating any; a metric
  /// without a known bound is missing. May take a second to measure the peak performance of the
  /// machine. Throws InternalError if a bound is not finite or belongs to no metric.
  [[nodiscard]] std::map<std::string, double> LowerBounds() const;
  /// Returns how many assignments the problem evaluates at the same time, >= 1.
  [[nodiscard]] std::size_t parallelism() const { return DoParallelism(); }
  /// Returns the meaning of the assignment as JSON text, such as the strategy that it stands for.
  /// Throws UserError if it does not fit the decisions or is illegal.
  [[nodiscard]] std::string Describe(const Assignment& assignment) const;
  /// Returns a hash of everything that the meaning of an assignment depends on: decisions, model,
  /// settings.
  [[nodiscard]] std::string Hash() const { return DoHash(); }

 private:
  /// Throws UserError unless `assignment` fits the decisions and is legal.
  void CheckLegal(const Assignment& assignment) const;
  /// Evaluates in mode `rung`, or fully if it is absent.
  void Run(std::optional<std::size_t> rung, std::span<const Assignment> batch, const Done& done,
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
  [[nodiscard]] virtual std::size_t DoRungs() const { return 0; }
  /// Implements EvaluateRoughly. `rung` < DoRungs(); `done` and `stop` are never empty.
  virtual void DoEvaluateRoughly(std::size_t /*rung*/, std::span<const Assignment> /*batch*/,
                                 const Done& /*done*/, const std::function<bool()>& /*stop*/) {}
  virtual void DoRecall(const Assignment& /*assignment*/, const Evaluation& /*evaluation*/) {}
  [[nodiscard]] virtual std::vector<std::pair<std::string, Assignment>> DoAnchors() const {
    return {};
  }
  [[nodiscard]] virtual std::map<std::string, AdditiveCost> DoAdditiveCosts() const { return {}; }
  [[nodiscard]] virtual std::map<std::string, AdditiveCost> DoEstimates() const { return {}; }
  [[nodiscard]] virtual std::vector<std::vector<double>> DoFeatures() const { return {}; }
  [[nodiscard]] virtual std::vector<double> DoRelevance() const { return {}; }
  [[nodiscard]] virtual std::vector<CoverPoint> DoCoverFront() const { return {}; }
  [[nodiscard]] virtual std::map<std::string, double> DoLowerBounds() const { return {}; }
  [[nodiscard]] virtual std::size_t DoParallelism() const { return 1; }
  [[nodiscard]] virtual std::string DoDescribe(const Assignment& assignment) const = 0;
  [[nodiscard]] virtual std::string DoHash() const = 0;
};

/// Returns the choices by decision name as JSON text, in the order of the decisions:
/// {"conv1":"int8"}. Throws UserError if the assignment does not fit.
[[nodiscard]] std::string ChoicesAsJson(std::span<const Decision> decisions,
                                        const Assignment& assignment);
/// Returns the product of the numbers of choices; infinity if it overflows a double.
[[nodiscard]] double SpaceSize(std::span<const Decision> decisions);
/// Returns the number of legal assignments: SpaceSize if there is no mask, else counted one by one.
/// Nothing if counting takes more than `most_masks` calls of Mask.
[[nodiscard]] std::optional<double> LegalSize(const SearchProblem& problem,
                                              std::size_t most_masks = 20000);

}  // namespace msc::gym
