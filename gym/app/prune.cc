#include "compiler/pipeline/prune.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/hash.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/choose_target.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fit.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/tool_rules.h"
#include "cost/quality/choose_form.h"
#include "gym/app/command.h"
#include "gym/app/layer_views.h"
#include "gym/app/model_timer.h"
#include "gym/app/options.h"
#include "gym/app/prune_print.h"
#include "gym/app/quality_print.h"
#include "gym/app/rules.h"
#include "gym/app/samples.h"
#include "gym/app/summary.h"
#include "gym/app/test_judge.h"
#include "gym/console/progress_line.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  PruneRequest request;
  std::vector<std::string> densities;  ///< as LAYER=DENSITY
  std::string plan;
  std::string rules;
  std::string score = "l2";
  std::optional<double> latency;  ///< fraction of the time
  std::string sparsity;
  SpeedOptions speed;
  PruneCalibration calibration;
  SampleOptions samples;
  std::string sample_labels;
  bool reconstruct = false;
  std::string out;
  std::string masked;
  std::string save_plan;
  std::string page;
  bool json = false;
};

void ReadDensities(const std::vector<std::string>& texts, PruneRequest& request) {
  for (const std::string& text : texts) {
    const std::size_t at = text.rfind('=');
    std::size_t read = 0;
    double density = 0;
    try {
      density = std::stod(text.substr(at == std::string::npos ? text.size() : at + 1), &read);
    } catch (const std::exception&) {
      read = 0;
    }
    if (at == std::string::npos || read == 0 || at + 1 + read != text.size()) {
      throw UserError("'" + text + "': write --layer NAME=DENSITY, such as conv1=0.5");
    }
    request.densities[text.substr(0, at)] = density;
  }
}

std::int64_t CountKept(const std::vector<std::int32_t>& units, const std::vector<bool>& kept) {
  return std::count_if(units.begin(), units.end(), [&](std::int32_t unit) {
    return unit < 0 || kept[static_cast<std::size_t>(unit)];
  });
}

/// Adds rows for layers that cannot be cut and have no weights of their own in floats.
void AddOtherFixed(const Graph& graph, const PruneSpace& space, const std::vector<bool>& kept,
                   PruneReport& report) {
  const std::vector<bool> all(space.units(), true);
  for (const FixedLayer& fixed : space.fixed()) {
    const auto listed =
        std::find_if(report.layers.begin(), report.layers.end(),
                     [&](const PrunedLayer& layer) { return layer.name == fixed.layer; });
    if (listed != report.layers.end()) continue;
    const NodeId id = graph.FindNode(fixed.layer);
    PrunedLayer row;
    row.name = fixed.layer;
    row.fixed_because = fixed.reason;
    row.macs = KeptMacs(graph, space, id, all);
    row.macs_kept = KeptMacs(graph, space, id, kept);
    const ValueId made = graph.node(id).outputs.at(0);
    if (const Dims* sizes = space.Sizes(made)) {
      const std::size_t axis = graph.node(id).op.starts_with("Conv") ? 1 : sizes->size() - 1;
      row.channels = sizes->at(axis);
      // Another layer to which its output is added may be cut.
      const auto& units = space.Units(made, axis);
      row.channels_kept = units.empty() ? row.channels : CountKept(units, kept);
    }
    report.layers.push_back(std::move(row));
  }
}

