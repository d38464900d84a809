#include "gym/search/prepare.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/prune.h"
#include "compiler/pipeline/quantize.h"
#include "compiler/pipeline/train.h"
#include "compiler/targets/spec.h"
#include "cost/measure/energy.h"
#include "cost/measure/folder.h"
#include "cost/quality/dataset.h"
#include "envs/common/evaluation.h"
#include "gym/search/config.h"
#include "gym/search/cover.h"
#include "gym/search/env.h"
#include "gym/search/held_out.h"
#include "gym/search/host.h"
#include "gym/search/kernels.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"
#include "gym/search/run_files.h"
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
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-scales-1"}));
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("scales", self.scales, "scales by tensor name");
    visit("by_range", self.by_range, "scales by method and tensor name");
  }
};

using LackedNames = std::map<std::string, std::vector<std::string>>;

/// Precisions that targets do not support for layers of the model.
struct LackedFile {
  std::string format = "msc-lacked-1";
  LackedNames layers;                         ///< of the config's target
  std::map<std::string, LackedNames> others;  ///< of the other targets
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-lacked-1"}));
    visit("layers", self.layers, "unsupported precisions by layer",
          Within::OneOf({"bf16", "int8"}));
    visit("others", self.others, "the same for every other target",
          Within::OneOf({"bf16", "int8"}));
  }
};

/// Channel scores from calibration samples, with the hash of their model.
struct UnitScoresFile {
  std::string format = "msc-unit-scores-1";
  std::string model_hash;
  std::string method;
  std::vector<double> scores;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form",
          Within::OneOf({"msc-unit-scores-1"}));
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("method", self.method, "method of the scores");
    visit("scores", self.scores, "scores by number of the unit", Within{0, 1e300});
  }
};

/// Calibration samples, read on first use.
class CalibrationData {
 public:
  CalibrationData(const SearchConfig& config, const Graph& graph)
      : config_(config.calibration), graph_(graph) {}

  [[nodiscard]] const SampleSource& Get() {
    if (!samples_) {
      cost::DataConfig data = config_.data;
      if (data.images.empty()) throw UserError("set 'calibration.data.images' in the config");
      if (data.count == 0 || data.count > config_.most()) {
        data.count = config_.most();
        data.or_fewer = !config_.samples.has_value();
      }
      samples_.emplace(data, FormsOf(graph_));
      samples_->CheckLabels(ClassesOf(graph_));
    }
    return *samples_;
  }

 private:
  const CalibrationConfig& config_;
  const Graph& graph_;
  std::optional<cost::DatasetSamples> samples_;
};

std::function<void(double)> ProgressOf(SearchListener& listener, const char* what) {
  return [&listener, what](double share) {
    listener.ReportProgress(std::string("[") + what + "] " +
                            std::to_string(static_cast<int>(100 * share)) + " %");
  };
}

CalibrationRun RunOf(const SearchConfig& config) {
  return {.target = config.target, .threads = config.threads, .batch = config.calibration.batch};
}

FitOptions FitOptionsOf(const SearchConfig& config) {
  return {.target = config.target,
          .threads = config.threads,
          .batch = config.calibration.batch,
          .reconstruct = config.prune.reconstruct,
          .ridge = config.prune.ridge,
          .positions = config.prune.positions,
          .seed = 0,
          .scales = config.calibration.options};
}

ScalesFile Calibrate(const SearchHost& host, const SearchConfig& config, const Prepared& prepared,
                     CalibrationData& data, const std::string& file) {
  const std::string hash = GraphHash(*prepared.graph);
  const std::vector<std::string>& ranges = config.quantize.ranges;
  if (std::filesystem::exists(file)) {
    auto found = FromJsonText<ScalesFile>(ReadFile(file), "'" + file + "'");
    const bool complete = std::all_of(ranges.begin(), ranges.end(), [&](const std::string& method) {
      return found.by_range.contains(method);
    });
    if (found.model_hash == hash && complete) return found;
    throw UserError("'" + file + "' was made for another model or config; choose another --out");
  }
  const Calibrator calibrator =
      ObserveActivations(*prepared.graph, data.Get(), RunOf(config), prepared.targets,
                         ProgressOf(host.listener, "calibrate"));
  ScalesFile result;
  result.model_hash = hash;
  result.scales = calibrator.Scales(config.calibration.options);
  for (const std::string& method : ranges) {
    CalibrationOptions options = config.calibration.options;
    options.method = method;
    result.by_range[method] = calibrator.Scales(options);
  }
  WriteFileAtomic(file, ToJsonText(result, 1) + "\n");
  return result;
}

