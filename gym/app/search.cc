#include "gym/search/search.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/fields.h"
#include "cost/farm/coordinator.h"
#include "gym/app/command.h"
#include "gym/app/console_listener.h"
#include "gym/app/options.h"
#include "gym/app/search_dry_run.h"
#include "gym/app/search_farm.h"
#include "gym/app/stop.h"
#include "gym/msc_config/msc_files.h"
#include "gym/msc_config/read_config.h"
#include "gym/search/config.h"
#include "gym/search/report/report.h"

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

/// Returns the config with the options that replace its keys.
SearchConfig WithOptions(SearchConfig config, const Options& options) {
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
  return config;
}

/// Prints the notes on a config once it is known to fit the model, so that an error stands alone.
class SearchConsole final : public ConsoleListener {
 public:
  void AddNote(const std::string& text) override { notes_.push_back(text); }
  void ReportStart() override {
    for (const std::string& note : notes_) std::fprintf(stderr, "config: %s\n", note.c_str());
  }

 private:
  std::vector<std::string> notes_;
};

SearchOptions SearchOptionsOf(const Options& options, cost::FarmEvaluator* farm) {
  return {.folder = options.out,
          .resume = options.resume,
          .force_resume = options.force,
          .log_level = options.log_level,
          .workers = options.workers,
          .cache = options.cache,
          .farm = farm};
}

/// Writes the files that a config of the original MSC wants, and prints a line per file.
void WriteWantedFiles(const MscFiles& files, const std::string& run, const SearchOutcome& outcome) {
  const std::string best = outcome.best.empty() ? "" : outcome.best + "/strategy.json";
  const std::string record = MscRecord(outcome.decisions, outcome.result.study.trials);
  for (const std::string& line : WriteMscFiles(files, run, best, record)) {
    std::printf("%s\n", line.c_str());
  }
}

/// Runs the search in the coordinating process.
int Coordinate(const AppContext& context, const Options& options, cost::FarmEvaluator* farm) {
  CatchStopSignals();
  SearchConsole listener;
  const SearchHost host{.program = context.self, .listener = listener};
  auto [read, notes, files] = ReadConfigFile(options.config);
  const SearchConfig config = WithOptions(std::move(read), options);
  if (!host.tasks.Get(config.env).measured() &&
      !(files.strategies.empty() && files.records.empty())) {
    notes.emplace_back("'strategy_file' and 'record': a search of recipes does not write them");
    files = {};
  }
  for (const std::string& note : notes) listener.AddNote(note);
  if (options.dry_run) {
    listener.ReportStart();
    DryRun(host, config,
           farm != nullptr ? farm->parallelism() : static_cast<std::size_t>(options.workers));
    return kExitOk;
  }
  CheckMscFiles(files, options.out);
  const SearchOutcome outcome = RunSearch(config, SearchOptionsOf(options, farm), host);
  (void)WriteReport({options.out});
  listener.End();
  std::printf("%s", outcome.summary.c_str());
  WriteWantedFiles(files, options.out, outcome);
  if (outcome.interrupted) {
    std::printf("interrupted; continue with --resume\n");
    return kExitFailure;
  }
  return outcome.feasible && outcome.suspicions.empty() ? kExitOk : kExitInfeasible;
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
  AddSetting(*command, "--out", options->out, "run directory: folder for all files of the search");
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
  AddSetting(
      *command, "--workers", options->workers, CLI::Range(1, 1024),
      "number of candidates measured at the same time without mpirun, each on its own cores");
  AddSetting(*command, "--log-level", options->log_level,
             CLI::IsMember({"debug", "info", "warning", "error", "off"}),
             "least severe level that logs/search.log in the run directory contains");
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
