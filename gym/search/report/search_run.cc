#include "gym/search/report/search_run.h"

#include <utility>

#include "gym/search/losses.h"
#include "gym/search/recipe_finalists.h"

namespace msc::gym {

SearchRun ReadRun(const RunPaths& paths, const TaskRegistry& tasks) {
  const JournalText journal = ReadJournal(paths.journal());
  SearchRecords found = FindSearchRecords(journal.records);
  SearchRun run;
  run.loss = journal.loss;
  run.setup = SetupIn(found, journal, paths.journal());
  run.task = &tasks.Get(run.setup.config.env);
  run.study = ReadStudy(journal.records);
  run.tasks = TasksOf(journal.records);
  // Absent while a search runs, or after a kill.
  run.finished = found.findings.has_value();
  if (run.finished) run.findings = *std::move(found.findings);
  // Findings of recipes are stored after every training.
  if (!run.task->measured()) {
    run.finished = run.finished && run.study.stop != StopReason::kInterrupted &&
                   (AllTrained(run.findings) || !run.findings.shortened.empty());
  }
  return run;
}

std::optional<double> Metric(const Evaluation& evaluation, std::string_view name) {
  const auto it = evaluation.metrics.find(std::string(name));
  if (it == evaluation.metrics.end()) return std::nullopt;
  return it->second;
}

std::optional<double> LossOf(const SearchRun& run, const LayerSensitivity& row) {
  const auto loss = row.losses.find(MainLossOf(run.setup.config));
  return loss == row.losses.end() ? std::nullopt : std::optional(loss->second);
}

}  // namespace msc::gym