PruneReport MakeReport(const Graph& graph, const PruneSpace& space, const std::vector<bool>& kept,
                       const std::optional<UnitScores>& scores,
                       const std::vector<ReconstructedLayer>& reconstructed) {
  PruneReport report;
  const std::vector<bool> all(space.units(), true);
  report.macs = TotalMacs(graph, space, all);
  report.macs_kept = TotalMacs(graph, space, kept);
  report.bytes = KeptBytes(graph, space, all);
  report.bytes_kept = KeptBytes(graph, space, kept);
  for (const WeightedLayer& layer : FindWeightedLayers(graph)) {
    const Node& node = graph.node(layer.node);
    PrunedLayer row;
    row.name = node.name;
    row.macs = KeptMacs(graph, space, layer.node, all);
    row.macs_kept = KeptMacs(graph, space, layer.node, kept);
    const Dims* sizes = space.Sizes(layer.channels);
    row.channels = sizes == nullptr ? 0 : sizes->at(layer.channel_axis);
    const auto& units = space.Units(layer.channels, layer.channel_axis);
    row.channels_kept = units.empty() ? row.channels : CountKept(units, kept);
    for (const PruneGroup& group : space.groups()) {
      if (std::find(group.layers.begin(), group.layers.end(), node.name) == group.layers.end()) {
        continue;
      }
      row.group = group.name;
      if (!scores) continue;
      double whole = 0;
      double stays = 0;
      for (std::size_t unit = group.first_unit; unit < group.first_unit + group.units; ++unit) {
        whole += scores->of_unit[unit];
        stays += kept[unit] ? scores->of_unit[unit] : 0;
      }
      if (whole > 0) row.score_kept = stays / whole;
    }
    for (const FixedLayer& fixed : space.fixed()) {
      if (fixed.layer == node.name) row.fixed_because = fixed.reason;
    }
    for (const ReconstructedLayer& fit : reconstructed) {
      if (fit.layer == node.name) row.reconstructed = fit;
    }
    report.layers.push_back(std::move(row));
  }
  AddOtherFixed(graph, space, kept, report);
  return report;
}

/// Returns in how many ways the options decide which channels go; at most one is allowed.
int WaysToCut(const Options& options) {
  const PruneRequest& request = options.request;
  const bool asks =
      request.density != 1 || !request.densities.empty() || request.macs || request.bytes;
  return (asks ? 1 : 0) + (options.latency ? 1 : 0) + (options.plan.empty() ? 0 : 1) +
         (options.rules.empty() ? 0 : 1);
}

void CheckOptions(const Options& options) {
  const int ways = WaysToCut(options);
  if (ways > 1 || (ways == 0 && options.sparsity.empty())) {
    throw UserError(
        "give one of --density, --layer, --macs, --size, --latency, --rules and --plan, or give "
        "--sparsity");
  }
  const bool calibrates = NeedsCalibration(ParseScoreMethod(options.score)) &&
                          options.plan.empty() && options.rules.empty();
  if (!options.samples.images.empty()) return CheckSampleOptions(options.samples);
  if (calibrates) throw UserError("--score " + options.score + " needs --calibration");
  if (options.reconstruct) throw UserError("--reconstruct needs --calibration");
  if (!options.sparsity.empty()) throw UserError("--sparsity needs --calibration");
  if (!options.sample_labels.empty()) {
    throw UserError("--calibration-labels needs --calibration");
  }
  CheckSampleOptions(options.samples);
}

void RequireGroups(const PruneSpace& space) {
  if (!space.groups().empty()) return;
  throw UserError("nothing in this model can be pruned" +
                  (space.fixed().empty()
                       ? std::string(": it has no layer with weights")
                       : "; '" + space.fixed()[0].layer + "': " + space.fixed()[0].reason));
}

/// Returns the model with channels removed and nothing quantized; `mscgym compile` applies
/// precisions.
Graph Pruned(const Graph& graph, Strategy strategy) {
  strategy.quantize = {};
  return ApplyStrategy(graph, strategy);
}

Graph LoadPlaced(const Options& options) {
  Graph graph = LoadModel(options.model, options.shapes);
  PlaceSamplesOf(graph, options.samples.data,
                 {options.samples.images, options.samples.test_images});
  return graph;
}

class Pruner {
 public:
  Pruner(const Options& options, const TargetRegistry& targets)
      : options_(options),
        targets_(targets),
        graph_(LoadPlaced(options)),
        space_(graph_),
        calibration_(options.calibration) {
    if (WaysToCut(options) > 0) RequireGroups(space_);
    if (!options.samples.images.empty()) {
      samples_ = OpenCalibration(options.samples, graph_, options.sample_labels);
      calibration_.labels = samples_->labels();
    }
    CountAtOwnSizes();
  }

