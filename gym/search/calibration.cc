#include "gym/search/calibration.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/codegen/cpp/isa.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/prune.h"
#include "compiler/pipeline/quantize.h"
#include "cost/quality/choose_form.h"
#include "gym/search/config.h"
#include "gym/search/host.h"
#include "gym/search/model.h"
#include "gym/search/prepare.h"
#include "gym/search/registries.h"
#include "gym/search/run_paths.h"

namespace msc::gym {
namespace {

using Scales = std::map<std::string, TensorScale>;

/// Calibrated scales, with the hash of their model.
struct ScalesFile {
  std::string format = "msc-scales-1";
  std::string model_hash;
  Scales scales;
  std::map<std::string, Scales> by_range;  ///< by method that the search chooses from
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-scales-1"}));
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("scales", self.scales, "scales by tensor name");
    visit("by_range", self.by_range, "scales by method and tensor name");
  }
};

/// Precisions that targets do not support for layers of the model.
struct UnsupportedFile {
  std::string format = "msc-lacked-1";
  envs::UnsupportedPrecisions layers;                         ///< of the config's target
  std::map<std::string, envs::UnsupportedPrecisions> others;  ///< of the other targets, by spec
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-lacked-1"}));
    visit("layers", self.layers, "unsupported precisions by layer");
    visit("others", self.others, "the same for every other target");
  }
};

/// Channel scores from calibration samples, with the hash of their model.
struct UnitScoresFile {
  std::string format = "msc-unit-scores-1";
  std::string model_hash;
  std::string method;
  std::vector<double> scores;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form",
          Within::OneOf({"msc-unit-scores-1"}));
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("method", self.method, "method of the scores");
    visit("scores", self.scores, "scores by number of the unit", Within{0, 1e300});
  }
};

std::function<void(double)> ProgressOf(SearchListener& listener, const char* what) {
  return [&listener, what](double share) {
    listener.ReportProgress(std::string("[") + what + "] " +
                            std::to_string(static_cast<int>(100 * share)) + " %");
  };
}

/// Returns the score for a word of PruneConfig::score.
ScoreMethod ScoreOf(const std::string& word, const SearchConfig& config, const Graph& graph,
                    const PruneSpace& space) {
  // Removing channels one by one finds a few percent better ones than judging each by itself, but
  // takes minutes for the widest layers of a ResNet.
  constexpr double kMostWork = 2e10;
  if (word != "auto") return ParseScoreMethod(word);
  if (config.calibration.data.images.empty()) return ScoreMethod::kL2;
  return WorkOfObs(graph, space) <= kMostWork ? ScoreMethod::kObs : ScoreMethod::kEnergy;
}

[[noreturn]] void ThrowOfAnotherRun(const std::string& file) {
  throw UserError("'" + file + "' was made for another model or config; choose another --out");
}

}  // namespace

void ReportSamples(const std::string& what, const cost::DatasetSamples& samples,
                   SearchListener& listener) {
  const std::vector<cost::InputSummary> inputs = samples.Summary();
  std::istringstream lines(what + ": " + cost::FormatSummary(inputs, samples.count()));
  for (std::string line; std::getline(lines, line);) listener.ReportLine(line);
  for (const std::string& warning : cost::WarningsOf(inputs)) {
    std::string line = what;
    listener.Warn(line.append(": ").append(warning));
  }
}

const SampleSource& CalibrationSamples::Get() {
  if (!samples_) {
    cost::DataConfig data = config_.data;
    if (data.images.empty()) throw UserError("set 'calibration.data.images' in the config");
    if (data.count == 0 || data.count > config_.most()) {
      data.count = config_.most();
      data.or_fewer = !config_.samples.has_value();
    }
    samples_.emplace(data, FormsOf(graph_));
    samples_->CheckLabels(ClassesOf(graph_));
    if (listener_ != nullptr) ReportSamples("calibration", *samples_, *listener_);
  }
  return *samples_;
}

std::string FittingTarget(const std::string& target) {
  const TargetRegistry targets = MakeTargets();
  const bool compiles = targets.Get(target).facts().name == "native";
  return compiles && targets.Find("onednn") != nullptr ? "onednn" : target;
}

CalibrationRun CalibrationRunOf(const SearchConfig& config) {
  return {.target = FittingTarget(config.target),
          .threads = config.threads,
          .batch = config.calibration.batch};
}

FitOptions FitOptionsOf(const SearchConfig& config) {
  const auto& prune = config.section<PruneConfig>();
  return {.target = FittingTarget(config.target),
          .threads = config.threads,
          .batch = config.calibration.batch,
          .reconstruct = prune.reconstruct,
          .ridge = prune.ridge,
          .positions = prune.positions,
          .seed = 0,
          .scales = config.calibration.options};
}

