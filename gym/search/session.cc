#include "gym/search/session.h"

#include <filesystem>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "cost/measure/folder.h"
#include "gym/search/distill_task.h"
#include "gym/search/env.h"
#include "gym/search/estimates.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"

namespace msc::gym {

namespace {

constexpr const char* kRunPrefix = "mscgym-run-";

/// Returns the folder of temporary files, after removing those that killed processes left behind.
std::string SweptTemporary() {
  std::string folder = std::filesystem::temp_directory_path().string();
  SweepPassingFolders(folder, kRunPrefix);
  return folder;
}

}  // namespace

PassingRun::PassingRun() : folder_(SweptTemporary(), kRunPrefix) {
  MakeFolders(paths().At("scratch"));
}

SearchSession::SearchSession(SearchConfig config, const SessionOptions& options,
                             const SearchHost& host)
    : config_(std::move(config)), host_(host) {
  if (options.workers < 1 || options.workers > 1024) {
    throw UserError("'workers' must be between 1 and 1024");
  }
  if (Trains(config_)) {
    PrepareTraining();
  } else {
    PrepareMeasuring(options);
  }
}

void SearchSession::PrepareMeasuring(const SessionOptions& options) {
  prepared_ = LoadSearch(config_);
  if (options.folder.empty()) {
    paths_ = passing_.emplace().paths();
  } else {
    paths_.folder = options.folder;
    if (std::filesystem::exists(paths_.journal())) {
      throw UserError("'" + options.folder + "' holds a search; name another folder");
    }
    MakeFolders(paths_.At("scratch"));
  }
  const TimeBudget time(config_.time_budget_s);
  PrepareSearch(host_, config_, paths_, time, prepared_);
  measuring_.emplace(host_, paths_, prepared_,
                     MeasuringOptions{.workers = options.workers, .cache = options.cache});
  env_ = MakeEnv();
  PrepareEstimates(
      host_, config_, paths_, time, *env_->problem(), *measuring_,
      [this](const std::string& text) { host_.listener.ReportProgress(text); },
      [this] { return host_.listener.StopRequested(); }, prepared_);
  if (!prepared_.estimates.costs.empty()) env_ = MakeEnv();  // again, with the estimates
}

void SearchSession::PrepareTraining() {
  // Replace the default objective, which is for searches that measure latency.
  if (config_.objective.minimize == ObjectiveConfig().minimize) {
    config_.objective.minimize = {"distill_loss", "train_steps"};
  }
  prepared_.targets = MakeTargets();
  prepared_.graph = std::make_shared<const Graph>(LoadModel(config_.model, config_.shapes));
  task_ = MakeDistillTask(config_, *prepared_.graph, prepared_.targets);
  env_ = MakeEnv();
}

std::unique_ptr<Env> SearchSession::MakeEnv() {
  if (task_ == nullptr) {
    return MakeSearchEnv(config_, SearchContext(config_, prepared_, measuring_->evaluator()));
  }
  envs::EnvContext context;
  context.distill = task_;
  context.labels =
      config_.quality.data.labels.empty() ? envs::Labels::kAbsent : envs::Labels::kPresent;
  Objective objective = ToObjective(config_.objective);
  std::erase(objective.minimize, "train_steps");  // in thousands, while losses are below 1
  context.reward = [objective](const Evaluation& result) { return RewardOf(objective, result); };
  context.violation = [objective](const Evaluation& result) {
    return Violation(objective, result);
  };
  return MakeSearchEnv(config_, context);
}

TailTime SearchSession::TailAfter(const TrialTime& trial, std::size_t workers) const {
  const std::int64_t samples = cost::OpenFolder(paths_.prepared()).samples;
  const std::int64_t tried = prepared_.estimates.tried;
  return ExpectedTail(
      config_, *env_->problem(),
      {.trial_s = trial.mean, .samples = samples, .tried = tried, .workers = workers});
}

std::optional<TrialTime> SearchSession::TimeOneTrial(const std::function<bool()>& stop) {
  if (!trial_time_) trial_time_ = TimeTrial(host_, config_, paths_, *env_->problem(), stop);
  return trial_time_;
}

}  // namespace msc::gym
