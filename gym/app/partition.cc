#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/region_precision.h"
#include "cost/measure/machine.h"
#include "cost/partition/given_study.h"
#include "cost/partition/layout_conversion_costs.h"
#include "cost/partition/partition_study.h"
#include "cost/partition/plan_times.h"
#include "cost/partition/propose.h"
#include "cost/partition/roof_bounds.h"
#include "gym/app/bench_rows.h"
#include "gym/app/command.h"
#include "gym/app/options.h"
#include "gym/app/partition_given.h"
#include "gym/app/partition_print.h"
#include "gym/app/partition_proposal.h"
#include "gym/app/stop.h"
#include "gym/console/progress_line.h"
#include "gym/report/partition_page.h"
#include "gym/search/model.h"
#include "gym/search/regions.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::vector<std::string> targets = {"onednn", "native", "xnnpack", "blas"};
  std::string precision = "f32";
  std::string strategy;
  std::vector<std::string> or_in;
  std::string search = "exact";
  std::string images = "both";
  std::string rules;
  std::string costs;
  std::string out;
  std::string cache;
  std::vector<std::string> pins;
  std::vector<std::string> max_regions;
  std::int64_t max_mb = -1;  ///< -1 = no limit
  std::vector<std::string> compare;
  int threads = 1;
  std::optional<std::int64_t> batch;
  std::int64_t max_ms = 1000;
  std::size_t plans = 3;
  std::size_t rounds = 3;
  double minutes = 0;
  std::int64_t patience_ms = 60'000;
  std::int64_t cold_mb = -1;  ///< -1 = size of the model's weights
  bool lazy = false;
  std::string bounds = "learned";
  bool learned = true;
  bool fresh = false;
  bool dry_run = false;
  bool json = false;
};

/// Returns the strategy that sets the precisions.
Strategy BaseStrategy(const Options& options, const BenchSetup& setup,
                      const TargetRegistry& targets) {
  Strategy strategy;
  if (!options.strategy.empty()) {
    strategy = LoadStrategy(options.strategy);
    strategy.partition.clear();
    strategy.schedules.clear();
  } else {
    Variant variant = AllLayersIn(ParsePrecision(options.precision), setup, targets);
    if (!variant.why.empty()) throw UserError(variant.why);
    strategy = std::move(variant.strategy);
  }
  strategy.model_hash = GraphHash(*setup.graph);
  strategy.target = options.targets.front();
  return strategy;
}

/// Returns the targets, and each of them again with every other precision.
std::vector<std::string> InOtherPrecisions(const std::vector<std::string>& specs,
                                           const std::vector<std::string>& precisions) {
  std::vector<std::string> all = specs;
  for (const std::string& precision : precisions) {
    for (const std::string& spec : specs) {
      if (!PrecisionAsked(spec)) all.push_back(WithPrecision(spec, ParsePrecision(precision)));
    }
  }
  return all;
}

void Pin(const std::vector<std::string>& pins, const std::vector<std::string>& targets,
         CoverProblem& problem) {
  for (const std::string& pin : pins) {
    const std::size_t cut = pin.rfind('=');
    // Options of a target contain '=' too: the node name ends at the last '=' that a target
    // follows.
    std::size_t at = cut;
    while (at != std::string::npos && at > 0 &&
           std::find(targets.begin(), targets.end(), pin.substr(at + 1)) == targets.end()) {
      at = pin.rfind('=', at - 1);
    }
    if (at == std::string::npos) {
      throw UserError("--pin " + pin +
                      ": write NODE=TARGET, a node of the canonical graph and one "
                      "of --targets");
    }
    cost::PinNode(problem, pin.substr(0, at), pin.substr(at + 1));
  }
}

void Limit(const std::vector<std::string>& limits, const TargetRegistry& targets,
           CoverProblem& problem) {
  for (const std::string& limit : limits) {
    const std::size_t at = limit.rfind('=');
    std::int64_t most = -1;
    const char* const end = limit.data() + limit.size();
    if (at == std::string::npos || std::from_chars(limit.data() + at + 1, end, most).ptr != end ||
        most < 0) {
      throw UserError("--max-regions " + limit + ": write TARGET=COUNT, such as blas=2");
    }
    cost::LimitRegions(problem, targets.Get(limit.substr(0, at)).spec(), most);
  }
}

