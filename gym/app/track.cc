#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/tool_rules.h"
#include "cost/model/loss.h"
#include "cost/track/bisect.h"
#include "cost/track/stage.h"
#include "gym/app/command.h"
#include "gym/app/layer_views.h"
#include "gym/app/limits.h"
#include "gym/app/options.h"
#include "gym/app/rules.h"
#include "gym/app/samples.h"
#include "gym/app/sized_model.h"
#include "gym/app/track_outputs.h"
#include "gym/app/track_print.h"
#include "gym/app/track_samples.h"
#include "gym/app/track_verdict.h"
#include "gym/console/progress_line.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::string strategy;
  std::vector<std::string> targets;
  std::vector<std::string> artefacts;
  std::vector<std::string> tensors;
  std::string rules;
  TrackSampleOptions samples;
  std::optional<std::int64_t> batch;
  JudgeOptions judged;
  int threads = 1;
  double tolerance = 0;
  std::string store;
  double store_mb = 1024;
  bool bisect = false;
  std::string against = "optimized";
  bool any_version = false;
  std::string page;
  bool json = false;
};

/// Returns the tolerance: wider for a model with int8 or bf16 layers, whose rounding is no error.
double ToleranceFor(const Options& options, const Strategy& strategy) {
  if (options.tolerance > 0) return options.tolerance;
  for (const auto& [layer, precision] : strategy.quantize.layers) {
    if (precision != Precision::kF32) return 0.05;
  }
  return 1e-3;
}

/// Returns the strategy of the first artefact, unless the command line names one.
Strategy StrategyFor(const Options& options) {
  if (!options.strategy.empty()) return LoadStrategy(options.strategy);
  if (options.artefacts.empty()) return {};
  const std::string path = options.artefacts[0] + "/strategy.json";
  if (StrategyFromJson(ReadFile(path), "'" + path + "'").fit.weights.empty()) {
    return LoadStrategy(path);
  }
  throw UserError("'" + options.artefacts[0] +
                  "' was compiled with fitted weights; name their strategy.json with --strategy");
}

/// Reads the rules that pick the compared values at each stage.
TrackRules ReadRules(const Options& options, const Graph& graph) {
  if (!options.tensors.empty()) throw UserError("give one of --tensors and --rules");
  TrackRules rules = ReadTrackRules(OpenRules(options.rules, "tracker", graph), graph);
  if (rules.all.empty()) {
    throw UserError("'" + options.rules + "' has no rule that selects a value");
  }
  return rules;
}

/// Keeps only the results on the picked values.
void KeepPicked(const std::vector<std::string>& picked, double tolerance,
                cost::StageComparison& compared) {
  const auto other = [&](const std::string& name) {
    return std::find(picked.begin(), picked.end(), name) == picked.end();
  };
  std::erase_if(compared.errors, [&](const cost::TensorError& error) { return other(error.name); });
  std::erase_if(compared.other_shapes, other);
  const auto first =
      std::find_if(compared.errors.begin(), compared.errors.end(),
                   [&](const cost::TensorError& error) { return error.relative > tolerance; });
  compared.first.reset();
  if (first != compared.errors.end()) compared.first = first - compared.errors.begin();
}

/// Returns the artefacts, and the model compiled for the targets. The dimensions of an artefact
/// apply to all stages.
std::vector<cost::TrackStage> CompiledStages(const Options& options, const Graph& graph,
                                             const Strategy& strategy,
                                             const TargetRegistry& targets,
                                             CompileOptions& compile) {
  std::vector<cost::TrackStage> stages;
  for (const std::string& folder : options.artefacts) {
    ArtefactParts parts = ReadArtefact(
        folder, targets, options.any_version ? OtherVersions::kAllow : OtherVersions::kRefuse);
    compile.bindings = {};
    for (const auto& [symbol, size] : parts.manifest.bindings) compile.bindings[symbol] = size;
    stages.push_back({std::filesystem::path(folder).lexically_normal().string(),
                      std::move(parts.model), parts.manifest.threads});
  }
  std::vector<std::string> wanted = options.targets;
  if (wanted.empty() && options.artefacts.empty()) wanted.push_back(strategy.target);
  for (std::string& target : wanted) {
    target = TargetOf(target, targets);
    Strategy there = strategy;
    if (target != strategy.target) RunAllOn(target, there);
    stages.push_back(cost::CompiledStage(graph, there, targets, compile));
  }
  return stages;
}

