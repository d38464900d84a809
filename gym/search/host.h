#pragma once

#include <string>

#include "cost/measure/metric_run.h"
#include "gym/search/task_registry.h"

namespace msc::gym {

/// Receives what a search reports while it runs, and may stop it. A search calls it from the thread
/// that runs the search only. A search prints nothing itself.
class SearchListener {
 public:
  SearchListener() = default;
  SearchListener(const SearchListener&) = delete;
  SearchListener& operator=(const SearchListener&) = delete;
  virtual ~SearchListener() = default;

  /// Receives that the config fits the model, before anything is prepared or written.
  virtual void ReportStart() {}
  /// Takes a note on the config, which may be shown once the config is known to fit the model.
  virtual void AddNote(const std::string& text) { ReportLine(text); }
  /// Receives the state of the current phase, which replaces the state before:
  /// "[trial 7/50] best 1.234 ms | eta 00:01:00". The text up to the first space or ']' names the
  /// phase. Called often.
  virtual void ReportProgress(const std::string& /*text*/) {}
  /// Receives a line that the user should keep, such as what a phase found.
  virtual void ReportLine(const std::string& /*text*/) {}
  /// Receives a warning.
  virtual void Warn(const std::string& /*text*/) {}
  /// Returns whether the search should stop soon and keep what it has. Once true it stays true.
  /// Called often.
  [[nodiscard]] virtual bool StopRequested() { return false; }
};

/// What a search needs of the program that runs it.
struct SearchHost {
  std::string program;       ///< path of mscgym, which measuring child processes run
  SearchListener& listener;  ///< outlives the search
  /// What a search can decide; outlives the search.
  const TaskRegistry& tasks = BuiltInTasks();
  /// Metrics of quality.metrics that are functions of this process.
  cost::MetricFunctions metric_functions = {};
};

}  // namespace msc::gym