/// Returns whether everything computes in f32; outputs then differ only by the order of sums.
bool InF32(const Strategy& strategy, const std::vector<std::string>& targets) {
  return strategy.quantize.layers.empty() &&
         std::all_of(targets.begin(), targets.end(),
                     [](const std::string& spec) { return !PrecisionAsked(spec); });
}

/// Returns the canonical names of targets that this machine can run. UserError for others.
std::vector<std::string> Checked(const std::vector<std::string>& specs,
                                 const TargetRegistry& targets) {
  std::vector<std::string> checked;
  for (const std::string& spec : specs) {
    const std::string name = targets.Get(spec).spec();
    if (std::find(checked.begin(), checked.end(), name) == checked.end()) checked.push_back(name);
  }
  return checked;
}

std::map<std::string, std::string> VersionsOf(const std::vector<std::string>& specs,
                                              const TargetRegistry& targets) {
  std::map<std::string, std::string> versions;
  for (const std::string& spec : specs) {
    versions[targets.Get(spec).facts().name] = targets.Get(spec).facts().version;
  }
  return versions;
}

void AddTurns(const cost::LayoutConversionCosts& turns, cost::StudySeconds& seconds) {
  const cost::RegionMeter::Spent spent = turns.spent();
  seconds.kernels += spent.kernels;
  seconds.build_regions += spent.build;
  seconds.time_regions += spent.timing;
  seconds.waiting += spent.waiting;
  seconds.all += spent.kernels + spent.build + spent.timing + spent.waiting;
}

std::int64_t PeakBytes(int who) {
  constexpr std::int64_t kKiB = 1024;
  struct rusage usage {};
  return ::getrusage(who, &usage) == 0 ? usage.ru_maxrss * kKiB : 0;
}

/// Prints the best plan of `graph`, and writes it if requested.
void Answer(const Options& options, const Graph& graph, const PartitionOutcome& outcome,
            const PartitionView& view, Strategy strategy) {
  const cost::TimedPartition& best = outcome.result->plans[*outcome.result->best];
  strategy.target = best.runner.target;
  strategy.partition = best.runner.partition;
  for (std::size_t i = 0; i < strategy.partition.size(); ++i) {
    const CandidateRegion& candidate = outcome.problem->candidates[best.chosen.at(i)];
    strategy.partition[i].micros = candidate.cost.micros();
  }
  strategy = WithPrecisionsOfRegions(graph, std::move(strategy));
  if (options.json) {
    PrintPartitionJson(outcome, view);
  } else {
    PrintPartition(view);
  }
  if (options.out.empty()) return;
  MakeFolders(options.out);
  SaveStrategyFor(graph, strategy, options.out + "/strategy.json");
  WriteFileAtomic(options.out + "/partition.html", RenderPartition(view));
  WriteFileAtomic(options.out + "/partition.dot", PartitionDot(view));
  if (!options.json) {
    std::printf("wrote strategy.json, partition.html and partition.dot to %s\n",
                options.out.c_str());
  }
}

/// Solves with the costs of a file, without measuring.
void SolveWithGivenCosts(const Options& options, const TargetRegistry& targets, const Graph& graph,
                         const Strategy& strategy, Clock::time_point start, CoverProblem& problem) {
  const GivenCosts given = ReadCosts(options.costs, problem);
  if (given.unknown > 0) {
    std::fprintf(stderr,
                 "mscgym: %zu regions in '%s' are not candidates of these targets, such as %s\n",
                 given.unknown, options.costs.c_str(), given.example.c_str());
  }
  cost::PartitionStudyOptions study;
  study.targets = options.targets;
  study.search = options.search;
  const cost::PartitionStudyResult result = cost::CoverWithGivenCosts(problem, study);
  const std::chrono::duration<double> seconds = Clock::now() - start;
  const PartitionOutcome outcome{.model = options.model,
                                 .machine = cost::ReadMachine().cpu,
                                 .versions = VersionsOf(options.targets, targets),
                                 .threads = options.threads,
                                 .problem = &problem,
                                 .result = &result,
                                 .seconds = seconds.count(),
                                 .peak_bytes = PeakBytes(RUSAGE_SELF)};
  PartitionView view = ViewOf(outcome);
  DescribeGiven(given, result, outcome.seconds, outcome.peak_bytes, view);
  Answer(options, graph, outcome, view, strategy);
}