/// Throws UserError for limits that no model has here.
void CheckLimitsOf(const Options& options) {
  std::vector<std::string> metrics;
  for (const auto& [name, spec] : options.judged.metrics) metrics.push_back(name);
  CheckLimitNames(options.judged.limits, metrics);
  for (const auto& [loss, limit] : options.judged.limits) {
    if (!cost::IsAgainstLabels(loss)) continue;
    throw UserError("--limit " + loss + ": track reads no labels; limit disagreement instead");
  }
}

/// Returns whether a strategy changes what the model computes, and not only where.
bool ChangesModel(Strategy strategy) {
  strategy.target.clear();
  strategy.partition.clear();
  strategy.schedules.clear();
  Strategy none;
  none.target.clear();
  none.model_hash = strategy.model_hash;
  return !(strategy == none);
}

void CheckAllAreKept(const cost::TrackStore& store) {
  if (store.left_out() == 0) return;
  throw UserError("--bisect needs all values, but " + std::to_string(store.left_out()) +
                  " of them do not fit: raise --store-mb");
}

/// All forms of a model.
struct Stages {
  cost::TrackStage baseline;
  std::optional<cost::TrackStage> optimized;  ///< if the strategy changes the model
  std::vector<cost::TrackStage> compiled;
};

/// Compares the inner values of all stages on the inputs of one call.
void CompareValues(const Options& options, const std::optional<TrackRules>& rules,
                   const Stages& stages, std::span<const Tensor> inputs,
                   const TargetRegistry& targets, ProgressLine& line, TrackReport& report) {
  cost::TrackStore store(options.store, static_cast<std::uint64_t>(options.store_mb * 1e6));
  const auto compare = [&](const cost::TrackStage& stage, const std::string& reference) {
    line.Show("[track] " + stage.name);
    return cost::CompareStage(stage, reference, options.tensors, inputs, report.tolerance, targets,
                              store);
  };
  std::string reference = stages.baseline.name;
  (void)compare(stages.baseline, reference);
  if (stages.optimized) {
    report.strategy = true;
    report.stages.push_back(compare(*stages.optimized, reference));
    if (rules) KeepPicked(rules->optimized, report.tolerance, report.stages.back());
    if (options.against == stages.optimized->name) reference = stages.optimized->name;
  }
  if (options.bisect) CheckAllAreKept(store);
  for (const std::string& name : options.tensors) {
    if (store.TypeOf(reference, name) == DType::kUndefined) {
      std::string text = "stage " + reference;
      text += " has no value '" + name + "', or --store-mb is too small for it";
      throw UserError(text);
    }
  }
  for (const cost::TrackStage& stage : stages.compiled) {
    report.stages.push_back(compare(stage, reference));
    if (rules) KeepPicked(rules->compiled, report.tolerance, report.stages.back());
    if (!options.bisect) continue;
    report.bisections.emplace_back(
        stage.name, cost::BisectStage(stage, reference, store, inputs, report.tolerance, targets,
                                      [&](std::int64_t low, std::int64_t high) {
                                        std::string text = "[bisect] " + stage.name;
                                        text += ": values " + std::to_string(low);
                                        text += " to " + std::to_string(high);
                                        line.Show(text);
                                      }));
  }
  report.left_out = store.left_out();
}

OutputsReport CompareOutputs(const Options& options, const Stages& stages,
                             const std::shared_ptr<const SampleSource>& samples,
                             const TargetRegistry& targets, ProgressLine& line) {
  StagesToJudge in{.samples = samples,
                   .baseline = stages.baseline,
                   .judged = options.judged,
                   .threads = options.threads};
  if (stages.optimized) in.stages.push_back(&*stages.optimized);
  for (const cost::TrackStage& stage : stages.compiled) in.stages.push_back(&stage);
  return JudgeStages(in, targets, line);
}

