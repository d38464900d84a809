#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/partition/problem.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"
#include "cost/measure/child_protocol.h"
#include "cost/measure/local_evaluator.h"
#include "cost/measure/machine.h"
#include "envs/register.h"
#include "gym/app/command.h"
#include "gym/app/search_config.h"
#include "gym/study/study.h"

namespace msc::gym {

/// Files of a run directory.
struct RunPaths {
  std::string folder;
  [[nodiscard]] std::string At(const std::string& name) const { return folder + "/" + name; }
  [[nodiscard]] std::string journal() const { return At("trials.journal"); }
  [[nodiscard]] std::string prepared() const { return At("prepared"); }
  [[nodiscard]] std::string results() const { return At("results.json"); }
  [[nodiscard]] std::string best() const { return At("best"); }
  [[nodiscard]] std::string nearest() const { return At("nearest"); }
};

/// What a search knows before its first trial.
struct Prepared {
  TargetRegistry targets;
  std::vector<std::string> runners;    ///< specs of all that may run a candidate
  std::shared_ptr<const Graph> graph;  ///< canonical
  /// What the search begins with, its weights read; none where it begins with the model.
  std::shared_ptr<const Strategy> base;
  std::map<std::string, TensorScale> scales;  ///< of activations
  /// And by each method that the config's quantize.ranges lists.
  std::map<std::string, std::map<std::string, TensorScale>> scales_by_range;
  std::vector<double> unit_scores;  ///< of channels; empty where none are pruned
  std::string fit_hash;             ///< of what candidates are fitted to; empty = nothing
  /// What can be chosen of kernels; none where schedules are not searched.
  std::shared_ptr<const std::vector<ScheduledKernel>> kernels;
  /// Precisions that the target does not compute itself, by layer.
  std::map<std::string, std::vector<Precision>> lacked;
  /// Likewise of the config's compress.targets, by spec.
  std::map<std::string, std::map<std::string, std::vector<Precision>>> lacked_on;
  std::map<std::string, AdditiveCost> estimates;  ///< by metric, where decisions were tried alone
  bool labelled = false;
  std::shared_ptr<const CoverProblem> cover;  ///< of Partition-v0, with measured costs
  cost::MachineFacts machine;
};

/// Whether candidates may have fewer channels.
[[nodiscard]] bool Prunes(const SearchConfig& config);
/// Whether candidates may be fitted to calibration samples: pruned, or rounded by them.
[[nodiscard]] bool FitsCandidates(const SearchConfig& config);
/// Whether what is decided is who runs which part of the model.
[[nodiscard]] bool Places(const SearchConfig& config);
/// Targets that may run candidates, or parts of them, beside the config's own, as the env that it
/// names decides.
[[nodiscard]] std::vector<std::string> OfferedTargets(const SearchConfig& config);
/// Whether candidates may be trained beside what else is decided about them.
[[nodiscard]] bool TrainsCandidates(const SearchConfig& config);
/// Whether schedules may be wished for beside what else is decided about candidates.
[[nodiscard]] bool WishesSchedules(const SearchConfig& config);
/// Whether energy is sought or limited, and so measured.
[[nodiscard]] bool NamesEnergy(const SearchConfig& config);
/// Whether what is decided is how a compressed model is trained: see search_recipe.h.
[[nodiscard]] bool Trains(const SearchConfig& config);
/// Whether they are the same model, and only its kernels are written otherwise.
[[nodiscard]] bool Schedules(const SearchConfig& config);
/// What every candidate of a search is but for what is decided: its strategy, or the model as it is
/// on the config's target.
[[nodiscard]] Strategy StartOf(const SearchConfig& config, const Prepared& prepared);
/// What the env of a search is made from. The evaluator outlives it.
[[nodiscard]] envs::EnvContext SearchContext(const SearchConfig& config, const Prepared& prepared,
                                             cost::Evaluator& evaluator);
/// The env that the config names; it has a problem(). UserError if the model has nothing to decide.
[[nodiscard]] std::unique_ptr<Env> MakeSearchEnv(const SearchConfig& config,
                                                 const envs::EnvContext& context);

/// Says what a search would decide, whether bounds rule its goal out, and how long it would take,
/// from one trial: all that it measures, but for regions where these are placed. Leaves nothing
/// behind but their costs.
void DryRun(const AppContext& context, const SearchConfig& asked, std::size_t workers);

/// Imports and canonicalizes the model and looks up all that the config names except the data.
/// Writes nothing: a mistake leaves no run directory behind. UserError naming what is unknown.
[[nodiscard]] Prepared LoadSearch(const SearchConfig& config);

/// Reads the data, calibrates, computes the outputs of the uncompressed model, and leaves in the
/// run directory what measuring children read. What a run that is resumed has already is read back,
/// so that scales and with them the search space stay the same.
void PrepareSearch(const AppContext& context, const SearchConfig& config, const RunPaths& paths,
                   Prepared& prepared);
/// The part of it that Places: measures what regions cost, and keeps it in the run directory. An
/// exception where a stop is requested.
void PrepareCover(const AppContext& context, const SearchConfig& config, const RunPaths& paths,
                  Prepared& prepared);

/// Sensitivity to one decision: what it does if it alone is not as in the uncompressed model.
struct LayerSensitivity {
  std::string layer;                    ///< name of the decision
  std::string choice = "int8";          ///< what was chosen for it
  double distill_loss = 0;              ///< mean KL divergence, nats
  double mse = 0;                       ///< relative
  std::optional<double> accuracy_drop;  ///< percentage points
  std::string failure;                  ///< why there are no numbers; empty if there are
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("layer", self.layer, "name of the decision");
    visit("choice", self.choice, "what was chosen for it");
    visit("distill_loss", self.distill_loss, "mean KL divergence");
    visit("mse", self.mse, "relative squared error");
    visit("accuracy_drop", self.accuracy_drop, "percentage points");
    visit("failure", self.failure, "why there are no numbers");
  }
};