using Lacked = std::map<std::string, std::vector<Precision>>;

LackedNames NamesOf(const Lacked& lacked) {
  LackedNames names;
  for (const auto& [layer, precisions] : lacked) {
    for (const Precision precision : precisions) names[layer].emplace_back(Name(precision));
  }
  return names;
}

Lacked FromNames(const LackedNames& names) {
  Lacked lacked;
  for (const auto& [layer, precisions] : names) {
    for (const std::string& name : precisions) lacked[layer].push_back(ParsePrecision(name));
  }
  return lacked;
}

/// Finds unsupported precisions once per run, so that the choices stay the same.
void FindLacked(const SearchConfig& config, const std::string& path, Prepared& prepared) {
  const std::vector<std::string> others = OfferedTargets(config);
  LackedFile file;
  if (std::filesystem::exists(path)) {
    file = FromJsonText<LackedFile>(ReadFile(path), "'" + path + "'");
    const auto absent = std::find_if(others.begin(), others.end(), [&](const std::string& target) {
      return !file.others.contains(target);
    });
    if (absent != others.end()) {
      throw UserError("'" + path + "' was made with a config without the target '" + *absent +
                      "'; choose another --out");
    }
  } else {
    const auto find = [&](const std::string& target) {
      return NamesOf(LackedPrecisions(*prepared.graph, prepared.scales, target, prepared.targets));
    };
    file.layers = find(config.target);
    for (const std::string& target : others) file.others[target] = find(target);
    WriteFileAtomic(path, ToJsonText(file, 1) + "\n");
  }
  prepared.lacked = FromNames(file.layers);
  for (const std::string& target : others) {
    prepared.lacked_on[target] = FromNames(file.others.at(target));
  }
}

/// Returns the channel scores by calibration samples, or by weights if the method needs no samples.
std::vector<double> ScoreUnits(const SearchHost& host, const SearchConfig& config,
                               const Prepared& prepared, CalibrationData& data,
                               const std::string& file) {
  const ScoreMethod method = ParseScoreMethod(config.prune.score);
  const PruneSpace space(*prepared.graph);
  if (!NeedsCalibration(method)) {
    return ScoreWeights(*prepared.graph, space, method, config.seed).of_unit;
  }
  const std::string hash = GraphHash(*prepared.graph);
  if (std::filesystem::exists(file)) {
    auto found = FromJsonText<UnitScoresFile>(ReadFile(file), "'" + file + "'");
    if (found.model_hash == hash && found.method == config.prune.score) {
      return std::move(found.scores);
    }
    throw UserError("'" + file + "' was made with another config; choose another --out");
  }
  const PruneCalibration calibration{.run = RunOf(config), .positions = config.prune.positions};
  UnitScores scores =
      ScoreByCalibration(*prepared.graph, space, method, data.Get(), calibration, prepared.targets,
                         ProgressOf(host.listener, "score channels"));
  const UnitScoresFile made{
      .model_hash = hash, .method = config.prune.score, .scores = scores.of_unit};
  WriteFileAtomic(file, ToJsonText(made, 1) + "\n");
  return std::move(scores.of_unit);
}

/// Returns how many of `all` samples a trial may use; 0 = all. Sets `warnings`.
std::int64_t MostSamples(const SearchConfig& config, std::int64_t all,
                         std::vector<std::string>& warnings) {
  FinalPlan plan = PlanFinals(config, config.calibration.most(), CountsOf(config, all));
  warnings = std::move(plan.warnings);
  return plan.trials > 0 ? plan.trials : config.quality.most_samples;
}

