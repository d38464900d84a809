#include "gym/search/session.h"

#include <filesystem>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "cost/measure/folder.h"
#include "envs/common/strategy_problem.h"
#include "gym/search/calibration.h"
#include "gym/search/env.h"
#include "gym/search/estimates.h"
#include "gym/search/settle_target.h"

namespace msc::gym {
namespace {

constexpr const char* kRunPrefix = "mscgym-run-";

/// Returns the folder of temporary files, after removing those that killed processes left behind.
std::string SweptTemporary() {
  std::string folder = std::filesystem::temp_directory_path().string();
  SweepTemporaryFolders(folder, kRunPrefix);
  return folder;
}

}  // namespace

TemporaryRun::TemporaryRun() : folder_(SweptTemporary(), kRunPrefix) {
  MakeFolders(paths().At("scratch"));
}

SearchSession::SearchSession(SearchConfig config, const SessionOptions& options,
                             const SearchHost& host)
    : host_(host), task_(host.tasks.Get(config.env)), config_(std::move(config)) {
  if (options.workers < 1 || options.workers > 1024) {
    throw UserError("'workers' must be between 1 and 1024");
  }
  config_.env = task_.spec().id;
  task_.SetDefaults(config_);
  SettleTarget(nullptr, host_.listener, config_);
  SettleBits(nullptr, config_);
  SettleBatch(config_);
  if (task_.measured()) {
    PrepareMeasured(options);
  } else {
    PrepareUnmeasured();
  }
}

void SearchSession::PrepareMeasured(const SessionOptions& options) {
  prepared_ = LoadSearch(task_, config_);
  if (options.folder.empty()) {
    paths_ = temporary_.emplace().paths();
  } else {
    paths_.folder = options.folder;
    if (std::filesystem::exists(paths_.journal())) {
      throw UserError("'" + options.folder + "' holds a search; name another folder");
    }
    MakeFolders(paths_.At("scratch"));
  }
  const TimeBudget time(config_.time_budget_s);
  problems_ = PrepareSearch(task_, host_, config_, paths_, time, prepared_);
  measuring_.emplace(host_, paths_, prepared_,
                     MeasuringOptions{.workers = options.workers, .cache = options.cache});
  env_ = MakeEnv();
  PrepareEstimates(
      host_, config_, paths_, time, envs::AsStrategyProblem(*env_->problem()), *measuring_,
      [this](const std::string& text) { host_.listener.ReportProgress(text); },
      [this] { return host_.listener.StopRequested(); }, prepared_);
  if (!prepared_.estimates.costs.empty()) env_ = MakeEnv();  // again, with the estimates
}

void SearchSession::PrepareUnmeasured() {
  prepared_ = LoadUnmeasured(config_);
  const TimeBudget time(config_.time_budget_s);
  CalibrationSamples calibration(config_.calibration, *prepared_.graph);
  problems_ = task_.Prepare({.host = host_,
                             .config = config_,
                             .paths = paths_,
                             .time = time,
                             .calibration = calibration,
                             .prepared = prepared_});
  env_ = MakeEnv();
}

std::unique_ptr<Env> SearchSession::MakeEnv() {
  cost::Evaluator* evaluator = measuring_ ? &measuring_->evaluator() : nullptr;
  return MakeTaskEnv(task_, config_, problems_(ContextOf(config_, prepared_, evaluator)));
}

TailTime SearchSession::TailAfter(const TrialTime& trial, std::size_t workers) const {
  const std::int64_t samples = cost::OpenFolder(paths_.prepared()).samples;
  const std::int64_t tried = prepared_.estimates.tried;
  return ExpectedTail(config_, *env_->problem(),
                      {.trial_s = trial.mean,
                       .samples = samples,
                       .sample_s = prepared_.sample_s,
                       .tried = tried,
                       .workers = workers});
}

std::optional<TrialTime> SearchSession::TimeOneTrial(const std::function<bool()>& stop) {
  if (!trial_time_) trial_time_ = TimeTrial(task_, host_, paths_, *env_->problem(), stop);
  return trial_time_;
}

}  // namespace msc::gym
