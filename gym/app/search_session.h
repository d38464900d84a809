#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compiler/base/passing_folder.h"
#include "gym/app/command.h"
#include "gym/app/search_config.h"
#include "gym/app/search_measuring.h"
#include "gym/app/search_run.h"
#include "gym/app/search_time.h"
#include "gym/app/trial_time.h"

namespace msc::gym {

/// A run directory that goes away with this.
class PassingRun {
 public:
  PassingRun();
  [[nodiscard]] RunPaths paths() const { return {folder_.path()}; }

 private:
  PassingFolder folder_;
};

struct SessionOptions {
  std::string program;  ///< path of mscgym: measuring children run it
  std::string folder;   ///< for the files of a search; empty: one that goes with the session
  std::string cache;    ///< folder of outcomes; empty: within that
  int workers = 1;      ///< candidates measured at a time, each on cores of its own
};

/// The env of a config with all it lives on, for a caller that does the searching himself: the
/// model is read, calibrated and prepared, and candidates can be measured.
class SearchSession {
 public:
  /// Takes as long as preparing a search. UserError as LoadSearch and PrepareSearch, or
  /// MakeDistillTask where it Trains, where the folder holds a search, and where the
  /// number of workers is not between 1 and 1024.
  SearchSession(SearchConfig config, const SessionOptions& options);
  [[nodiscard]] Env& env() const { return *env_; }
  /// Another env like it, made at once: it lives on the same model, scales, estimates and processes
  /// that measure, and not beyond this. One of them at a time may be in use.
  [[nodiscard]] std::unique_ptr<Env> MakeEnv();
  [[nodiscard]] const SearchConfig& config() const { return config_; }
  [[nodiscard]] const Graph& graph() const { return *prepared_.graph; }  ///< canonical
  /// What comes after the trials of a search of this, by what a trial takes; not where it Trains.
  [[nodiscard]] TailTime TailAfter(const TrialTime& trial, std::size_t workers) const;
  /// Makes a trial where none was made for this yet. Nothing where `stop` said true before it
  /// ended.
  [[nodiscard]] std::optional<TrialTime> TimeOneTrial(const std::function<bool()>& stop);
  /// What recipes train; nullptr where none are searched.
  [[nodiscard]] const std::shared_ptr<const envs::DistillTask>& task() const { return task_; }

 private:
  void PrepareMeasuring(const SessionOptions& options);
  void PrepareTraining();

  SearchConfig config_;
  AppContext context_;
  std::optional<PassingRun> passing_;
  RunPaths paths_;
  Prepared prepared_;
  std::optional<Measuring> measuring_;
  std::shared_ptr<const envs::DistillTask> task_;
  std::unique_ptr<Env> env_;
  std::optional<TrialTime> trial_time_;
};

}  // namespace msc::gym