/// Throws UserError if the two differ only in the number of samples that a trial may use.
void CheckSameSamples(const std::string& folder, const cost::EvaluationSettings& found,
                      const cost::EvaluationSettings& now) {
  cost::EvaluationSettings as_found = now;
  as_found.most_samples = found.most_samples;
  if (found != as_found || found == now) return;
  const auto most = [](std::int64_t samples) {
    return (samples > 0 ? std::to_string(samples) : std::string("all")) + " samples";
  };
  const std::string key = found.most_samples == 0
                              ? R"(set 'quality.finalists' to "all")"
                              : "set 'quality.finalists' and 'quality.most_samples' as they were";
  throw UserError("trials in '" + folder + "' may use " + most(found.most_samples) +
                  ", but the config now says " + most(now.most_samples) + ": " + key +
                  " to continue, or choose another --out");
}

/// Writes the folder that measuring children read.
cost::PreparedFolder PrepareSamples(const SearchConfig& config, Prepared& prepared,
                                    CalibrationData& calibration, const std::string& folder) {
  cost::EvaluationSettings settings;
  settings.target = config.target;
  settings.threads = config.threads;
  settings.samples = config.quality.samples;
  settings.limits = LimitsOf(config.objective);
  settings.batch = config.quality.batch;
  settings.energy = NamesEnergy(config);
  settings.latency = config.latency;
  settings.memory_mb = config.memory_mb;
  if (std::filesystem::exists(folder + "/evaluation.json")) {
    cost::PreparedFolder found = cost::OpenFolder(folder);
    if (found.settings.memory_mb != settings.memory_mb) SetMemory(found, settings.memory_mb);
    settings.most_samples = MostSamples(config, found.samples, prepared.warnings);
    const bool fits = (!FitsCandidates(config) || found.fit == FitOptionsOf(config)) &&
                      found.graph_hash == GraphHash(*prepared.graph);
    if (fits && found.settings == settings) return found;
    if (fits) CheckSameSamples(folder, found.settings, settings);
    throw UserError("'" + folder + "' was made with another config; choose another --out");
  }
  cost::DataConfig data = config.quality.data;
  if (data.images.empty()) throw UserError("set 'quality.data.images' in the config");
  if (config.quality.final_samples > 0) data.count = config.quality.final_samples;
  const cost::SampleSet samples =
      cost::LoadSampleSet(data, FormsOf(*prepared.graph), ClassesOf(*prepared.graph));
  settings.most_samples = MostSamples(config, samples.size(), prepared.warnings);
  return cost::PrepareFolder(folder,
                             {.graph = prepared.graph.get(),
                              .samples = &samples,
                              .settings = settings,
                              .calibration = FitsCandidates(config) ? &calibration.Get() : nullptr,
                              .fit = FitOptionsOf(config)},
                             prepared.targets);
}

/// Loads the start strategy without the parts that the search decides. UserError if the search
/// decides the rest of it as well, or if it belongs to another model.
Strategy LoadBase(const SearchConfig& config, const Graph& graph) {
  if (!Places(config) && !Schedules(config)) {
    throw UserError("'strategy' is the start of a search of partitions, schedules or recipes; '" +
                    config.env + "' decides precisions or channels itself: leave out 'strategy'");
  }
  Strategy base = LoadStrategy(config.strategy);
  (void)ApplyStrategy(graph, base);  // check before anything is measured
  base.schedules.clear();
  if (Places(config)) base.partition.clear();
  if (base.partition.empty()) base.target = config.target;
  base.model_hash = GraphHash(graph);
  return base;
}

/// Returns the distinct specs of all targets that may run a candidate or a comparison.
std::vector<std::string> RunnersOf(const SearchConfig& config, const Strategy* base) {
  std::vector<std::string> runners = {config.target};
  const auto add = [&](const std::string& spec) {
    if (std::find(runners.begin(), runners.end(), spec) == runners.end()) runners.push_back(spec);
  };
  for (const std::string& spec : OfferedTargets(config)) add(spec);
  if (base != nullptr) {
    add(base->target);
    for (const PartitionRegion& region : base->partition) add(region.target);
  }
  return runners;
}

/// Checks before any measurement that candidates can be trained.
void CheckTraining(const SearchConfig& config, const Graph& graph) {
  if (config.calibration.options.bits != 8) {
    throw UserError(
        "'compress.distill' trains with activations of 8 bits: set 'calibration.options.bits' to "
        "8");
  }
  CheckTrainable(graph);
}

