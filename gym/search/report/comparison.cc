#include "gym/search/report/comparison.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "gym/report/comparison_page.h"
#include "gym/search/config.h"
#include "gym/search/findings.h"
#include "gym/search/record.h"
#include "gym/search/report/axes.h"
#include "gym/search/report/text.h"
#include "gym/search/run_paths.h"
#include "gym/study/front.h"

namespace msc::gym {
namespace {

/// Content of a search's journal.
struct Read {
  SearchSetup setup;
  ComparedRun run;
  std::string loss;
};

std::optional<Measured> SpeedUpOf(const Findings& findings) {
  // `best` of a search of recipes is an index into `recipes`, not into the timed finalists.
  if (!findings.best || findings.finalists.empty()) return std::nullopt;
  const Result<cost::Outcome>& result = findings.finalists.at(*findings.best).result;
  return result.ok() ? SpeedUp(result.value()) : std::nullopt;
}

/// Returns the last component of a path, such as "run" for "runs/run/".
std::string NameOf(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

Read ReadOne(const std::string& folder) {
  const RunPaths paths{folder};
  const JournalText journal = ReadJournal(paths.journal());
  const SearchRecords found = FindSearchRecords(journal.records);
  Read read;
  read.loss = journal.loss;
  read.setup = SetupIn(found, journal, paths.journal());
  const SearchConfig& config = read.setup.config;
  const Objective objective = ToObjective(config.objective);
  read.run = {
      .name = NameOf(folder), .agent = config.agent, .env = config.env, .seed = config.seed};
  FeasibleFront front(objective);
  const double scale = AxisOf(objective.minimize.front(), read.setup).scale;
  double seconds = 0;
  for (const Trial& trial : ReadStudy(journal.records).trials) {
    // Repeated trials copy earlier results and took no time.
    seconds += trial.repeated ? 0 : trial.seconds;
    ComparedTrial& compared = read.run.trials.emplace_back();
    compared.seconds = seconds;
    read.run.failed += trial.evaluation.failure ? 1 : 0;
    read.run.repeated += trial.repeated ? 1 : 0;
    (void)front.Add(trial);
    if (IsFeasible(objective, trial)) {
      compared.value = ObjectiveValues(objective, trial.evaluation).front() / scale;
    }
  }
  read.run.volume = front.Volume();
  if (found.findings) read.run.speed_up = SpeedUpOf(*found.findings);
  return read;
}

}  // namespace

std::vector<std::string> WriteComparison(const std::vector<std::string>& folders,
                                         const std::string& file) {
  ComparisonView view;
  std::vector<std::string> losses;
  std::optional<SearchSetup> first;
  for (const std::string& folder : folders) {
    Read read = ReadOne(folder);
    if (!first) {
      first = read.setup;
    } else if (read.setup.model_hash != first->model_hash) {
      throw UserError("'" + folder + "' searched another model than '" + folders.front() +
                      "': searches of one model are compared");
    } else if (ToObjective(read.setup.config.objective) != ToObjective(first->config.objective)) {
      throw UserError("'" + folder + "' was searched for another objective than '" +
                      folders.front() + "': searches for one objective are compared");
    }
    if (!read.loss.empty()) losses.push_back(std::move(read.loss));
    view.runs.push_back(std::move(read.run));
  }
  const Objective objective = ToObjective(first->config.objective);
  view.model = std::filesystem::path(first->config.model).filename().string();
  view.created = NowText();
  view.tool = std::string("mscgym ") + MSC_VERSION;
  const ReportAxis axis = AxisOf(objective.minimize.front(), *first);
  view.metric = axis.title + (axis.unit.empty() ? "" : " (" + axis.unit + ")");
  view.constraint = ConstraintText(first->config.objective);
  WriteFileAtomic(file, RenderComparison(view));
  return losses;
}

}  // namespace msc::gym