void Partition(Options options, AppContext& context) {
  const Clock::time_point start = Clock::now();
  const TargetRegistry targets = MakeTargets();
  for (std::string& target : options.targets) target = TargetOf(target, targets);
  options.targets = Checked(InOtherPrecisions(options.targets, options.or_in), targets);
  cost::RegionMeterOptions measuring = RegionMeterFor(context.self, options.threads);
  measuring.patience_ms = options.patience_ms;
  const Graph graph = LoadModel(options.model, options.shapes);
  const std::int64_t batch = BatchFor(graph, options.batch);
  const BenchSetup setup{
      .graph = &graph,
      .batch = batch,
      .compile = {.threads = options.threads, .bindings = BatchBindings(graph, batch)}};
  Strategy strategy = BaseStrategy(options, setup, targets);
  const cost::RegionSource source(graph, strategy, setup.compile);
  const PartitionRules rules = LoadPartitionRules(options.rules);
  CoverProblem problem = cost::ProposeRegions(
      BindSizes(graph, setup.compile), source, options.targets, targets,
      {.channels_last = options.images == "both" && options.costs.empty(), .rules = rules});
  for (const std::string& text : cost::WarningsOf(rules, problem, options.targets, targets)) {
    std::fprintf(stderr, "mscgym: %s\n", text.c_str());
  }
  Pin(options.pins, options.targets, problem);
  Limit(options.max_regions, targets, problem);
  if (options.max_mb >= 0) {
    if (!FindSearch(options.search).memory || options.lazy) {
      throw UserError("--max-mb needs --search ilp and excludes --lazy");
    }
    problem.conditions.max_bytes = options.max_mb << 20U;
  }
  if (!options.costs.empty()) {
    SolveWithGivenCosts(options, targets, graph, strategy, start, problem);
    return;
  }

  const cost::MachineFacts machine = cost::ReadMachine();
  cost::RegionCostContext regions = RegionContextFor(machine, source.graph(), options.threads);
  if (options.cold_mb >= 0) regions.timing.cold_bytes = options.cold_mb << 20U;
  // A warm region is timed after a call of its own, not after the calls of its alternatives.
  if (options.cold_mb == 0) regions.timing.latency.settle_calls = 1;
  cost::RegionMeter meter(source, measuring);
  const std::string folder = RegionFolder(options.cache);
  cost::RegionCosts costs(source, targets, meter, folder, regions);
  cost::LayoutConversionCosts turns(problem, source, targets, measuring, folder, regions);
  if (options.dry_run) {
    PrintProposal(problem, costs, turns.CountUnknown(), options.json);
    return;
  }

  if (options.learned) costs.Learn();

  cost::PartitionStudyOptions study;
  study.targets = options.targets;
  study.search = options.search;
  if (options.lazy) {
    // Roofline bounds are valid, so they also limit learned bounds from below.
    cost::BoundByRoof(source, targets, cost::MeasureRoof(1), options.threads, problem);
    study.lazy = options.bounds == "roof" ? cost::LazyBounds::kGiven : cost::LazyBounds::kLearned;
  }
  study.learned = options.learned && !options.lazy;
  study.plans = options.plans;
  study.rounds = options.rounds;
  study.compare = options.compare;
  cost::RegionCostContext plans = regions;
  plans.timing = {.latency = {.max_ms = options.max_ms, .settle_calls = 1},
                  .tolerance = InF32(strategy, options.targets) ? 1e-3 : 0.2,
                  .give_up = 2};
  cost::PlanTimes times(source, targets, meter, folder, plans, options.fresh);
  CatchStopSignals();
  cost::PartitionStudyResult result;
  {
    ProgressLine progress;
    progress.Show("measuring layout conversions of images");
    turns.Measure(problem, StopRequested);
    if (options.minutes > 0) {
      // The time for reading the model and measuring image transposes counts against the same
      // budget.
      constexpr double kLeast = 1e-3;
      const std::chrono::duration<double> spent = Clock::now() - start;
      study.seconds = std::max(60 * options.minutes - spent.count(), kLeast);
    }
    result = cost::StudyPartitions(
        problem, costs, times, study, [&](const std::string& text) { progress.Show(text); },
        StopRequested);
  }
  const std::chrono::duration<double> seconds = Clock::now() - start;
  AddTurns(turns, result.seconds);
  const PartitionOutcome outcome{.model = options.model,
                                 .machine = machine.cpu,
                                 .versions = VersionsOf(options.targets, targets),
                                 .threads = options.threads,
                                 .problem = &problem,
                                 .result = &result,
                                 .costs = costs.counts(),
                                 .turns = turns.counts(),
                                 .seconds = seconds.count(),
                                 .peak_bytes = PeakBytes(RUSAGE_SELF),
                                 .child_peak_bytes = PeakBytes(RUSAGE_CHILDREN)};
  if (!result.best) {
    context.exit_code = kExitFailure;
    std::fprintf(stderr,
                 result.stopped ? "mscgym: stopped; measured costs are kept in '%s'\n"
                                : "mscgym: no plan could be timed; costs are in '%s'\n",
                 folder.c_str());
    for (const cost::TimedPartition& plan : result.plans) {
      if (!plan.failure.empty()) {
        std::fprintf(stderr, "  %s: %s\n", plan.name.c_str(), plan.failure.c_str());
      }
    }
    return;
  }
  Answer(options, graph, outcome, ViewOf(outcome), strategy);
}

}  // namespace