  PruneReport Run(const AppContext& context) {
    if (!options_.sparsity.empty()) calibration_.sparsity = ParseSparsity(options_.sparsity);
    const bool fits = options_.reconstruct || calibration_.sparsity;
    if (options_.latency) {
      timer_.emplace(graph_, InputsToTime(graph_, samples_.get()), calibration_.run, targets_,
                     options_.speed.max_ms);
    }
    Decide();
    if (!options_.masked.empty() && (fits || strategy_.fit != FitPlan{})) {
      throw UserError(
          "--masked cannot be used with refitted weights, which suit removed channels: leave out "
          "--masked or the refitting");
    }
    if (fits) strategy_.fit = {};  // to be refitted
    Graph pruned = Pruned(graph_, strategy_);
    std::vector<ReconstructedLayer> fitted;
    if (fits) {
      const Graph plain = pruned;
      fitted = Reconstruct(graph_, strategy_.prune, *samples_, calibration_, targets_, pruned,
                           Show("reconstruct"));
      strategy_.fit.samples = HashOfFit();
      SetFitted(ChangedConstants(plain, pruned), strategy_);
    }
    PruneReport report =
        MakeReport(graph_, space_, KeptUnits(space_, strategy_.prune), scores_, fitted);
    report.model = options_.model;
    report.score = !options_.plan.empty()    ? "plan"
                   : !options_.rules.empty() ? "rules"
                   : scores_                 ? options_.score
                                             : "none";
    report.sparsity = options_.sparsity;
    report.open_sizes = open_sizes_;
    report.tried = tried_;
    Write(pruned, context, report);
    return report;
  }

 private:
  /// Has multiply-adds counted for one sample, at the sizes of the samples where the model leaves
  /// some open. UserError if they decide what is cut and nothing gives the sizes.
  void CountAtOwnSizes() {
    const std::string open = OpenSizesText(graph_, BatchBindings(graph_, 1));
    if (open.empty()) return;
    if (samples_ != nullptr) {
      return space_.CountAt(graph_, BindingsFor(graph_, samples_->Read(0, 1)));
    }
    if (options_.request.macs) {
      throw UserError("--macs counts multiply-adds: " + open + ", or samples by --calibration");
    }
    open_sizes_ = open;
  }

  /// Judges and writes the pruned model, and adds the summary to the report.
  void Write(const Graph& pruned, const AppContext& context, PruneReport& report) {
    Strategy only_pruned = strategy_;  // a plan of a search may quantize, too
    only_pruned.quantize = {};
    SummaryInput made{.model = options_.model,
                      .shapes = options_.shapes,
                      .f32 = &graph_,
                      .compressed = &pruned,
                      .strategy = &only_pruned,
                      .samples = samples_.get(),
                      .run = calibration_.run,
                      .targets = &targets_,
                      .plan = options_.save_plan,
                      .speed = options_.speed,
                      .judged = &options_.samples.judged};
    TestSamples test;
    if (!options_.samples.test_images.empty()) {
      test = OpenTest(options_.samples, graph_);
      const TestJudge judge(test, graph_, calibration_.run, targets_, options_.samples.judged);
      PrintForms(judge.forms());
      made.quality = judge.Judge(pruned);
      if (made.samples == nullptr) made.samples = test.source.get();
    }
    if (!options_.save_plan.empty()) SaveStrategyFor(graph_, strategy_, options_.save_plan);
    if (!options_.out.empty()) {
      made.written =
          WriteModel(graph_, only_pruned, {.original = options_.model, .file = options_.out});
    }
    if (!options_.masked.empty()) {
      Graph masked = graph_;
      MaskPrunePlan(strategy_.prune, masked);
      WriteFileAtomic(options_.masked, ExportAtOldestSet(masked, {.narrow_ends = true}).bytes);
    }
    line_.Show("[measure]");
    report.summary = Summarize(made, context);
  }

