#include "gym/search/live_run.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "gym/search/text.h"
#include "gym/study/timeline.h"

namespace msc::gym {
namespace {

std::string Made(const RunPaths& paths) {
  MakeFolders(paths.folder);
  MakeFolders(paths.At("logs"));
  return paths.journal();
}

/// Time used before the study begins or resumes; after that the journal holds it.
struct TimeFile {
  std::string format = "msc-time-1";
  double used = 0;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-time-1"}));
    visit("used", self.used, "seconds", Within{0, 1e12});
  }
};

std::string TimePath(const RunPaths& paths) {
  return paths.At("time.json");
}

double UsedBefore(const std::vector<std::string>& records, const RunPaths& paths) {
  const double told = records.empty() ? 0 : UsedIn(records);
  const std::string path = TimePath(paths);
  if (!std::filesystem::exists(path)) return told;
  return std::max(told, FromJsonText<TimeFile>(ReadFile(path), "'" + path + "'").used);
}

}  // namespace

LiveRunOptions LiveOptionsOf(const SearchOptions& options) {
  return {.log_level = options.log_level,
          .resume = options.force_resume ? Resume::kForced : Resume::kSame};
}

LiveRun::LiveRun(const SearchConfig& config, const RunPaths& paths, TimeBudget& time,
                 const LiveRunOptions& options, SearchListener& listener)
    : config_(config),
      paths_(paths),
      time_(time),
      listener_(listener),
      resume_(options.resume),
      journal_(Made(paths)),
      log_(paths.At("logs/search.log"), options.log_level,
           [&listener](const std::string& text) { listener.Warn(text); }),
      resumed_(!journal_.records().empty()),
      began_(std::chrono::steady_clock::now()) {
  for (const std::string& warning : journal_.warnings()) log_.Warn(warning);
  time_.AddEarlier(UsedBefore(journal_.records(), paths_));
  // A resume rewrites the config only once the journal has accepted it.
  if (!resumed_) WriteFileAtomic(paths_.At("config.json"), ToJson(config_));
}

LiveRun::~LiveRun() {
  // A rejected resume leaves the run directory unchanged.
  if (!resumed_ || !waits_ || std::uncaught_exceptions() == 0) return;
  std::error_code ignored;
  std::filesystem::remove(TimePath(paths_), ignored);
}

void LiveRun::LogAttempt(const cost::Attempt& attempt) {
  using End = cost::Attempt::End;
  const auto seconds = [&](std::chrono::steady_clock::time_point time) {
    return std::max(0.0, std::chrono::duration<double>(time - began_).count());
  };
  const TaskSpan task{.worker = attempt.worker,
                      .strategy = attempt.blob,
                      .from = seconds(attempt.from),
                      .to = seconds(attempt.to),
                      .end = attempt.end == End::kResult ? "result"
                             : attempt.end == End::kLost ? "lost"
                                                         : "nothing"};
  // A journal starts and resumes with its study; earlier tasks wait for that.
  if (waits_) {
    waiting_.push_back(ToJson(task));
  } else {
    journal_.Append(ToJson(task));
  }
}

void LiveRun::Tick() {
  // The journal syncs every record, so ticks are at least a second apart.
  constexpr double kSeconds = 1;
  const double used = time_.Used();
  if (used - ticked_ < kSeconds) return;
  ticked_ = used;
  if (waits_) {
    WriteFileAtomic(TimePath(paths_), ToJsonText(TimeFile{.used = used}) + "\n");
  } else {
    journal_.Append(TickRecord(used));
  }
}

StudyResult LiveRun::RunTrials(SearchProblem& problem, Agent& agent, const SearchStart& start,
                               const TrialHooks& hooks) {
  StudyOptions options;
  options.seed = config_.seed;
  options.trials = config_.trials + start.seeds.known.size();
  options.time = &time_;
  options.stop = ToStopRules(config_.stop);
  options.confirm = hooks.confirm;
  options.agent = config_.agent;
  options.objective = ToObjective(config_.objective);
  options.resume = resume_;
  options.tool_version = MSC_VERSION;
  options.machine = cost::CpuFingerprint(start.setup.machine);
  options.seeds = start.seeds.trials;
  options.known = start.seeds.known;
  StudyResult study = RunStudy(
      problem, agent, journal_, options,
      [&](const Progress& progress) {
        // The first call: the journal has accepted the resume, so the log may say so.
        if (progress.last == nullptr) {
          KeepSetup(start.setup);
          log_.Info(resumed_ ? "trials continue" : "trials begin");
        }
        const double tail = hooks.tail(progress);
        time_.Reserve(tail);
        listener_.ReportProgress(ProgressText(progress, std::chrono::duration<double>(tail)));
      },
      [this] { return listener_.StopRequested(); });
  if (resumed_) WriteFileAtomic(paths_.At("config.json"), ToJson(config_));
  time_.Reserve(0);
  log_.Info("trials ended: " + std::string(Name(study.stop)));
  return study;
}

void LiveRun::KeepSetup(const SearchSetup& setup) {
  waits_ = false;
  std::filesystem::remove(TimePath(paths_));
  for (const std::string& task : std::exchange(waiting_, {})) journal_.Append(task);
  const std::string record = ToRecord(setup);
  const SearchRecords found = FindSearchRecords(journal_.records());
  if (!found.setup || ToRecord(*found.setup) != record) journal_.Append(record);
}

void LiveRun::StoreFindings(const Findings& findings) {
  journal_.Append(TickRecord(time_.Used()));
  journal_.Append(ToRecord(findings));
}

std::optional<Findings> LiveRun::StoredFindings() const {
  return FindSearchRecords(journal_.records()).findings;
}

}  // namespace msc::gym