void AddPartition(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("partition", "Find which target is fastest for which part of a model");
  AddModelOptions(*command, options->model, options->shapes);
  AddSetting(*command, "--targets,--target", options->targets,
             "targets with their options, separated by commas; the greedy plan that serves "
             "for comparison prefers earlier ones")
      ->delimiter(',');
  AddSetting(*command, "--precision", options->precision, CLI::IsMember({"f32", "bf16", "int8"}),
             "precision of all layers: f32, bf16 or int8; int8 scales come from random "
             "inputs and suit only timing");
  command->add_option(
      "--strategy", options->strategy,
      "use the precisions of this strategy instead; its target and partition are ignored");
  command
      ->add_option("--or-in", options->or_in,
                   "further precisions that a region may use if that is faster: f32, bf16; adds "
                   "every target again with its option precision")
      ->delimiter(',')
      ->check(CLI::IsMember({"f32", "bf16"}));
  AddSetting(*command, "--images", options->images, CLI::IsMember({"dense", "both"}),
             "how regions exchange images: dense, or both (dense, or channels last if their "
             "targets support it)");
  CLI::Option* costs =
      command->add_option("--costs", options->costs,
                          "find the cover of least cost for the costs in this file, and measure "
                          "nothing; --images dense --dry-run --json prints the format");
  command->add_option("--rules", options->rules,
                      "file of rules that propose additional regions: patterns, siblings, nodes by "
                      "name; see docs/add_a_partition_rule.md");
  AddRepeated(*command, "--pin", options->pins,
              "NODE=TARGET: target that must run a node; may be repeated");
  AddRepeated(*command, "--max-regions", options->max_regions,
              "TARGET=COUNT: largest number of regions that a target may get; may be repeated");
  command
      ->add_option("--max-mb", options->max_mb,
                   "largest memory of all regions together in MiB, for weights and workspaces; "
                   "needs --search ilp")
      ->check(CLI::Range(0, 1 << 20));
  const auto is_search = [](const std::string& name) {
    try {
      (void)FindSearch(name);
      return std::string();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
  };
  AddSetting(*command, "--search", options->search, is_search,
             "search that finds plans from costs");
  command
      ->add_option(
          "--compare", options->compare,
          "further searches, separated by commas, whose plans under the same costs are timed, too")
      ->delimiter(',')
      ->check(is_search);
  CLI::Option* lazy = command->add_flag("--lazy", options->lazy,
                                        "measure only regions that a better plan may contain, "
                                        "according to the regions measured so far");
  AddSetting(*command, "--bounds", options->bounds, CLI::IsMember({"learned", "roof"}),
             "lower bounds of costs for --lazy: learned from measured costs, or roof, from the "
             "measured multiplication rate of this machine, which is safe but measures more")
      ->needs(lazy);
  command->add_flag(
      "--learned,!--no-learned", options->learned,
      "measure only regions that a better plan may contain, according to regions of other models; "
      "needs costs of at least three other models in the cache; on by default; no effect with "
      "--lazy, --compare, --pin, --max-regions, --max-mb or a --search other than exact; "
      "--no-learned measures all regions, which proves the result");
  AddSetting(*command, "--plans", options->plans, CLI::Range(1, 100),
             "number of best plans that are timed as whole models");
  AddSetting(*command, "--rounds", options->rounds, CLI::Range(0, 100),
             "largest number of times that costs of boundaries are fitted to the times of "
             "whole plans and the search repeated");
  AddSetting(
      *command, "--minutes", options->minutes, CLI::Range(0.0, 1e6),
      "time limit for measuring, in minutes; the result is then the best according to the "
      "known costs; these stay cached, so the same command continues from there; 0 = no limit");
  AddThreadsOption(*command, options->threads);
  AddBatchOption(*command, options->batch);
  AddSetting(*command, "--max-ms", options->max_ms, CLI::Range(1, 1000000),
             "time limit for timing a whole plan in milliseconds");
  AddSetting(*command, "--patience-ms", options->patience_ms, CLI::Range(1, 100000000),
             "milliseconds after which compiling or timing a region counts as hung");
  command
      ->add_option("--cold-mb", options->cold_mb,
                   "MiB of other memory to read before every round of timing regions; 0 = time "
                   "them with warm weights; default: as much as the model has weights")
      ->check(CLI::Range(0, 4096));
  command->add_flag("--fresh", options->fresh,
                    "time whole plans again even if an earlier run cached their times");
  command->add_option(
      "--cache", options->cache,
      "folder of cached costs and times; default: one folder for all runs of this user");
  command->add_option("--out", options->out,
                      "folder to write strategy.json, partition.html and partition.dot to");
  command->add_flag("--dry-run", options->dry_run,
                    "only list what would be measured, why, and how long it may take");
  command->add_flag("--json", options->json, "print the results as JSON");
  for (const char* other :
       {"--images", "--lazy", "--minutes", "--compare", "--fresh", "--dry-run"}) {
    costs->excludes(command->get_option(other));
  }
  command->footer(
      "Examples:\n"
      "  mscgym partition model.onnx --targets onednn,xnnpack --out plan\n"
      "  mscgym compile model.onnx --strategy plan/strategy.json --out artefact\n"
      "  mscgym partition model.onnx --strategy int8.json --or-in f32    f32 if int8 is slower\n"
      "  mscgym partition model.onnx --rules rules.json --dry-run    with rules.json:\n"
      "    {\"rules\": [{\"name\": \"layer\", \"targets\": [\"onednn\"],\n"
      "                \"pattern\": \"Relu?(Add?(Conv, *))\"},\n"
      "               {\"name\": \"qkv\", \"siblings\": \"MatMul\"},\n"
      "               {\"name\": \"mine\", \"nodes\": [\"conv1\", \"relu1\"]}]}");
  command->callback([options, &context] { Partition(*options, context); });
}

}  // namespace msc::gym