CalibratedScales Calibrate(const Preparation& preparation) {
  const SearchConfig& config = preparation.config;
  const Graph& graph = *preparation.prepared.graph;
  const std::string path = preparation.paths.At("scales.json");
  const std::string hash = GraphHash(graph);
  const std::vector<std::string>& ranges = config.section<envs::QuantizeConfig>().ranges;
  if (std::filesystem::exists(path)) {
    auto found = FromJsonText<ScalesFile>(ReadFile(path), "'" + path + "'");
    const bool complete = std::all_of(ranges.begin(), ranges.end(), [&](const std::string& method) {
      return found.by_range.contains(method);
    });
    if (found.model_hash != hash || !complete) ThrowOfAnotherRun(path);
    return {.scales = std::move(found.scales), .by_range = std::move(found.by_range)};
  }
  const Calibrator calibrator = ObserveActivations(
      graph, preparation.calibration.Get(), CalibrationRunOf(config), preparation.prepared.targets,
      ProgressOf(preparation.host.listener, "calibrate"));
  ScalesFile file;
  file.model_hash = hash;
  file.scales = calibrator.Scales(config.calibration.options);
  for (const std::string& method : ranges) {
    CalibrationOptions options = config.calibration.options;
    options.method = method;
    file.by_range[method] = calibrator.Scales(options);
  }
  WriteFileAtomic(path, ToJsonText(file, 1) + "\n");
  return {.scales = std::move(file.scales), .by_range = std::move(file.by_range)};
}

std::vector<double> ScoreUnits(const Preparation& preparation) {
  const SearchConfig& config = preparation.config;
  const auto& prune = config.section<PruneConfig>();
  const Graph& graph = *preparation.prepared.graph;
  const std::string path = preparation.paths.At("unit_scores.json");
  const PruneSpace space(graph);
  const ScoreMethod method = ScoreOf(prune.score, config, graph, space);
  if (!NeedsCalibration(method)) return ScoreWeights(graph, space, method, config.seed).of_unit;
  const std::string hash = GraphHash(graph);
  if (std::filesystem::exists(path)) {
    auto found = FromJsonText<UnitScoresFile>(ReadFile(path), "'" + path + "'");
    if (found.model_hash != hash || found.method != prune.score) ThrowOfAnotherRun(path);
    return std::move(found.scores);
  }
  PruneCalibration calibration{.run = CalibrationRunOf(config), .positions = prune.positions};
  if (method == ScoreMethod::kTaylor) {
    calibration.forms = cost::ChooseForms(graph, preparation.calibration.Get(), calibration.run,
                                          preparation.prepared.targets, config.quality.outputs);
  }
  UnitScores scores = ScoreByCalibration(graph, space, method, preparation.calibration.Get(),
                                         calibration, preparation.prepared.targets,
                                         ProgressOf(preparation.host.listener, "score channels"));
  const UnitScoresFile file{.model_hash = hash, .method = prune.score, .scores = scores.of_unit};
  WriteFileAtomic(path, ToJsonText(file, 1) + "\n");
  return std::move(scores.of_unit);
}

namespace {

/// Returns whether bf16 may pay: where the CPU has no instructions for it, targets widen it to f32
/// for every product, so that it saves bytes only.
bool MayPayInBf16(const SearchConfig& config) {
  if (DetectIsa().bf16) return true;
  const auto is_bytes = [](const std::string& metric) { return metric.ends_with("_bytes"); };
  const ObjectiveConfig& objective = config.objective;
  return std::ranges::any_of(objective.minimize, is_bytes) ||
         std::ranges::any_of(objective.subject_to,
                             [&](const auto& limit) { return is_bytes(limit.first); });
}

}  // namespace

UnsupportedOnTargets FindUnsupported(const Preparation& preparation,
                                     const std::map<std::string, TensorScale>& scales,
                                     const std::vector<std::string>& other_targets) {
  const std::string path = preparation.paths.At("lacked.json");
  UnsupportedFile file;
  if (std::filesystem::exists(path)) {
    file = FromJsonText<UnsupportedFile>(ReadFile(path), "'" + path + "'");
    for (const std::string& target : other_targets) {
      if (file.others.contains(target)) continue;
      std::string text = "'" + path + "' was made with a config without the target '";
      throw UserError(text.append(target).append("'; choose another --out"));
    }
  } else {
    const Prepared& prepared = preparation.prepared;
    const bool bf16 = MayPayInBf16(preparation.config);
    if (!bf16) {
      preparation.host.listener.ReportLine(
          "bf16 is ruled out: this CPU has no instructions for it, so it would be slower than f32");
    }
    const auto find = [&](const std::string& target) {
      auto found = FindUnsupportedPrecisions(*prepared.graph, scales, target, prepared.targets);
      if (bf16) return found;
      for (const QuantizableLayer& layer : FindQuantizableLayers(*prepared.graph)) {
        std::vector<Precision>& lacked = found[layer.name];
        if (std::ranges::find(lacked, Precision::kBF16) == lacked.end()) {
          lacked.push_back(Precision::kBF16);
        }
      }
      return found;
    };
    file.layers = find(preparation.config.target);
    for (const std::string& target : other_targets) file.others[target] = find(target);
    WriteFileAtomic(path, ToJsonText(file, 1) + "\n");
  }
  UnsupportedOnTargets unsupported{.own = std::move(file.layers)};
  for (const std::string& target : other_targets) {
    unsupported.of_others[target] = file.others.at(target);
  }
  return unsupported;
}

}  // namespace msc::gym