/// Targets to compare with may be unavailable on this machine (the results then say so) but not
/// unknown.
void CheckCompared(const SearchConfig& config, const TargetRegistry& targets) {
  for (const std::string& spec : config.compare) {
    if (!targets.absent().contains(ParseTargetSpec(spec).name)) (void)targets.Get(spec);
  }
}

/// Checks the agent's name early, since agents can be made only once the layers are known.
void CheckAgent(const std::string& name) {
  std::string known;
  for (const std::string& agent : MakeAgents().Names()) {
    if (agent == name) return;
    known += (known.empty() ? "" : ", ") + agent;
  }
  throw UserError("unknown agent '" + name + "'; known here: " + known);
}

}  // namespace

Strategy StartOf(const SearchConfig& config, const Prepared& prepared) {
  if (prepared.base != nullptr) return *prepared.base;
  Strategy start;
  start.model_hash = GraphHash(*prepared.graph);
  start.target = config.target;
  return start;
}

Prepared LoadSearch(const SearchConfig& config) {
  const bool energy = NamesEnergy(config);
  if (energy) {
    const auto meter = cost::EnergyMeter::Open();
    if (!meter.ok()) throw UserError("the config asks for 'energy': " + meter.failure().detail);
  }
  CheckObjective(
      ToObjective(config.objective),
      envs::MetricNames(
          config.quality.data.labels.empty() ? envs::Labels::kAbsent : envs::Labels::kPresent,
          energy ? envs::EnergyMetric::kPresent : envs::EnergyMetric::kAbsent));
  CheckAgent(config.agent);
  Prepared prepared;
  prepared.targets = MakeTargets();
  prepared.graph = std::make_shared<const Graph>(LoadModel(config.model, config.shapes));
  if (!config.strategy.empty()) {
    prepared.base = std::make_shared<const Strategy>(LoadBase(config, *prepared.graph));
  }
  if (TrainsCandidates(config)) CheckTraining(config, *prepared.graph);
  prepared.runners = RunnersOf(config, prepared.base.get());
  CheckCompared(config, prepared.targets);
  prepared.machine = cost::ReadMachine();
  prepared.machine.libraries["mscgym"] = MSC_VERSION;
  for (const std::string& spec : prepared.runners) {
    prepared.machine.libraries[spec] = prepared.targets.Get(spec).facts().version;
  }
  return prepared;
}

void PrepareSearch(const SearchHost& host, const SearchConfig& config, const RunPaths& paths,
                   const TimeBudget& time, Prepared& prepared) {
  WriteFileAtomic(paths.At("env.json"), EnvJson(prepared.machine, GraphHash(*prepared.graph)));
  CalibrationData calibration(config, *prepared.graph);
  if (Places(config)) {
    PrepareCover(host, config, paths, time, prepared);
  } else if (Schedules(config)) {
    prepared.kernels = FindSchedules(config, prepared, paths.At("kernels.json"));
  } else {
    ScalesFile found = Calibrate(host, config, prepared, calibration, paths.At("scales.json"));
    prepared.scales = std::move(found.scales);
    prepared.scales_by_range = std::move(found.by_range);
    FindLacked(config, paths.At("lacked.json"), prepared);
    if (WishesSchedules(config)) {
      prepared.kernels = FindSchedules(config, prepared, paths.At("kernels.json"));
    }
  }
  if (Prunes(config)) {
    prepared.unit_scores =
        ScoreUnits(host, config, prepared, calibration, paths.At("unit_scores.json"));
  }
  host.listener.ReportProgress("[prepare] outputs of the uncompressed model");
  const cost::PreparedFolder folder =
      PrepareSamples(config, prepared, calibration, paths.prepared());
  // Store the weights where measuring children find them; trial records hold no weights.
  if (prepared.base != nullptr && prepared.base->fit.values != nullptr) {
    SaveFitted(*prepared.base, cost::WeightsPath(paths.prepared(), *prepared.base));
  }
  prepared.labelled = folder.labelled;
  prepared.fit_hash = folder.fit_hash;
}

}  // namespace msc::gym
