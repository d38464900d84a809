#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "compiler/base/temporary_folder.h"
#include "gym/core/env.h"
#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/measuring.h"
#include "gym/search/phase_time.h"
#include "gym/search/prepare.h"
#include "gym/search/run_paths.h"
#include "gym/search/task.h"
#include "gym/search/trial_time.h"

namespace msc::gym {

/// A temporary run directory, removed with this object.
class TemporaryRun {
 public:
  TemporaryRun();
  [[nodiscard]] RunPaths paths() const { return {folder_.path()}; }

 private:
  TemporaryFolder folder_;
};

struct SessionOptions {
  std::string folder;  ///< run directory; empty = a temporary one
  std::string cache;   ///< folder of cached outcomes; empty = inside `folder`
  int workers = 1;     ///< candidates measured in parallel, each on its own cores
};

/// The env of a config and everything below it, for callers that search by themselves: the model is
/// loaded, calibrated and prepared, and candidates can be measured.
class SearchSession {
 public:
  /// Takes as long as preparing a search. UserError as LoadSearch and PrepareSearch, if the folder
  /// holds a search, or if the number of workers is not between 1 and 1024.
  SearchSession(SearchConfig config, const SessionOptions& options, const SearchHost& host);
  [[nodiscard]] Env& env() const { return *env_; }
  /// Returns another env like it at once. It shares this session's model, scales, estimates and
  /// measuring processes and must not outlive it. Only one env of a session may be in use at a
  /// time.
  [[nodiscard]] std::unique_ptr<Env> MakeEnv();
  [[nodiscard]] const SearchTask& task() const { return task_; }
  [[nodiscard]] const SearchConfig& config() const { return config_; }
  [[nodiscard]] const Graph& graph() const { return *prepared_.graph; }  ///< canonical
  /// Returns the expected time of the phases after the trials, from the time of a trial, for a task
  /// that is measured.
  [[nodiscard]] TailTime TailAfter(const TrialTime& trial, std::size_t workers) const;
  /// Runs a trial unless this session has timed one before. Returns nothing if `stop` returned true
  /// before its end.
  [[nodiscard]] std::optional<TrialTime> TimeOneTrial(const std::function<bool()>& stop);

 private:
  void PrepareMeasured(const SessionOptions& options);
  void PrepareUnmeasured();

  SearchHost host_;
  const SearchTask& task_;
  SearchConfig config_;
  std::optional<TemporaryRun> temporary_;
  RunPaths paths_;
  Prepared prepared_;
  std::optional<Measuring> measuring_;
  ProblemFactory problems_;
  std::unique_ptr<Env> env_;
  std::optional<TrialTime> trial_time_;
};

}  // namespace msc::gym
