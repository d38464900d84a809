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

/// One thing to choose, out of a finite list.
struct Decision {
  std::string name;                  ///< "conv1"
  std::vector<std::string> choices;  ///< "f32", "bf16", "int8"; never empty
  /// What `values` count, such as "density" or "bits"; empty where choices are names.
  std::string quantity = {};
  std::vector<double> values = {};  ///< by choice, finite; none where choices are names
  bool operator==(const Decision&) const = default;
  /// Whether choices are amounts, and not names in any order.
  [[nodiscard]] bool ordinal() const { return !values.empty(); }
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("name", self.name, "of the decision");
    visit("choices", self.choices, "what it chooses from");
    visit("quantity", self.quantity, "what `values` count; empty where choices are names");
    visit("values", self.values, "amounts that the choices stand for; none where they are names");
  }
};

/// One choice per decision, as indices.
using Assignment = std::vector<std::int32_t>;

/// UserError, naming the decision, unless `assignment` has one choice per decision, in range.
void CheckAssignment(std::span<const Decision> decisions, std::span<const std::int32_t> assignment);
/// UserError unless there is a decision, every name is unique and not empty, each has choices with
/// unique names, and those that count a quantity have a finite value for each choice.
void CheckDecisions(std::span<const Decision> decisions);

/// Which choices the decision after those of `prefix` has, one flag for each; at least one is set.
/// Empty flags mean all, and so does an empty function: nothing is ruled out.
using ChoiceMask = std::function<std::vector<bool>(std::span<const std::int32_t> prefix)>;

/// Whether each choice can follow those before it. `assignment` is in range.
[[nodiscard]] bool IsLegal(const ChoiceMask& mask, const Assignment& assignment);
/// The assignment where it is legal. Else, decision by decision, the choice that the mask leaves
/// nearest to the one wanted, the lower of two. `assignment` is in range.
[[nodiscard]] Assignment MakeLegal(const ChoiceMask& mask, Assignment assignment);
/// Every decision drawn in its order, uniformly among the choices that the mask leaves it.
[[nodiscard]] Assignment DrawLegal(std::span<const Decision> decisions, const ChoiceMask& mask,
                                   Rng& rng);

/// What came of trying an assignment: named numbers ("latency_ratio", "accuracy_drop") or a reason.
struct Evaluation {
  std::map<std::string, double> metrics;  ///< every number finite; empty after a failure
  std::optional<Failure> failure;
  std::string record;  ///< JSON text with all that was measured, for journal and report
  /// By rung of a race, roughest first: those of its rough metrics that count; empty of rungs that
  /// it was not tried on. None where it did not race.
  std::vector<std::map<std::string, double>> rungs = {};
  bool dropped = false;  ///< it stayed at that: metrics are those of its last rung
  /// Whether there are full results.
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
    visit("offset", self.offset, "what all first choices have");
    visit("effects", self.effects, "by decision and choice");
  }
};

/// An assignment whose decisions fall into groups, with what the groups are known to cost one by
/// one: what it takes as a whole is near to `cost` plus a price for each boundary between them.
struct CoverPoint {
  Assignment assignment;
  double cost = 0;
  double boundaries = 0;  ///< groups beyond the first
  bool operator==(const CoverPoint&) const = default;
};

/// A search space and the way to try its points. The capability that search agents and the study
/// need; an Env offers it through Env::problem().
class SearchProblem {
 public:
  SearchProblem() = default;
  SearchProblem(const SearchProblem&) = delete;
  SearchProblem& operator=(const SearchProblem&) = delete;
  virtual ~SearchProblem() = default;