  void Decide() {
    if (!options_.plan.empty()) {
      strategy_ = LoadStrategy(options_.plan);
      return;
    }
    strategy_.model_hash = GraphHash(graph_);
    strategy_.target = calibration_.run.target;
    if (WaysToCut(options_) == 0) return;  // only weights become zero
    if (!options_.rules.empty()) {
      DecideByRules();
      return;
    }
    scores_ = Scores(ParseScoreMethod(options_.score));
    if (!options_.latency) {
      strategy_.prune = ChoosePlan(graph_, space_, *scores_, options_.request);
      return;
    }
    constexpr int kMaxTimed = 8;
    const auto measure = [&](const PrunePlan& plan) {
      line_.Show("[measure] plan " + std::to_string(tried_.size() + 1));
      Strategy candidate;
      candidate.prune = plan;
      return timer_->Measure(Pruned(graph_, candidate)).ratio;
    };
    strategy_.prune = ChoosePlanByTime(graph_, space_, *scores_, options_.request,
                                       *options_.latency, measure, kMaxTimed, tried_);
  }

  [[nodiscard]] UnitScores Scores(ScoreMethod method) {
    if (!NeedsCalibration(method)) {
      return ScoreWeights(graph_, space_, method, calibration_.seed);
    }
    if (samples_ == nullptr) {
      throw UserError("the score " + std::string(Name(method)) + " needs --calibration");
    }
    if (method == ScoreMethod::kTaylor && calibration_.forms.empty()) {
      calibration_.forms = cost::ChooseForms(graph_, *samples_, calibration_.run, targets_,
                                             options_.samples.judged.outputs);
    }
    UnitScores scores = ScoreByCalibration(graph_, space_, method, *samples_, calibration_,
                                           targets_, Show("score"));
    for (const std::string& group : scores.by_weights) {
      std::fprintf(
          stderr,
          "note: group '%s' is scored by the l2 norm of its weights, since no layer reads it "
          "whose outputs on samples could tell what a unit is worth\n",
          group.c_str());
    }
    return scores;
  }

  /// Scores each group by the method that its rule names.
  void DecideByRules() {
    PruneRules rules = ReadPruneRules(OpenRules(options_.rules, "pruner", graph_), graph_, space_);
    if (rules.of_group.empty()) {
      throw UserError("'" + options_.rules + "' has no rule that cuts a group of channels");
    }
    rules.request.least = options_.request.least;
    std::map<ScoreMethod, UnitScores> by_method;
    scores_ = UnitScores{.of_unit = std::vector<double>(space_.units(), 0.0)};
    for (const auto& [name, method] : rules.of_group) {
      if (!by_method.contains(method)) by_method.emplace(method, Scores(method));
      const PruneGroup& group = *space_.Find(name);
      const auto first = static_cast<std::ptrdiff_t>(group.first_unit);
      std::copy_n(by_method.at(method).of_unit.begin() + first, group.units,
                  scores_->of_unit.begin() + first);
    }
    strategy_.prune = ChoosePlan(graph_, space_, *scores_, rules.request);
  }

  [[nodiscard]] std::string HashOfFit() const {
    const std::string hash = FitHash(*samples_, {.target = calibration_.run.target,
                                                 .threads = calibration_.run.threads,
                                                 .batch = calibration_.run.batch,
                                                 .reconstruct = true,
                                                 .ridge = calibration_.ridge,
                                                 .positions = calibration_.positions,
                                                 .seed = calibration_.seed});
    return calibration_.sparsity ? Sha256Hex(hash + " sparsity " + options_.sparsity) : hash;
  }

  [[nodiscard]] std::function<void(double)> Show(const char* what) {
    return [this, what](double share) {
      line_.Show(std::string("[") + what + "] " + std::to_string(static_cast<int>(100 * share)) +
                 " %");
    };
  }

  const Options& options_;
  const TargetRegistry& targets_;
  const Graph graph_;
  PruneSpace space_;
  std::string open_sizes_;  ///< PruneReport::open_sizes
  PruneCalibration calibration_;
  std::unique_ptr<const cost::DatasetSamples> samples_;
  ProgressLine line_;
  std::optional<ModelTimer> timer_;
  Strategy strategy_;
  std::optional<UnitScores> scores_;
  std::vector<TimedPrunePlan> tried_;
};