/// One candidate measured again with the others, on the samples of finalists.
struct Finalist {
  std::uint64_t trial = 0;
  Strategy strategy;
  std::string result;  ///< JSON of a Result<cost::Outcome>
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("trial", self.trial, "number of the trial");
    visit("strategy", self.strategy, "what was measured");
    visit("result", self.result, "outcome or failure");
  }
};
[[nodiscard]] Evaluation EvaluationOf(const Finalist& finalist);
/// "accuracy_drop <= 0.3, distill_loss <= 0.1"; empty where nothing is asked.
[[nodiscard]] std::string ConstraintText(const ObjectiveConfig& objective);
struct Findings;
/// "judged on samples 101 to 200, which no trial saw", or "judged on all 200 samples, those of
/// trials included"; empty where no finalist was judged.
[[nodiscard]] std::string JudgedText(const Findings& findings);

/// A trial that looked good enough to be a finalist, and misses a limit on their samples.
struct Rejected {
  std::uint64_t trial = 0;
  std::string result;  ///< JSON of a Result<cost::Outcome>, without latency
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("trial", self.trial, "number of the trial");
    visit("result", self.result, "outcome or failure");
  }
};

/// The uncompressed model on another target, timed beside the finalists.
struct Compared {
  std::string target;  ///< spec
  std::string result;  ///< JSON of a Result<cost::Outcome>, without quality
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("target", self.target, "who ran the uncompressed model");
    visit("result", self.result, "outcome or failure");
  }
};

/// What a search found after its trials. Stored in the journal (search_record.h), so that `mscgym
/// report` needs nothing else, and in results.json for other tools.
struct Findings {
  std::vector<LayerSensitivity> sensitivities;
  std::int64_t probed = 0;       ///< decisions that have one, or would have with more time
  std::int64_t judged_from = 0;  ///< first sample that finalists are judged on; the rest follows
  std::int64_t judged = 0;       ///< how many these are; 0 = no finalist was judged
  std::vector<Finalist> finalists;
  std::vector<Rejected> rejected;
  std::vector<Compared> compared;
  std::optional<std::uint64_t> best;     ///< index into finalists; feasible on all samples
  std::optional<std::uint64_t> nearest;  ///< likewise, where none is best: misses limits by least
  std::vector<cost::Profile> profiles;   ///< of the uncompressed model and of the best
  std::string pairs;  ///< what the best's sums of pairs lose (PairsText); empty = nothing
  std::map<std::string, double> kept;  ///< of the best, where it prunes: KeptShares
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("sensitivities", self.sensitivities, "one decision alone");
    visit("probed", self.probed, "decisions that have one, or would have with more time",
          Within{.least = 0});
    visit("judged_from", self.judged_from, "first sample that finalists are judged on",
          Within{.least = 0});
    visit("judged", self.judged, "samples that finalists are judged on", Within{.least = 0});
    visit("finalists", self.finalists, "measured again together");
    visit("rejected", self.rejected, "judged on all samples, and not timed");
    visit("compared", self.compared, "the uncompressed model elsewhere");
    visit("best", self.best, "index of the best finalist");
    visit("nearest", self.nearest, "index of the nearest where none keeps the limits");
    visit("profiles", self.profiles, "step times of the uncompressed model and of the best");
    visit("pairs", self.pairs, "what the best would lose on CPUs without VNNI");
    visit("kept", self.kept, "share of its channels that a layer of the best keeps");
  }
};

/// All that a search found.
struct SearchResult {
  StudyResult study;
  Findings findings;
  /// The best trial's, where the search was stopped before it measured finalists.
  std::optional<Strategy> so_far;
};

/// Judges the best trials again, on all samples or on those that no trial saw, until as many as the
/// config wants keep the limits or eight times as many were judged; times those that do, together
/// and with what the config compares with. Where none does, the nearest are timed. More of them
/// follow while none keeps the constraints on time. A best that is slower than the uncompressed
/// model gives way to that, where it keeps the limits (search_winner.h). Fills all of the findings
/// from judged_from to profiles; leaves them as they are when stopped. `say` hears how far it is.
void MeasureFinalists(const SearchConfig& config, SearchProblem& problem,
                      cost::LocalEvaluator& evaluator,
                      const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, SearchResult& result);

/// The Pareto set with its metrics: pareto.json.
[[nodiscard]] std::string ParetoJson(const StudyResult& study);

/// Writes results.json, pareto.json, sensitivity.csv and best/; nearest/ instead where there is no
/// best. Returns the findings, with what only the written tells: pairs and kept.
[[nodiscard]] Findings WriteResults(const SearchConfig& config, const RunPaths& paths,
                                    const Prepared& prepared, const SearchResult& result);

/// Renders report.html from the journal of a run directory, which needs to hold nothing else.
/// Whether the search had come to its results; if not, the page shows its trials. UserError where
/// the journal lacks what the page shows.
bool WriteReport(const RunPaths& paths);

/// A page that compares the searches of `folders` by their journals. UserError where they are of
/// several models, or for several objectives.
void WriteComparison(const std::vector<std::string>& folders, const std::string& file);

/// The closing table, for a terminal.
[[nodiscard]] std::string Summary(const SearchConfig& config, const RunPaths& paths,
                                  const SearchResult& result);

}  // namespace msc::gym