void Track(Options options, AppContext& context) {
  const TargetRegistry targets = MakeTargets();
  CheckLimitsOf(options);
  const Strategy strategy = StrategyFor(options);
  SizedModel model = LoadModelFor(options.model, options.shapes, strategy);
  PlaceTrackSamples(model.graph, options.samples);
  const Graph& graph = model.graph;
  std::optional<TrackRules> rules;
  if (!options.rules.empty()) {
    rules = ReadRules(options, graph);
    options.tensors = rules->all;
  }
  CompileOptions compile{.threads = options.threads, .bindings = BindingsOf(model, options.batch)};
  Stages stages;
  stages.compiled = CompiledStages(options, graph, strategy, targets, compile);
  stages.baseline = cost::BaselineStage(graph, compile);
  if (ChangesModel(strategy)) stages.optimized = cost::OptimizedStage(graph, strategy, compile);
  const TrackSamples samples =
      OpenTrackSamples(options.samples, graph, stages.baseline.model.graph);

  TrackReport report;
  report.model = options.model;
  report.tolerance = ToleranceFor(options, strategy);
  report.random = options.samples.random.has_value();
  {
    ProgressLine line;
    CompareValues(options, rules, stages, samples.first_call, targets, line, report);
    report.outputs = CompareOutputs(options, stages, samples.source, targets, line);
  }
  if (!TrackComplaint(report).empty()) context.exit_code = kExitInfeasible;
  if (!options.page.empty()) WriteFileAtomic(options.page, RenderLayers(ViewOf(report)));
  options.json ? PrintTrackJson(report) : PrintTrackTable(report);
}

}  // namespace

void AddTrack(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "track",
      "Compare the outputs of a model and the values inside it from stage to stage, and find "
      "where they go wrong");
  AddModelOptions(*command, options->model, options->shapes);
  command->add_option("--strategy", options->strategy,
                      "also compare the model with this strategy applied");
  command
      ->add_option("--targets", options->targets,
                   "targets to compile the model for, separated by commas")
      ->delimiter(',');
  AddRepeated(*command, "--artefact", options->artefacts,
              "artefact of the model to compare; may be repeated");
  CLI::Option* tensors =
      command
          ->add_option("--tensors", options->tensors,
                       "names of values to compare, separated by commas; default: all")
          ->delimiter(',');
  CLI::Option* rules =
      command->add_option("--rules", options->rules,
                          "file of rules that selects the values instead; see docs/rules.md");
  AddSetting(*command, "--against", options->against, CLI::IsMember({"optimized", "baseline"}),
             "stage that compiled stages are compared with if there is a strategy: the "
             "optimized model (with the strategy), or the baseline (without it)");
  AddTrackSampleOptions(*command, options->samples);
  AddBatchOption(*command, options->batch);
  AddJudgeOptions(*command, options->judged, "the samples");
  AddThreadsOption(*command, options->threads, "number of threads of compiled stages");
  command
      ->add_option("--tolerance", options->tolerance,
                   "largest accepted error, relative to the range of a value; default: 0.001, or "
                   "0.05 if layers are int8 or bf16")
      ->check(CLI::Range(1e-12, 1e6));
  command->add_option("--store", options->store,
                      "new folder to store all values in, as .npy files");
  AddSetting(*command, "--store-mb", options->store_mb, CLI::Range(0.001, 1e9),
             "largest size of the stored values in megabytes");
  command
      ->add_flag("--bisect", options->bisect,
                 "find the operator where a compiled stage departs, and whether the lowered graph "
                 "or the target causes it; uses all values")
      ->excludes(tensors)
      ->excludes(rules);
  command->add_flag("--any-version", options->any_version,
                    "accept artefacts that were compiled with other libraries");
  command->add_option(
      "--page", options->page,
      "write a web page: the verdict, the losses of outputs, and a bar and a line for every "
      "value");
  command->add_flag("--json", options->json, "print the results as JSON");
  command->footer(
      "Exit code 3: outputs of a stage miss a --limit or are suspicious (docs/quality.md), or a\n"
      "compiled stage departs: an inner value differs by more than --tolerance. Outputs are\n"
      "compared with those of the baseline on all samples, inner values on the first call.\n"
      "Examples:\n"
      "  mscgym track model.onnx --strategy run/best/strategy.json --data images --limit "
      "disagreement=1\n"
      "  mscgym track model.onnx --strategy run/best/strategy.json --targets onednn,native\n"
      "    --input image.npy --bisect");
  command->callback([options, &context] { Track(*options, context); });
}

}  // namespace msc::gym
