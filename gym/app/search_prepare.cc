#include <filesystem>

#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/file.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/calibrate.h"
#include "cost/measure/folder.h"
#include "cost/quality/dataset.h"
#include "envs/common/evaluation.h"
#include "gym/app/model.h"
#include "gym/app/progress.h"
#include "gym/app/registries.h"
#include "gym/app/search_run.h"

namespace msc::gym {
namespace {

using Scales = std::map<std::string, TensorScale>;

/// What calibration found, with the model it belongs to.
struct ScalesFile {
  std::string format = "msc-scales-1";
  std::string model_hash;
  Scales scales;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-scales-1"}));
    visit("model_hash", self.model_hash, "hash of the canonical graph");
    visit("scales", self.scales, "scales by tensor name");
  }
};

const Shape& InputShape(const Graph& graph) {
  if (graph.inputs().size() != 1) {
    throw UserError("the model has " + std::to_string(graph.inputs().size()) +
                    " inputs; a search takes models with one");
  }
  const auto& shape = graph.type(graph.inputs()[0]).shape;
  if (!shape) throw UserError("the model's input has no known rank");
  return *shape;
}

Scales Calibrate(const SearchConfig& config, const Prepared& prepared, const std::string& file) {
  const std::string hash = GraphHash(*prepared.graph);
  if (std::filesystem::exists(file)) {
    auto found = FromJsonText<ScalesFile>(ReadFile(file), "'" + file + "'");
    if (found.model_hash == hash) return std::move(found.scales);
    throw UserError("'" + file + "' belongs to another model; choose another --out");
  }
  cost::DataConfig data = config.calibration.data;
  if (data.images.empty()) throw UserError("the config names no 'calibration.data.images'");
  if (data.count == 0 || data.count > config.calibration.samples) {
    data.count = config.calibration.samples;
  }
  const cost::Dataset samples = cost::LoadDataset(data, InputShape(*prepared.graph));
  ProgressLine line;
  const std::vector<Tensor> inputs = {samples.inputs};
  const Calibrator calibrator = ObserveActivations(
      *prepared.graph, inputs,
      {.target = config.target, .threads = config.threads, .batch = config.calibration.batch},
      prepared.targets, [&](double share) {
        line.Show("[calibrate] " + std::to_string(static_cast<int>(100 * share)) + " %");
      });
  ScalesFile result;
  result.model_hash = hash;
  result.scales = calibrator.Scales(config.calibration.options);
  WriteFileAtomic(file, ToJsonText(result, 1) + "\n");
  return result.scales;
}

/// Leaves the folder that measuring children read; says whether its samples have labels.
bool PrepareSamples(const SearchConfig& config, const Prepared& prepared,
                    const std::string& folder) {
  cost::EvaluationSettings settings;
  settings.target = config.target;
  settings.threads = config.threads;
  settings.samples = config.quality.samples;
  settings.batch = config.quality.batch;
  settings.latency = config.latency;
  if (std::filesystem::exists(folder + "/evaluation.json")) {
    const cost::PreparedFolder found = cost::OpenFolder(folder);
    if (found.graph_hash == GraphHash(*prepared.graph) && found.settings == settings) {
      return found.labelled;
    }
    throw UserError("'" + folder + "' was made by another config; choose another --out");
  }
  cost::DataConfig data = config.quality.data;
  if (data.images.empty()) throw UserError("the config names no 'quality.data.images'");
  if (config.quality.final_samples > 0) data.count = config.quality.final_samples;
  const cost::Dataset samples = cost::LoadDataset(data, InputShape(*prepared.graph));
  const cost::PreparedFolder made = cost::PrepareFolder(
      folder, {.graph = prepared.graph.get(), .samples = &samples, .settings = settings},
      prepared.targets);
  return made.labelled;
}

/// Before the layers are known, without which none can be made.
void CheckAgent(const std::string& name) {
  std::string known;
  for (const std::string& agent : MakeAgents().Names()) {
    if (agent == name) return;
    known += (known.empty() ? "" : ", ") + agent;
  }
  throw UserError("unknown agent '" + name + "'; known here: " + known);
}

}  // namespace

Prepared LoadSearch(const SearchConfig& config) {
  CheckObjective(ToObjective(config.objective),
                 envs::MetricNames(config.quality.data.labels.empty() ? envs::Labels::kAbsent
                                                                      : envs::Labels::kPresent));
  CheckAgent(config.agent);
  Prepared prepared;
  prepared.targets = MakeTargets();
  const Target& target = prepared.targets.Get(config.target);
  prepared.graph = std::make_shared<const Graph>(LoadModel(config.model, config.shapes));
  prepared.machine = cost::ReadMachine();
  prepared.machine.libraries["mscgym"] = MSC_VERSION;
  prepared.machine.libraries[config.target] = target.facts().version;
  return prepared;
}

void PrepareSearch(const SearchConfig& config, const RunPaths& paths, Prepared& prepared) {
  nlohmann::json env = nlohmann::json::parse(cost::ToJson(prepared.machine));
  env["model_hash"] = GraphHash(*prepared.graph);
  WriteFileAtomic(paths.At("env.json"), env.dump(2) + "\n");
  prepared.scales = Calibrate(config, prepared, paths.At("scales.json"));
  ProgressLine line;
  line.Show("[prepare] outputs of the uncompressed model");
  prepared.labelled = PrepareSamples(config, prepared, paths.prepared());
}

}  // namespace msc::gym