void Prune(Options options, AppContext& context) {
  ReadDensities(options.densities, options.request);
  CheckOptions(options);
  for (const std::string* file :
       {&options.out, &options.masked, &options.save_plan, &options.page}) {
    CheckWritable(*file);
  }
  const TargetRegistry targets = MakeTargets();
  options.calibration.run.target = TargetOf(options.calibration.run.target, targets);
  (void)targets.Get(options.calibration.run.target);  // before work that does not need it
  const PruneReport report = Pruner(options, targets).Run(context);
  if (!options.page.empty()) WriteFileAtomic(options.page, RenderLayers(ViewOf(report)));
  options.json ? PrintPruneJson(report) : PrintPruneTable(report);
  ReportProblems(report.summary, context);
}

void AddChoices(CLI::App& command, Options& options) {
  command.add_option("--density", options.request.density,
                     "share of the channels of every group to keep, in (0, 1]");
  AddRepeated(command, "--layer", options.densities,
              "NAME=DENSITY: share of the channels of one group to keep; may be repeated");
  command.add_option(
      "--macs", options.request.macs,
      "instead: largest share of the multiply-adds to keep; the scores decide which channels stay");
  command.add_option("--size", options.request.bytes,
                     "instead: largest share of the bytes of weights to keep");
  command.add_option("--latency", options.latency,
                     "instead: largest share of the measured time on --target to keep; measures up "
                     "to eight plans");
  command.add_option(
      "--rules", options.rules,
      "instead: file of rules with density and score of each layer; see docs/rules.md");
  command.add_option("--plan", options.plan, "instead: apply a plan that --save-plan wrote");
  AddSetting(command, "--score", options.score,
             "score that chooses the channels to keep: l1, l2, fpgm or random; energy, obs or "
             "taylor with --calibration");
  AddSetting(command, "--align", options.request.align, CLI::Range(1, 4096),
             "keep a multiple of this number of channels");
  AddSetting(command, "--least", options.request.least,
             "smallest share of every group that a budget keeps, in (0, 1]");
  AddSetting(command, "--seed", options.calibration.seed,
             "seed of random scores and of sampled positions");
}

void AddData(CLI::App& command, Options& options) {
  AddSampleOptions(command, options.samples);
  command.add_option("--calibration-labels", options.sample_labels,
                     "class numbers of --calibration, for --score taylor; default: the model's "
                     "own decisions");
  command.add_option("--sparsity", options.sparsity,
                     "set weights to zero and refit the others: N:M, such as 2:4, or the share of "
                     "weights to keep, such as 0.5");
  command.add_flag(
      "--reconstruct", options.reconstruct,
      "refit the remaining weights to the original outputs, layer by layer, without training");
  AddSetting(command, "--ridge", options.calibration.ridge, CLI::Range(1e-9, 1e9),
             "strength with which the fit holds weights near their original values");
  AddSetting(command, "--positions", options.calibration.positions, CLI::Range(1, 1000000),
             "number of output positions per sample that scores and fit use");
  AddSetting(
      command, "--target", options.calibration.run.target,
      "target that runs the model on the samples and is timed; auto = the first that has 8-bit "
      "kernels for this CPU");
  AddThreadsOption(command, options.calibration.run.threads, "number of threads of the target");
  AddSpeedOptions(command, options.speed);
}

}  // namespace

void AddPrune(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  options->calibration.run.target = kAutoTarget;
  CLI::App* command = app.add_subcommand("prune", "Remove channels of a model");
  AddModelOptions(*command, options->model, options->shapes);
  AddChoices(*command, *options);
  AddData(*command, *options);
  command->add_option("--out", options->out, "write the pruned model to this ONNX file");
  command->add_option("--masked", options->masked,
                      "write an ONNX file with the original shapes, in which the channels are "
                      "masked instead of removed");
  command->add_option(
      "--save-plan", options->save_plan,
      "write the remaining channels to this strategy file, and refitted weights beside it");
  command->add_option("--page", options->page,
                      "write a web page with a bar and a line for every layer");
  command->add_flag("--json", options->json, "print the results as JSON");
  command->footer(
      "Example:\n  mscgym prune model.onnx --macs 0.5 --score obs --calibration train.npy "
      "--format npy\n    --reconstruct --align 8 --out half.onnx --save-plan half.json");
  command->callback([options, &context] { Prune(*options, context); });
}

}  // namespace msc::gym
