#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/tool_rules.h"
#include "cost/track/bisect.h"
#include "cost/track/stage.h"
#include "gym/app/command.h"
#include "gym/app/input_files.h"
#include "gym/app/layer_views.h"
#include "gym/app/options.h"
#include "gym/app/rules.h"
#include "gym/app/samples.h"
#include "gym/app/track_print.h"
#include "gym/console/progress_line.h"
#include "gym/search/model.h"
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
  std::vector<std::string> inputs;
  std::string images;
  cost::DataConfig data;
  std::optional<std::int64_t> samples;
  std::optional<std::uint64_t> random;
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

std::vector<Tensor> RandomInputs(const Graph& bound, std::uint64_t seed) {
  std::vector<Tensor> inputs;
  Rng rng(seed);
  for (const ValueId id : bound.inputs()) {
    const ValueType& type = bound.type(id);
    Tensor tensor(type.dtype, StaticDims(type.shape.value()).value());
    if (type.dtype == DType::kF32) {
      for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<Tensor> LoadInputs(const Options& options, const Graph& canonical, const Graph& bound) {
  const int ways = (options.inputs.empty() ? 0 : 1) + (options.images.empty() ? 0 : 1) +
                   (options.random ? 1 : 0);
  if (ways != 1) throw UserError("give one of --input, --data and --random");
  if (options.random) return RandomInputs(bound, *options.random);
  if (!options.images.empty()) {
    const std::int64_t count = BatchSize(bound, 1);
    return InputsOfRows(
        LayoutOf(canonical),
        OpenSamples(options.data, canonical, options.images, "", count)->Read(0, count));
  }
  std::vector<Tensor> inputs;
  CheckInputCount(options.inputs, bound.inputs().size());
  for (std::size_t i = 0; i < options.inputs.size(); ++i) {
    const Value& value = bound.value(bound.inputs()[i]);
    inputs.push_back(ReadInput(options.inputs[i], value.name, value.type.dtype));
  }
  return inputs;
}

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
  for (const std::string& target : wanted) {
    Strategy there = strategy;
    if (target != strategy.target) RunAllOn(target, there);
    stages.push_back(cost::CompiledStage(graph, there, targets, compile));
  }
  return stages;
}

void CheckAllAreKept(const cost::TrackStore& store) {
  if (store.left_out() == 0) return;
  throw UserError("--bisect needs all values, but " + std::to_string(store.left_out()) +
                  " of them do not fit: raise --store-mb");
}

void Track(Options options, AppContext& context) {
  const TargetRegistry targets = MakeTargets();
  Graph loaded = LoadModel(options.model, options.shapes);
  PlaceSamplesOf(loaded, options.data, {options.images});
  const Graph graph = std::move(loaded);
  std::optional<TrackRules> rules;
  if (!options.rules.empty()) {
    rules = ReadRules(options, graph);
    options.tensors = rules->all;
  }
  const Strategy strategy = StrategyFor(options);
  CompileOptions compile{
      .threads = options.threads,
      .bindings = BatchBindings(graph, BatchFor(graph, options.samples, "--samples"))};
  const std::vector<cost::TrackStage> stages =
      CompiledStages(options, graph, strategy, targets, compile);

  TrackReport report;
  report.model = options.model;
  report.tolerance = ToleranceFor(options, strategy);
  cost::TrackStore store(options.store, static_cast<std::uint64_t>(options.store_mb * 1e6));
  ProgressLine line;
  const cost::TrackStage baseline = cost::BaselineStage(graph, compile);
  const std::vector<Tensor> inputs = LoadInputs(options, graph, baseline.model.graph);
  const auto compare = [&](const cost::TrackStage& stage, const std::string& reference) {
    line.Show("[track] " + stage.name);
    return cost::CompareStage(stage, reference, options.tensors, inputs, report.tolerance, targets,
                              store);
  };
  (void)compare(baseline, baseline.name);
  std::string reference = baseline.name;
  Strategy changes = strategy;
  changes.target.clear();
  changes.partition.clear();
  changes.schedules.clear();
  Strategy none;
  none.target.clear();
  none.model_hash = changes.model_hash;
  if (!(changes == none)) {
    const cost::TrackStage optimized = cost::OptimizedStage(graph, strategy, compile);
    report.stages.push_back(compare(optimized, reference));
    if (rules) KeepPicked(rules->optimized, report.tolerance, report.stages.back());
    if (options.against == optimized.name) reference = optimized.name;
  }
  if (options.bisect) CheckAllAreKept(store);
  for (const std::string& name : options.tensors) {
    if (store.TypeOf(reference, name) == DType::kUndefined) {
      std::string text = "stage " + reference;
      text += " has no value '" + name + "', or --store-mb is too small for it";
      throw UserError(text);
    }
  }
  for (const cost::TrackStage& stage : stages) {
    report.stages.push_back(compare(stage, reference));
    if (rules) KeepPicked(rules->compiled, report.tolerance, report.stages.back());
    const bool departs = report.stages.back().first.has_value();
    if (departs) context.exit_code = kExitInfeasible;
    if (!options.bisect) continue;
    report.bisections.emplace_back(
        stage.name, cost::BisectStage(stage, reference, store, inputs, report.tolerance, targets,
                                      [&](std::int64_t low, std::int64_t high) {
                                        std::string text = "[bisect] " + stage.name;
                                        text += ": values " + std::to_string(low);
                                        text += " to " + std::to_string(high);
                                        line.Show(text);
                                      }));
    if (report.bisections.back().second.blame != cost::Blame::kNone) {
      context.exit_code = kExitInfeasible;
    }
  }
  report.left_out = store.left_out();
  if (!options.page.empty()) WriteFileAtomic(options.page, RenderLayers(ViewOf(report)));
  options.json ? PrintTrackJson(report) : PrintTrackTable(report);
}

}  // namespace

void AddTrack(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "track",
      "Compare the values inside a model from stage to stage, and find where they go wrong");
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
  command->add_option("--input", options->inputs, "one .npy file per input, in order");
  command->add_option("--data", options->images, "instead: file or folder with samples");
  AddFormOptions(*command, options->data);
  command->add_option("--random", options->random,
                      "instead: use normally distributed random inputs with this seed");
  command
      ->add_option(
          "--samples", options->samples,
          "number of samples per call, if the model leaves the batch size open; default: 1")
      ->check(CLI::Range(1, 65536));
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
  command->add_option("--page", options->page,
                      "write a web page with a bar and a line for every value");
  command->add_flag("--json", options->json, "print the results as JSON");
  command->footer(
      "Exit code 3: a compiled stage departs: a value differs by more than --tolerance.\n"
      "Example:\n"
      "  mscgym track model.onnx --strategy run/best/strategy.json --targets onednn,native\n"
      "    --input image.npy --bisect");
  command->callback([options, &context] { Track(*options, context); });
}

}  // namespace msc::gym
