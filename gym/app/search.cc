#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "cost/measure/folder.h"
#include "gym/app/command.h"
#include "gym/app/msc_files.h"
#include "gym/app/progress.h"
#include "gym/app/registries.h"
#include "gym/app/search_estimates.h"
#include "gym/app/search_explain.h"
#include "gym/app/search_farm.h"
#include "gym/app/search_measuring.h"
#include "gym/app/search_probes.h"
#include "gym/app/search_recipe.h"
#include "gym/app/search_record.h"
#include "gym/app/search_run.h"
#include "gym/app/search_tail.h"
#include "gym/app/search_time.h"
#include "gym/app/search_trials.h"
#include "gym/app/stop.h"
#include "gym/study/race.h"

namespace msc::gym {
namespace {

struct Options {
  std::string config;
  std::string out = "run";
  std::optional<std::string> from;
  std::optional<std::string> env;
  std::optional<std::string> agent;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> trials;
  std::optional<double> time_budget;
  std::optional<int> threads;
  std::string cache;
  std::string log_level = "info";
  int workers = 1;
  bool resume = false;
  bool force = false;
  bool dry_run = false;
};

SearchConfig ReadConfig(const Options& options, std::vector<std::string>& notes, MscFiles& files) {
  SearchConfig config = LoadSearchConfig(options.config, &notes, &files);
  if (options.from)
    config.from = std::filesystem::absolute(*options.from).lexically_normal().string();
  if (options.env) config.env = *options.env;
  if (options.agent) config.agent = *options.agent;
  if (options.seed) config.seed = *options.seed;
  if (options.trials) config.trials = *options.trials;
  if (options.time_budget) config.time_budget_s = *options.time_budget;
  if (options.threads) config.threads = *options.threads;
  // Options have the same limits as the keys that they replace.
  config = FromJsonText<SearchConfig>(ToJson(config), "the options");
  config.env = EnvId(config.env);
  return config;
}

void Say(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fprintf(stderr, "config: %s\n", note.c_str());
}

LiveRunOptions LiveOptions(const Options& options) {
  return {.log_level = options.log_level,
          .resume = options.force ? Resume::kForced : Resume::kSame};
}

/// Checks whether a search may use the run directory. An empty journal of a run that failed before
/// its first record counts as no search.
void CheckRunFolder(const Options& options, const RunPaths& paths) {
  std::error_code error;
  const bool exists = std::filesystem::exists(paths.journal(), error);
  if (exists && !options.resume && std::filesystem::file_size(paths.journal(), error) > 0) {
    throw UserError("'" + options.out +
                    "' already holds a search; add --resume to continue it, or name another folder "
                    "with --out");
  }
  if (!exists && options.resume) {
    throw UserError("'" + options.out + "' holds no search to resume");
  }
}

/// Rejects a resume with another env: its trials have other decisions.
void CheckSameEnv(const Options& options, const SearchConfig& config, const RunPaths& paths) {
  if (!options.resume || !std::filesystem::exists(paths.At("config.json"))) return;
  const auto before =
      FromJsonText<SearchConfig>(ReadFile(paths.At("config.json")), "'config.json'");
  if (EnvId(before.env) == config.env) return;
  throw UserError("'" + options.out + "' holds a search of " + EnvId(before.env) + ", not of " +
                  config.env + "; give --env " + EnvId(before.env) +
                  ", or name another folder with --out");
}

/// Rejects settings that a search of recipes cannot honour: it runs in this process, one trial
/// after another.
void CheckAlone(const Options& options, const SearchConfig& config, bool farm) {
  if (farm || options.workers != 1) {
    throw UserError("a search of recipes tries one after another: leave out mpirun and --workers");
  }
  if (!options.cache.empty()) {
    throw UserError("a search of recipes caches no outcomes: leave out --cache");
  }
  if (config.race) throw UserError("a search of recipes cannot race: leave out 'race'");
  if (!config.from.empty()) {
    throw UserError("a search of recipes cannot start from another run: leave out 'from'");
  }
}

/// Runs a search of training recipes.
int CoordinateRecipe(const AppContext& context, const Options& options,
                     const SearchConfig& config) {
  if (options.dry_run) {
    DryRun(context, config, 1);
    return kExitOk;
  }
  const RunPaths paths{options.out};
  CheckRunFolder(options, paths);
  CheckSameEnv(options, config, paths);
  return SearchRecipe(config, paths, LiveOptions(options));
}

std::unique_ptr<Agent> MakeAgent(const SearchConfig& config, const SearchProblem& problem,
                                 const Seeds& seeds) {
  std::vector<Assignment> first;
  for (const auto& [source, assignment] : seeds.trials) first.push_back(assignment);
  return MakeAgents().Make(
      config.agent, AgentSetupFor(problem, ToObjective(config.objective), config.seed, first));
}

/// Runs the search in the coordinating process.
int Coordinate(const AppContext& context, const Options& options, cost::FarmEvaluator* farm) {
  CatchStopSignals();
  std::vector<std::string> notes;
  MscFiles files;
  const SearchConfig config = ReadConfig(options, notes, files);
  if (Trains(config)) {
    if (!files.strategies.empty() || !files.records.empty()) {
      notes.emplace_back("'strategy_file' and 'record': a search of recipes does not write them");
    }
    Say(notes);
    CheckAlone(options, config, farm != nullptr);
    return CoordinateRecipe(context, options, config);
  }
  if (options.dry_run) {
    Say(notes);
    DryRun(context, config,
           farm != nullptr ? farm->parallelism() : static_cast<std::size_t>(options.workers));
    return kExitOk;
  }
  TimeBudget time(config.time_budget_s);
  const RunPaths paths{options.out};
  CheckRunFolder(options, paths);
  CheckSameEnv(options, config, paths);
  CheckMscFiles(files, paths.folder);
  Prepared prepared = LoadSearch(config);
  Say(notes);
  LiveRun run(config, paths, time, LiveOptions(options));
  MakeFolders(paths.At("scratch"));
  PrepareSearch(context, config, paths, time, prepared);
  run.Tick();
  for (const std::string& warning : prepared.warnings) run.log().Warn(warning);
  auto measuring = std::make_unique<Measuring>(
      context, paths, prepared,
      MeasuringOptions{.workers = options.workers,
                       .cache = options.cache,
                       .farm = farm,
                       .watch = [&run](const cost::Attempt& attempt) { run.Note(attempt); }});

  std::unique_ptr<Env> env =
      MakeSearchEnv(config, SearchContext(config, prepared, measuring->evaluator()));
  {
    ProgressLine line;
    PrepareEstimates(
        context, config, paths, time, *env->problem(), *measuring,
        [&](const std::string& text) { line.Show(text); },
        [&] {
          run.Tick();
          return StopRequested();
        },
        prepared);
  }
  if (!prepared.estimates.costs.empty()) {  // again, with the estimates
    env = MakeSearchEnv(config, SearchContext(config, prepared, measuring->evaluator()));
  }
  SearchProblem* problem = env->problem();
  std::optional<RacingProblem> race;
  if (config.race) {
    race.emplace(*problem, ToObjective(config.objective), RaceOptions(),
                 [&](const std::string& text) { run.log().Warn(text); });
  }
  SearchProblem& tried = race ? *race : *problem;
  const std::int64_t samples = cost::OpenFolder(paths.prepared()).samples;
  SearchStart start{.setup = SetupOf(config, prepared, problem->decisions(), samples)};
  start.seeds = FindSeeds(paths, start.setup, tried);
  start.setup.known = start.seeds.known.size();
  if (!start.seeds.note.empty()) run.log().Warn("from " + start.seeds.note);
  const std::unique_ptr<Agent> agent = MakeAgent(config, tried, start.seeds);

  SearchResult result;
  {
    ProgressLine line;
    SearchTail tail({.context = context,
                     .config = config,
                     .paths = paths,
                     .time = time,
                     .run = run,
                     .problem = *problem,
                     .prepared = prepared,
                     .samples = samples,
                     .line = line},
                    *measuring);
    result.study = run.Try(tried, *agent, start, tail.Hooks(), line);
    tail.MeasureSensitivities(result);
    measuring.reset();  // finalists use the machine alone
    tail.MeasureBest(result);
  }
  result.findings.used_s = time.Used();
  if (StopRequested() && result.findings.finalists.empty() && result.study.best) {
    const Trial& trial = result.study.trials[*result.study.best];
    cost::LocalEvaluator local(LocalFor(context, paths.folder));
    auto fitted = local.Fit(StrategyFromJson(problem->Describe(trial.assignment), "a trial"));
    if (fitted && fitted->ok()) result.so_far = std::move(*fitted).value();
  }
  run.Keep(WriteResults(config, paths, prepared, result));
  (void)WriteReport(paths);
  const std::string summary = Summary(config, paths, result);
  run.log().Info(summary);
  std::printf("%s", summary.c_str());
  const bool found = result.findings.best || result.so_far;
  for (const std::string& line :
       WriteMscFiles(files, paths.folder, found ? paths.best() + "/strategy.json" : "",
                     MscRecord(problem->decisions(), result.study.trials))) {
    run.log().Info(line);
    std::printf("%s\n", line.c_str());
  }
  if (StopRequested()) {
    std::printf("interrupted; continue with --resume\n");
    return kExitFailure;
  }
  return result.findings.best ? kExitOk : kExitInfeasible;
}

int Search(const AppContext& context, const Options& options) {
  return RunCoordinatorOrWorker(
      context, [&](cost::FarmEvaluator* farm) { return Coordinate(context, options, farm); });
}

}  // namespace

void AddSearch(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "search", "Search for the best compression: measure candidates, export the best one");
  command
      ->add_option("config", options->config,
                   "JSON file that describes the search; see mscgym list config")
      ->required()
      ->check(CLI::ExistingFile);
  command->add_option("--out", options->out, "run directory: folder for all files of the search")
      ->capture_default_str();
  command->add_option(
      "--env", options->env,
      "what the search decides: quantize (precisions), prune (channels), compress (both, and "
      "further decisions that the config adds), partition (which target runs which part), schedule "
      "(how kernels are written) or distill (how the compressed model is trained)");
  command->add_option("--agent", options->agent,
                      "search algorithm that proposes candidates; see mscgym list agents");
  command
      ->add_option("--from", options->from,
                   "run directory of an earlier search to start from: reuses its results if the "
                   "measurement conditions are the same, otherwise measures its best trials first")
      ->check(CLI::ExistingDirectory);
  command->add_flag("--resume", options->resume, "continue the search in the run directory");
  command
      ->add_flag("--dry-run", options->dry_run,
                 "only print the decisions, whether the goal is impossible, and how long the "
                 "search takes, estimated from one trial; write no run directory")
      ->excludes("--resume");
  command->add_flag("--force-resume", options->force,
                    "resume even if the journal was written with other settings; implies --resume");
  command->add_option("--seed", options->seed,
                      "seed of the search; the same seed gives the same decisions");
  command->add_option("--trials", options->trials,
                      "number of trials in total, also after --resume");
  command->add_option("--time-budget", options->time_budget,
                      "time limit in seconds for the whole search, including preparation, "
                      "finalists, and the time used before --resume");
  command->add_option("--threads", options->threads, "number of threads that a candidate runs on")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option(
          "--workers", options->workers,
          "number of candidates measured at the same time without mpirun, each on its own cores")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--log-level", options->log_level,
                   "least severe level that logs/search.log in the run directory contains")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
  command->add_option(
      "--cache", options->cache,
      "folder of cached results that searches share; default: in the run directory");
  command->footer(
      "Examples:\n"
      "  mscgym search experiments/quantize_fashion/config.json --out run\n"
      "  mscgym search experiments/quantize_fashion/config.json --out run --resume --trials 80\n"
      "  mscgym search experiments/joint/config.json --env compress --dry-run\n"
      "  mscgym search experiments/joint/config.json --env compress --out joint\n"
      "  mscgym search experiments/quantize_fashion/config.json --env partition --out placed\n"
      "  mscgym search experiments/quantize_fashion/config.json --agent tpe --from run --out more\n"
      "  mpirun -n 3 mscgym search experiments/quantize_fashion/config.json --out run");
  command->callback([options, &context] {
    if (options->force) options->resume = true;
    context.exit_code = Search(context, *options);
  });
}

}  // namespace msc::gym
