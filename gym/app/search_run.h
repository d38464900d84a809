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

/// Paths in a run directory.
struct RunPaths {
  std::string folder;
  [[nodiscard]] std::string At(const std::string& name) const { return folder + "/" + name; }
  [[nodiscard]] std::string journal() const { return At("trials.journal"); }
  [[nodiscard]] std::string prepared() const { return At("prepared"); }
  [[nodiscard]] std::string results() const { return At("results.json"); }
  [[nodiscard]] std::string best() const { return At("best"); }
  [[nodiscard]] std::string nearest() const { return At("nearest"); }
};

/// State of a search before its first trial.
struct Prepared {
  TargetRegistry targets;
  std::vector<std::string> runners;    ///< specs of all targets that may run a candidate
  std::shared_ptr<const Graph> graph;  ///< canonical
  /// The start strategy with its weights read; nullptr if the search starts from the model.
  std::shared_ptr<const Strategy> base;
  std::map<std::string, TensorScale> scales;  ///< of activations
  /// Scales by each method of the config's quantize.ranges.
  std::map<std::string, std::map<std::string, TensorScale>> scales_by_range;
  std::vector<double> unit_scores;  ///< of channels; empty if none are pruned
  std::string fit_hash;  ///< hash of the samples that candidates are fitted to; empty = none
  /// Kernels with schedules to choose from; nullptr if schedules are not searched.
  std::shared_ptr<const std::vector<ScheduledKernel>> kernels;
  /// Precisions that the target does not support, by layer.
  std::map<std::string, std::vector<Precision>> lacked;
  /// Likewise for the config's compress.targets, by spec.
  std::map<std::string, std::map<std::string, std::vector<Precision>>> lacked_on;
  EstimateTable estimates;  ///< without costs if no decisions were tried alone
  bool labelled = false;
  std::vector<std::string> warnings;          ///< about the samples that judge finalists
  std::vector<std::string> shortened;         ///< what time_budget_s left no time for
  std::shared_ptr<const CoverProblem> cover;  ///< of Partition-v0, with measured costs
  cost::MachineFacts machine;
};

/// Returns whether candidates may have fewer channels.
[[nodiscard]] bool Prunes(const SearchConfig& config);
/// Returns whether candidates may be fitted to calibration samples, by pruning or rounding.
[[nodiscard]] bool FitsCandidates(const SearchConfig& config);
/// Returns whether the search assigns regions of the model to targets.
[[nodiscard]] bool Places(const SearchConfig& config);
/// Returns the targets, besides the config's own, that may run candidates or parts of them in the
/// config's env.
[[nodiscard]] std::vector<std::string> OfferedTargets(const SearchConfig& config);
/// Returns whether candidates may also be trained.
[[nodiscard]] bool TrainsCandidates(const SearchConfig& config);
/// Returns whether schedules may be decided along with other decisions.
[[nodiscard]] bool WishesSchedules(const SearchConfig& config);
/// Returns whether energy is an objective or constraint, and therefore measured.
[[nodiscard]] bool NamesEnergy(const SearchConfig& config);
/// Returns whether the search decides how a compressed model is trained (search_recipe.h).
[[nodiscard]] bool Trains(const SearchConfig& config);
/// Returns whether the search decides schedules only: all candidates are the same model.
[[nodiscard]] bool Schedules(const SearchConfig& config);
/// Returns the strategy that all candidates share before decisions: the start strategy, or the
/// uncompressed model on the config's target.
[[nodiscard]] Strategy StartOf(const SearchConfig& config, const Prepared& prepared);
/// Returns the context of the search's env. The evaluator outlives it.
[[nodiscard]] envs::EnvContext SearchContext(const SearchConfig& config, const Prepared& prepared,
                                             cost::Evaluator& evaluator);
/// Makes the env that the config names; it has a problem(). UserError if the model has no
/// decisions.
[[nodiscard]] std::unique_ptr<Env> MakeSearchEnv(const SearchConfig& config,
                                                 const envs::EnvContext& context);

/// Describes the decisions of a search, whether bounds rule its goal out, and its expected time. To
/// estimate the time it runs one trial; it measures nothing else, except region costs for a search
/// of partitions (Places). Leaves nothing behind but the cached costs.
void DryRun(const AppContext& context, const SearchConfig& asked, std::size_t workers);

/// Imports and canonicalizes the model and resolves all names in the config except the data. Writes
/// nothing, so an invalid config leaves no run directory behind. UserError naming what is unknown.
[[nodiscard]] Prepared LoadSearch(const SearchConfig& config);

/// Loads the data, calibrates, computes the outputs of the uncompressed model, and writes the files
/// for measuring children into the run directory. A resumed run reads existing files back, so that
/// scales, and with them the search space, stay the same.
void PrepareSearch(const AppContext& context, const SearchConfig& config, const RunPaths& paths,
                   const TimeBudget& time, Prepared& prepared);
/// The part of PrepareSearch for a search of partitions (Places): measures region costs and stores
/// them in the run directory. If `time` is limited, only whole graphs may exceed its part
/// (time_parts), and regions without a measured cost are excluded. Throws if a stop is requested.
void PrepareCover(const AppContext& context, const SearchConfig& config, const RunPaths& paths,
                  const TimeBudget& time, Prepared& prepared);

/// All results of a search.
struct SearchResult {
  StudyResult study;
  Findings findings;
  /// The best trial's strategy, if the search was stopped before it measured finalists.
  std::optional<Strategy> so_far;
};

/// Judges the best trials again on the samples of PlanFinals (fresh_samples.h), until enough of
/// them (config.finalists) satisfy the limits or eight times as many were judged. Times those that
/// do, together with the config's targets to compare with. If none satisfies the limits, times the
/// nearest. Continues with more trials while none satisfies the constraints on time. If the best is
/// slower than the uncompressed model, chooses the latter, provided it satisfies the limits
/// (search_winner.h). Fills the findings from judged_from to timing_part; leaves them unchanged
/// when stopped. `say` receives progress texts.
///
/// If time is short, judges fewer trials and times them once, for a part of the time. Results that
/// it has no time for are taken from the trials, so that there is always a result. `shortened` of
/// the findings says so.
void MeasureFinalists(const SearchConfig& config, SearchProblem& problem,
                      cost::LocalEvaluator& evaluator, const FinalTime& time,
                      const std::function<void(const std::string&)>& say,
                      const std::function<bool()>& stop, SearchResult& result);

/// Writes results.json, pareto.json, sensitivity.csv and best/, or nearest/ if there is no best.
/// Returns the findings with the fields that are known only after writing: pairs and kept.
[[nodiscard]] Findings WriteResults(const SearchConfig& config, const RunPaths& paths,
                                    const Prepared& prepared, const SearchResult& result);

struct WrittenReport {
  bool finished = false;  ///< the search had results; otherwise the page shows its trials only
  std::string loss;       ///< damaged records that are missing (JournalText)
};
/// Renders report.html from the journal of a run directory; needs no other file. UserError if the
/// journal lacks required records.
WrittenReport WriteReport(const RunPaths& paths);

/// Writes a page that compares the searches of `folders` by their journals. Returns the damage in
/// these journals. UserError if the searches are of different models or objectives.
[[nodiscard]] std::vector<std::string> WriteComparison(const std::vector<std::string>& folders,
                                                       const std::string& file);

/// Returns the closing table, for a terminal.
[[nodiscard]] std::string Summary(const SearchConfig& config, const RunPaths& paths,
                                  const SearchResult& result);

}  // namespace msc::gym
