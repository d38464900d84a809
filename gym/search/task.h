#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gym/core/env_registry.h"
#include "gym/core/problem.h"

namespace msc {
class Graph;
struct FitOptions;
struct Strategy;
namespace envs {
struct ModelContext;
}  // namespace envs
}  // namespace msc

namespace msc::gym {

class CalibrationSamples;
class TimeBudget;
struct Findings;
struct Objective;
struct Prepared;
struct ReportInput;
struct RunPaths;
struct SearchConfig;
struct SearchHost;
struct SearchOptions;
struct SearchOutcome;
struct SearchSetup;

/// What a task may use to prepare a search.
struct Preparation {
  const SearchHost& host;
  const SearchConfig& config;
  const RunPaths& paths;  ///< the task may keep files of its own in the run directory
  const TimeBudget& time;
  CalibrationSamples& calibration;  ///< read on first use
  /// Has the graph, the start strategy, the targets and the machine. A task may add runners,
  /// unsupported precisions, and what time_budget_s left no time for.
  Prepared& prepared;
};

/// Makes the problem of a search. Called more than once: again with estimates, and for each env of
/// a session. The context lives only during the call.
using ProblemFactory =
    std::function<std::unique_ptr<SearchProblem>(const envs::ModelContext& context)>;

/// One kind of search: what it decides, how it prepares, and what it adds to results and report.
/// Thread-safe, since it has no state. Only Prepare must be implemented.
///
/// A task whose `Section` names a struct with Fields, kSection and kSectionHelp has that struct as
/// a section of the config (list.h): SearchConfig::section<Section>().
class SearchTask {
 public:
  /// `name` is the word for the key `env` of a config, such as "prune" for Prune-v0.
  SearchTask(EnvSpec spec, std::string name) : spec_(std::move(spec)), name_(std::move(name)) {}
  SearchTask(const SearchTask&) = delete;
  SearchTask& operator=(const SearchTask&) = delete;
  virtual ~SearchTask() = default;

  [[nodiscard]] const EnvSpec& spec() const { return spec_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Returns whether candidates are strategies that child processes measure. Otherwise the problem
  /// evaluates them itself, in this process and one after another.
  [[nodiscard]] virtual bool measured() const { return true; }
  /// Replaces defaults of the config that do not suit the task.
  virtual void SetDefaults(SearchConfig& /*config*/) const {}
  /// Checks the config before anything is measured. Throws UserError.
  virtual void CheckConfig(const SearchConfig& /*config*/, const Graph& /*graph*/) const {}
  /// Returns the specs of targets, besides the config's own, that may run candidates or parts of
  /// them.
  [[nodiscard]] virtual std::vector<std::string> OtherTargets(
      const SearchConfig& /*config*/) const {
    return {};
  }
  /// Returns how candidates are fitted to calibration samples, by pruning, rounding or training;
  /// nothing if none is.
  [[nodiscard]] virtual std::optional<FitOptions> FitOf(const SearchConfig& config) const;
  /// Removes from the config's start strategy what the search decides. Throws UserError if that is
  /// all of it, as for tasks that do not override this.
  virtual void ClearDecided(Strategy& start) const;
  /// Returns whether the first choices of all decisions together are the uncompressed model.
  [[nodiscard]] virtual bool starts_uncompressed() const { return true; }
  /// Prepares the search; may take minutes. UserError if the config does not fit the model.
  [[nodiscard]] virtual ProblemFactory Prepare(const Preparation& preparation) const = 0;
  /// Returns the objective that the reward of an episode follows.
  [[nodiscard]] virtual Objective ForReward(const Objective& objective) const;
  /// Runs a whole search (RunSearch, which has checked the run directory).
  [[nodiscard]] virtual SearchOutcome Run(const SearchConfig& config, const SearchOptions& options,
                                          const SearchHost& host) const;
  /// Adds findings about the best candidate.
  virtual void AddFindings(const Graph& /*graph*/, const Strategy& /*best*/,
                           Findings& /*findings*/) const {}
  /// Adds the task's own part to a report, which has everything that all tasks share.
  virtual void AddToReport(const SearchSetup& /*setup*/, const Findings& /*findings*/,
                           const RunPaths& /*paths*/, ReportInput& /*input*/) const {}

 private:
  EnvSpec spec_;
  std::string name_;
};

}  // namespace msc::gym
