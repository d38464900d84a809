#include "compiler/pipeline/prune.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/codegen/onnx/export.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "gym/app/command.h"
#include "gym/app/model.h"
#include "gym/app/progress.h"
#include "gym/app/prune_print.h"
#include "gym/app/registries.h"
#include "gym/app/samples.h"
#include "gym/app/shape_option.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  PruneRequest request;
  std::vector<std::string> densities;  ///< as LAYER=DENSITY
  std::string plan;
  std::string score = "l2";
  PruneCalibration calibration;
  SampleOptions samples;
  bool reconstruct = false;
  std::string out;
  std::string save_plan;
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
  return report;
}

void CheckOptions(const Options& options) {
  const PruneRequest& request = options.request;
  const bool asks =
      request.density != 1 || !request.densities.empty() || request.macs || request.bytes;
  if (asks == !options.plan.empty()) {
    throw UserError("give one of --density, --layer, --macs, --size and --plan");
  }
  const bool calibrates = NeedsCalibration(ParseScoreMethod(options.score)) && options.plan.empty();
  if (calibrates && options.samples.images.empty()) {
    throw UserError("--score " + options.score + " needs --calibration");
  }
  if (options.reconstruct && options.samples.images.empty()) {
    throw UserError("--reconstruct needs --calibration");
  }
  CheckSampleOptions(options.samples);
}

void Prune(Options options) {
  ReadDensities(options.densities, options.request);
  CheckOptions(options);
  const TargetRegistry targets = MakeTargets();
  const Graph graph = LoadModel(options.model, options.shapes);
  const PruneSpace space(graph);
  if (space.groups().empty()) {
    throw UserError("nothing in this model can be pruned" +
                    (space.fixed().empty()
                         ? std::string(": it has no layer with weights")
                         : "; '" + space.fixed()[0].layer + "': " + space.fixed()[0].reason));
  }
  const std::vector<Tensor> samples = LoadCalibration(options.samples, graph);
  ProgressLine line;
  const auto show = [&](const char* what) {
    return [&line, what](double share) {
      line.Show(std::string("[") + what + "] " + std::to_string(static_cast<int>(100 * share)) +
                " %");
    };
  };
  Strategy strategy;
  std::optional<UnitScores> scores;
  if (!options.plan.empty()) {
    strategy = LoadStrategy(options.plan);
    if (options.reconstruct) strategy.fit = {};  // to be made anew
  } else {
    strategy.model_hash = GraphHash(graph);
    strategy.target = options.calibration.run.target;
    const ScoreMethod method = ParseScoreMethod(options.score);
    scores = NeedsCalibration(method)
                 ? ScoreByCalibration(graph, space, method, samples, options.calibration, targets,
                                      show("score"))
                 : ScoreWeights(graph, space, method, options.calibration.seed);
    strategy.prune = ChoosePlan(graph, space, *scores, options.request);
  }
  // Only the channels: precisions of a plan are for who compiles it.
  Strategy pruning = strategy;
  pruning.quantize = {};
  Graph pruned = ApplyStrategy(graph, pruning);
  std::vector<ReconstructedLayer> reconstructed;
  if (options.reconstruct) {
    reconstructed = Reconstruct(graph, strategy.prune, samples, options.calibration, targets,
                                pruned, show("reconstruct"));
  }
  PruneReport report =
      MakeReport(graph, space, KeptUnits(space, strategy.prune), scores, reconstructed);
  report.model = options.model;
  report.score = options.plan.empty() ? options.score : "plan";
  if (!options.samples.test_images.empty()) {
    report.quality =
        TestJudge(LoadTest(options.samples, graph), graph, options.calibration.run, targets)
            .Judge(pruned);
  }
  if (!options.save_plan.empty()) SaveStrategy(strategy, options.save_plan);
  if (!options.out.empty()) ExportOnnx(pruned, options.out);
  options.json ? PrintPruneJson(report) : PrintPruneTable(report);
}

void AddChoices(CLI::App& command, Options& options) {
  command.add_option("--density", options.request.density,
                     "share of the channels of every group that stays, in (0, 1]");
  command.add_option("--layer", options.densities, "the same for one group, as NAME=DENSITY")
      ->allow_extra_args(false);
  command.add_option("--macs", options.request.macs,
                     "instead: share of the multiply-adds that may stay; the scores decide where");
  command.add_option("--size", options.request.bytes, "instead: share of the weights' bytes");
  command.add_option("--plan", options.plan, "instead: replay a plan, as --save-plan writes it");
  command
      .add_option("--score", options.score,
                  "what stays: l1, l2, fpgm, random; energy or obs from calibration data")
      ->capture_default_str();
  command.add_option("--align", options.request.align, "keep multiples of so many channels")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command
      .add_option("--least", options.request.least,
                  "share of every group that a budget leaves, in (0, 1]")
      ->capture_default_str();
  command.add_option("--seed", options.calibration.seed, "of random scores and sampled positions")
      ->capture_default_str();
}

void AddData(CLI::App& command, Options& options) {
  AddSampleOptions(command, options.samples);
  command.add_flag("--reconstruct", options.reconstruct,
                   "fit the weights left to the outputs before, layer by layer, without training");
  command
      .add_option("--ridge", options.calibration.ridge,
                  "how firmly the fit holds on to the weights")
      ->check(CLI::Range(1e-9, 1e9))
      ->capture_default_str();
  command
      .add_option("--positions", options.calibration.positions,
                  "output positions a sample that a layer is judged at")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command
      .add_option("--target", options.calibration.run.target, "who runs the model over the samples")
      ->capture_default_str();
  command.add_option("--threads", options.calibration.run.threads, "threads for that")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

}  // namespace

void AddPrune(CLI::App& app, AppContext& /*context*/) {
  auto options = std::make_shared<Options>();
  options->calibration.run.target = "onednn";
  CLI::App* command =
      app.add_subcommand("prune", "Remove channels: make every layer smaller for real");
  command->add_option("model", options->model, "an .onnx file or a saved graph (.json)")
      ->required();
  AddShapeOption(*command, options->shapes);
  AddChoices(*command, *options);
  AddData(*command, *options);
  command->add_option("--out", options->out, "ONNX file to write");
  command->add_option("--save-plan", options->save_plan,
                      "strategy.json to write: which channels stay, without refitted weights");
  command->add_flag("--json", options->json, "for scripts");
  command->footer(
      "Example:\n  mscgym prune model.onnx --macs 0.5 --score obs --calibration train.npy "
      "--format npy\n    --reconstruct --align 8 --out half.onnx --save-plan half.json");
  command->callback([options] { Prune(*options); });
}

}  // namespace msc::gym
