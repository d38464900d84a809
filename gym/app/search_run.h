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
#include "gym/app/estimate_table.h"
#include "gym/app/search_config.h"
#include "gym/app/search_findings.h"
#include "gym/app/search_time.h"
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
  EstimateTable estimates;  ///< without costs where no decisions were tried alone
  bool labelled = false;
  std::vector<std::string> warnings;          ///< about the samples that finalists are judged on
  std::vector<std::string> shortened;         ///< what time_budget_s left no time for
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
                   const TimeBudget& time, Prepared& prepared);
/// The part of it that Places: measures what regions cost, and keeps it in the run directory. Where
/// `time` is limited, only whole graphs may take longer than its part (time_parts), and regions
/// that are not measured are not offered. An exception where a stop is requested.
void PrepareCover(const AppContext& context, const SearchConfig& config, const RunPaths& paths,
                  const TimeBudget& time, Prepared& prepared);

/// All that a search found.
struct SearchResult {
  StudyResult study;
  Findings findings;
  /// The best trial's, where the search was stopped before it measured finalists.
  std::optional<Strategy> so_far;
};

/// Judges the best trials again, on the samples that PlanFinals (fresh_samples.h) says, until as
/// many as the config wants keep the limits or eight times as many were judged; times those that
/// do, together and with what the config compares with. Where none does, the nearest are timed.
/// More of them follow while none keeps the constraints on time. A best that is slower than the
/// uncompressed model gives way to that, where it keeps the limits (search_winner.h). Fills all of
/// the findings from judged_from to timing_part; leaves them as they are when stopped. `say` hears
/// how far it is.
///
/// In a limited time fewer are judged, and timed once in a part of the time; what that does not
/// suffice for is as its trial found it, so that there is an answer in any case. The findings'
/// `shortened` says so.
void MeasureFinalists(const SearchConfig& config, SearchProblem& problem,
                      cost::LocalEvaluator& evaluator, const FinalTime& time,
                      const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, SearchResult& result);

/// Writes results.json, pareto.json, sensitivity.csv and best/; nearest/ instead where there is no
/// best. Returns the findings, with what only the written tells: pairs and kept.
[[nodiscard]] Findings WriteResults(const SearchConfig& config, const RunPaths& paths,
                                    const Prepared& prepared, const SearchResult& result);

struct WrittenReport {
  bool finished = false;  ///< the search had come to its results; if not, the page shows its trials
  std::string loss;       ///< what of the journal is damaged and left out: see JournalText
};
/// Renders report.html from the journal of a run directory, which needs to hold nothing else.
/// UserError where the journal lacks what the page shows.
WrittenReport WriteReport(const RunPaths& paths);

/// A page that compares the searches of `folders` by their journals. Returns what of those is
/// damaged and left out. UserError where they are of several models, or for several objectives.
[[nodiscard]] std::vector<std::string> WriteComparison(const std::vector<std::string>& folders,
                                                       const std::string& file);

/// The closing table, for a terminal.
[[nodiscard]] std::string Summary(const SearchConfig& config, const RunPaths& paths,
                                  const SearchResult& result);

}  // namespace msc::gym
