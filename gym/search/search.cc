#include "gym/search/search.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "cost/measure/folder.h"
#include "cost/measure/local_evaluator.h"
#include "envs/common/strategy_problem.h"
#include "envs/compress/compress_config.h"
#include "envs/distill/recipe_choices.h"
#include "gym/search/env.h"
#include "gym/search/estimates.h"
#include "gym/search/live_run.h"
#include "gym/search/losses.h"
#include "gym/search/measuring.h"
#include "gym/search/record.h"
#include "gym/search/registries.h"
#include "gym/search/results.h"
#include "gym/search/seeds.h"
#include "gym/search/settle_target.h"
#include "gym/search/tail.h"
#include "gym/search/train_best.h"
#include "gym/study/race.h"
#include "gym/study/time_budget.h"

namespace msc::gym {
namespace {

/// Checks whether a search may use the run directory. An empty journal of a run that failed before
/// its first record counts as no search.
void CheckRunFolder(const SearchOptions& options, const RunPaths& paths) {
  std::error_code error;
  const bool exists = std::filesystem::exists(paths.journal(), error);
  const bool resume = options.resume || options.force_resume;
  if (exists && !resume && std::filesystem::file_size(paths.journal(), error) > 0) {
    throw UserError("'" + paths.folder +
                    "' already holds a search; add --resume to continue it, or name another folder "
                    "with --out");
  }
  if (!exists && resume) {
    throw UserError("'" + paths.folder + "' holds no search to resume");
  }
}

/// Rejects a resume with another env: its trials have other decisions.
void CheckSameEnv(const SearchOptions& options, const SearchConfig& config, const RunPaths& paths) {
  if (!options.resume && !options.force_resume) return;
  if (!std::filesystem::exists(paths.At("config.json"))) return;
  const auto before =
      FromJsonText<SearchConfig>(ReadFile(paths.At("config.json")), "'config.json'");
  if (before.env == config.env) return;
  throw UserError("'" + paths.folder + "' holds a search of " + before.env + ", not of " +
                  config.env + "; give --env " + before.env +
                  ", or name another folder with --out");
}

/// Returns the agent of the config, which trains the best of its trials if the config says so.
/// `problem` outlives it.
std::unique_ptr<Agent> MakeAgent(const SearchConfig& config, const envs::StrategyProblem& problem,
                                 const SearchProblem& tried, const Seeds& seeds) {
  std::vector<Assignment> first;
  for (const auto& [source, assignment] : seeds.trials) first.push_back(assignment);
  const Objective objective = ToObjective(config.objective);
  AgentSetup setup = AgentSetupFor(tried, objective, config.seed, first);
  const auto make = [&](const AgentSetup& own) { return MakeAgents().Make(config.agent, own); };
  const double share = config.section<envs::CompressConfig>().train_share;
  const auto decision =
      std::find_if(setup.decisions.begin(), setup.decisions.end(),
                   [](const Decision& other) { return other.name == envs::kDistillEpochs; });
  if (share <= 0 || decision == setup.decisions.end()) return make(setup);
  TrainBest train{.decision = static_cast<std::size_t>(decision - setup.decisions.begin()),
                  .choice = static_cast<std::int32_t>(decision->choices.size()) - 1,
                  .share = share};
  for (const std::string& metric : objective.minimize) {
    train.losses.push_back(IsLoss(config, metric));
  }
  for (const Constraint& limit : objective.subject_to) {
    train.losses.push_back(IsLoss(config, limit.metric));
  }
  train.trains = [&problem, at = train.decision, choice = train.choice](Assignment assignment) {
    assignment[at] = choice;
    return problem.StrategyOf(assignment).fit.train.epochs > 0;
  };
  return MakeTrainBestAgent(std::move(setup), std::move(train), make);
}

/// Returns the fitted strategy of the best trial, for a search that was stopped before it measured
/// finalists.
std::optional<Strategy> BestSoFar(const SearchHost& host, const RunPaths& paths,
                                  const envs::StrategyProblem& problem, const StudyResult& study) {
  const Trial& trial = study.trials[*study.best];
  cost::LocalEvaluator local(LocalFor(host, paths.folder));
  auto fitted = local.Fit(problem.StrategyOf(trial.assignment));
  if (!fitted || !fitted->ok()) return std::nullopt;
  return std::move(*fitted).value();
}

/// Returns the setup of the trials, which are of the problem `tried`, and the seeds that they start
/// from.
SearchStart FindStart(const SearchTail::Setup& search, const SearchProblem& tried) {
  SearchStart start{.setup =
                        SetupOf(search.config, search.prepared, tried.decisions(), search.samples)};
  start.seeds = FindSeeds(search.paths, start.setup, tried);
  start.setup.known = start.seeds.known.size();
  if (!start.seeds.note.empty()) search.run.log().Warn("from " + start.seeds.note);
  return start;
}

/// Writes the results into the run directory and summarizes them.
SearchOutcome Conclude(const SearchTail::Setup& search, SearchResult found) {
  SearchOutcome outcome;
  SearchResult& result = outcome.result;
  result = std::move(found);
  result.findings.used_s = search.time.Used();
  outcome.interrupted = search.host.listener.StopRequested();
  if (outcome.interrupted && result.findings.finalists.empty() && result.study.best) {
    result.so_far = BestSoFar(search.host, search.paths, search.problem, result.study);
  }
  result.findings = WriteResults(search.task, search.config, search.paths, search.prepared, result);
  search.run.StoreFindings(result.findings);
  outcome.decisions = search.problem.decisions();
  outcome.feasible = result.findings.best.has_value();
  outcome.suspicions = SuspicionsOfBest(search.config, result.findings);
  if (result.findings.best || result.so_far) outcome.best = search.paths.best();
  std::error_code none;
  if (!outcome.interrupted) std::filesystem::remove_all(search.paths.fits(), none);
  outcome.summary = SummaryText(search.config, search.paths, result);
  search.run.log().Info(outcome.summary);
  return outcome;
}

}  // namespace

SearchOutcome RunSearch(const SearchConfig& config, const SearchOptions& options,
                        const SearchHost& host) {
  const SearchTask& task = host.tasks.Get(config.env);
  SearchConfig settled = config;
  settled.env = task.spec().id;
  task.SetDefaults(settled);
  const RunPaths paths{options.folder};
  CheckRunFolder(options, paths);
  CheckSameEnv(options, settled, paths);
  const bool resumes = options.resume || options.force_resume;
  SettleTarget(resumes ? &paths : nullptr, host.listener, settled);
  SettleBits(resumes ? &paths : nullptr, settled);
  SettleBatch(settled);
  return task.Run(settled, options, host);
}

SearchOutcome RunMeasured(const SearchTask& task, const SearchConfig& config,
                          const SearchOptions& options, const SearchHost& host) {
  const RunPaths paths{options.folder};
  TimeBudget time(config.time_budget_s);
  Prepared prepared = LoadSearch(task, config);
  host.listener.ReportStart();
  LiveRun run(config, paths, time, LiveOptionsOf(options), host.listener);
  MakeFolders(paths.At("scratch"));
  const ProblemFactory problems = PrepareSearch(task, host, config, paths, time, prepared);
  run.Tick();
  for (const std::string& warning : prepared.warnings) run.log().Warn(warning);
  auto measuring = std::make_unique<Measuring>(
      host, paths, prepared,
      MeasuringOptions{.workers = options.workers,
                       .cache = options.cache,
                       .farm = options.farm,
                       .watch = [&run](const cost::Attempt& attempt) { run.LogAttempt(attempt); }});

  const auto make_problem = [&] {
    return problems(ContextOf(config, prepared, &measuring->evaluator()));
  };
  std::unique_ptr<SearchProblem> made = make_problem();
  PrepareEstimates(
      host, config, paths, time, envs::AsStrategyProblem(*made), *measuring,
      [&](const std::string& text) { host.listener.ReportProgress(text); },
      [&] {
        run.Tick();
        return host.listener.StopRequested();
      },
      prepared);
  if (!prepared.estimates.costs.empty()) made = make_problem();  // again, with the estimates
  envs::StrategyProblem& problem = envs::AsStrategyProblem(*made);
  std::optional<RacingProblem> race;
  if (config.race) {
    race.emplace(problem, ToObjective(config.objective), RaceOptions(),
                 [&](const std::string& text) { run.log().Warn(text); });
  }
  SearchProblem& tried = race ? *race : *made;
  const SearchTail::Setup search{.task = task,
                                 .host = host,
                                 .config = config,
                                 .paths = paths,
                                 .time = time,
                                 .run = run,
                                 .problem = problem,
                                 .prepared = prepared,
                                 .samples = cost::OpenFolder(paths.prepared()).samples,
                                 .farm = options.farm != nullptr};
  const SearchStart start = FindStart(search, tried);
  const std::unique_ptr<Agent> agent = MakeAgent(config, problem, tried, start.seeds);
  SearchTail tail(search, *measuring);
  SearchResult result;
  result.study = run.RunTrials(tried, *agent, start, tail.Hooks());
  tail.MeasureSensitivities(result);
  measuring.reset();  // finalists use the machine alone
  tail.MeasureBest(result);
  return Conclude(search, std::move(result));
}

}  // namespace msc::gym