  [[nodiscard]] const std::vector<Decision>& decisions() const { return DoDecisions(); }
  /// Whether there are assignments known, without trying, not to work: those that Mask rules out.
  [[nodiscard]] bool masked() const { return DoMasked(); }
  /// Which choices decision prefix.size() has after those of `prefix`, one flag each, at least one
  /// set; all where the problem is not masked. What has a choice that is ruled out is neither
  /// evaluated nor described. InternalError if the flags are not as said. UserError if `prefix`
  /// does not fit the decisions or is all of them.
  [[nodiscard]] std::vector<bool> Mask(std::span<const std::int32_t> prefix) const;
  /// Mask as agents are given it; empty where the problem is not masked. Not beyond its life.
  [[nodiscard]] ChoiceMask MaskFunction() const;
  /// Names of the metrics that a successful evaluation has, all "smaller is better".
  [[nodiscard]] std::vector<std::string> metrics() const { return DoMetrics(); }
  /// Assignments worth trying before any search, best guess first: baselines with their names.
  [[nodiscard]] std::vector<std::pair<std::string, Assignment>> Anchors() const;
  using Done = std::function<void(std::size_t index, const Evaluation&)>;
  /// Tries each; reports each once, in any order, from this thread. UserError, before anything is
  /// tried, if one does not fit the decisions or is ruled out. Stops early, leaving some
  /// unreported, when `stop` says true. InternalError if an evaluation misses a metric or has one
  /// that is not finite.
  void Evaluate(std::span<const Assignment> batch, const Done& done,
                const std::function<bool()>& stop = {});
  /// How many ways there are to evaluate that take less time and are less exact: on fewer samples,
  /// with fewer repeats. Often 0.
  [[nodiscard]] std::size_t rungs() const { return DoRungs(); }
  /// Evaluate in one of them: 0 is the roughest. InternalError where there is none such.
  void EvaluateRoughly(std::size_t rung, std::span<const Assignment> batch, const Done& done,
                       const std::function<bool()>& stop = {});
  /// What was found before, each assignment once, in order, by a study that goes on now: for
  /// problems that treat an assignment by what came before it.
  void Recall(const Assignment& assignment, const Evaluation& evaluation) {
    DoRecall(assignment, evaluation);
  }
  /// Metrics that are known, without trying anything, to be sums over the decisions: what exact
  /// methods need. Empty for most problems. InternalError if one does not fit the decisions.
  [[nodiscard]] std::map<std::string, AdditiveCost> AdditiveCosts() const;
  /// What metrics are expected to be, as sums over the decisions: guesses from what each decision
  /// does alone, the gradient of a proxy by finite differences. Agents begin with them and mend
  /// them by results; the scale of one may be off. Empty where nothing is known. InternalError if
  /// one does not fit the decisions.
  [[nodiscard]] std::map<std::string, AdditiveCost> Estimates() const;
  /// What can be known of each decision without trying: one row each, all of one length, finite;
  /// empty where nothing is. InternalError if they are not as said.
  [[nodiscard]] std::vector<std::vector<double>> Features() const;
  /// How much of what is measured is expected to hang on each decision, known without trying: one
  /// number >= 0 each, in any unit, such as the multiply-adds of its layers. Empty where nothing is
  /// known. A guess, which agents take back by results. InternalError if it is not as said.
  [[nodiscard]] std::vector<double> Relevance() const;
  /// The assignments that would be best, each for some price of a boundary, from price 0 on: cost
  /// rises, boundaries fall. Empty where nothing is known of groups: for most problems. Found by an
  /// exact method, without trying anything. InternalError if it is not as said.
  [[nodiscard]] std::vector<CoverPoint> CoverFront() const;
  /// Of metrics, values that no assignment comes below, as far as they are known without trying
  /// any: a metric is left out where none is known. May take a second, of measuring what the
  /// machine does at most. InternalError if one is not finite or of no metric.
  [[nodiscard]] std::map<std::string, double> LowerBounds() const;
  /// How many it works on at one time. >= 1.
  [[nodiscard]] std::size_t parallelism() const { return DoParallelism(); }
  /// What the assignment means, as JSON text: the strategy it stands for. UserError if it does not
  /// fit the decisions or is ruled out.
  [[nodiscard]] std::string Describe(const Assignment& assignment) const;
  /// Hash of everything that decides what an assignment means: decisions, model, settings.
  [[nodiscard]] std::string Hash() const { return DoHash(); }

 private:
  /// UserError unless it is one of this problem's, and legal.
  void CheckLegal(const Assignment& assignment) const;
  /// Fully where there is no `rung`.
  void Run(std::optional<std::size_t> rung, std::span<const Assignment> batch, const Done& done,
           const std::function<bool()>& stop);
  [[nodiscard]] virtual const std::vector<Decision>& DoDecisions() const = 0;
  [[nodiscard]] virtual bool DoMasked() const { return false; }
  /// Called only where DoMasked says true, with a prefix that fits.
  [[nodiscard]] virtual std::vector<bool> DoMask(std::span<const std::int32_t> /*prefix*/) const {
    return {};
  }
  [[nodiscard]] virtual std::vector<std::string> DoMetrics() const = 0;
  /// `done` and `stop` can always be called.
  virtual void DoEvaluate(std::span<const Assignment> batch, const Done& done,
                          const std::function<bool()>& stop) = 0;
  [[nodiscard]] virtual std::size_t DoRungs() const { return 0; }
  /// As DoEvaluate; `rung` is below DoRungs.
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

/// The choices by decision name as JSON text, in the order of the decisions: {"conv1":"int8"}.
/// UserError if the assignment does not fit.
[[nodiscard]] std::string ChoicesAsJson(std::span<const Decision> decisions,
                                        const Assignment& assignment);
/// Product of the numbers of choices; infinity where it overflows a double.
[[nodiscard]] double SpaceSize(std::span<const Decision> decisions);
/// How many assignments the problem's mask leaves: SpaceSize where there is no mask, else counted.
/// Nothing where that takes more than `most_masks` calls of Mask.
[[nodiscard]] std::optional<double> LegalSize(const SearchProblem& problem,
                                              std::size_t most_masks = 20000);

}  // namespace msc::gym
