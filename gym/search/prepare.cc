#include "gym/search/prepare.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/formatted.h"
#include "compiler/base/nearest.h"
#include "compiler/ir/output_form.h"
#include "compiler/ir/serialize.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/targets/spec.h"
#include "cost/measure/energy.h"
#include "cost/measure/folder.h"
#include "cost/measure/metric.h"
#include "cost/measure/metric_run.h"
#include "cost/model/loss.h"
#include "cost/quality/choose_form.h"
#include "cost/samples/dataset.h"
#include "envs/common/evaluation.h"
#include "gym/search/calibration.h"
#include "gym/search/config.h"
#include "gym/search/env.h"
#include "gym/search/held_out.h"
#include "gym/search/host.h"
#include "gym/search/losses.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"
#include "gym/search/run_files.h"
#include "gym/search/run_paths.h"
#include "gym/search/sample_layout.h"

namespace msc::gym {
namespace {

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

/// Throws UserError if the two differ only in users' metrics.
void CheckSameMetrics(const std::string& folder, const cost::EvaluationSettings& found,
                      const cost::EvaluationSettings& now) {
  cost::EvaluationSettings as_found = now;
  as_found.metrics = found.metrics;
  if (found != as_found || found == now) return;
  throw UserError("'" + folder +
                  "' was made with other metrics: 'quality.metrics' or a file that a metric names "
                  "has changed; choose another --out");
}

/// Throws UserError if the config says of an output something else than what trials compared it as,
/// or no longer says what it did.
void CheckSameForms(const cost::PreparedFolder& found,
                    const std::map<std::string, OutputForm>& given) {
  const auto refuse = [&](const std::string& name) {
    throw UserError("trials in '" + found.path + "' compared output '" + name +
                    "' as something else than 'quality.outputs' now says; choose another --out");
  };
  for (const auto& [name, form] : given) {
    if (std::ranges::find(found.forms, NamedForm{name, form}) == found.forms.end()) refuse(name);
  }
  for (const auto& [name, form] : found.given_forms) {
    if (!given.contains(name)) refuse(name);
  }
}

/// Returns whether candidates are fitted as in `found`, whose forms PrepareFolder added.
bool IsSameFit(const FitOptions& found, FitOptions fit) {
  fit.forms = found.forms;
  return fit == found;
}

/// Checks users' metrics, as CheckedMetric.
std::map<std::string, cost::Metric> MetricsOf(const SearchConfig& config) {
  std::map<std::string, cost::Metric> metrics;
  for (const auto& [name, spec] : config.quality.metrics) {
    metrics.emplace(name, cost::CheckedMetric(name, spec));
  }
  return metrics;
}

/// Says which programs the search runs for the user's metrics.
void SayMetrics(const SearchConfig& config, SearchListener& listener) {
  for (const auto& [name, spec] : config.quality.metrics) {
    listener.ReportProgress("[prepare] metric " + cost::DescribeMetric(name, spec) +
                            " of the uncompressed model, twice");
  }
}

/// Says what the user's metrics are without compression, and warns of random ones.
void SayReference(const SearchConfig& config, const cost::PreparedFolder& folder,
                  SearchListener& listener, std::vector<std::string>& warnings) {
  for (const auto& [name, metric] : folder.metrics) {
    listener.ReportLine("metric '" + name +
                        "' of the uncompressed model: " + Formatted("%.6g, ", metric.value) +
                        config.quality.metrics.at(name).better + " is better");
    if (metric.noise > 0) {
      warnings.push_back("metric '" + name +
                         "' is random: two calls on the same outputs differ by " +
                         Formatted("%.3g", metric.noise) + ", which its interval includes");
    }
  }
}

/// Loads the model and decides where it counts samples.
std::shared_ptr<const Graph> LoadPlaced(const SearchConfig& config) {
  Graph graph = LoadModel(config.model, config.shapes);
  DecideSampleLayout(graph, std::vector{config.calibration.data, config.quality.data});
  return std::make_shared<const Graph>(WithKnownSizes(std::move(graph)));
}

/// Returns whether an earlier run wrote the folder that measuring children read.
bool IsPrepared(const RunPaths& paths) {
  return std::filesystem::exists(paths.prepared() + "/evaluation.json");
}

/// Writes the folder that measuring children read.
cost::PreparedFolder PrepareSamples(const Preparation& with, const std::optional<FitOptions>& fit) {
  const SearchConfig& config = with.config;
  Prepared& prepared = with.prepared;
  const std::string folder = with.paths.prepared();
  cost::EvaluationSettings settings;
  settings.metrics = MetricsOf(config);
  settings.target = config.target;
  settings.threads = config.threads;
  settings.samples = config.quality.samples;
  settings.limits = LimitsOf(config);
  settings.batch = config.quality.batch;
  settings.energy = NamesEnergy(config);
  settings.latency = config.latency;
  settings.memory_mb = config.memory_mb;
  if (IsPrepared(with.paths)) {
    cost::PreparedFolder found = cost::OpenFolder(folder);
    if (found.settings.memory_mb != settings.memory_mb) SetMemory(found, settings.memory_mb);
    settings.most_samples = MostSamples(config, found.samples, prepared.warnings);
    const bool fits =
        (!fit || IsSameFit(found.fit, *fit)) && found.graph_hash == GraphHash(*prepared.graph);
    if (fits) CheckSameForms(found, config.quality.outputs);
    if (fits && found.settings == settings) return found;
    if (fits) CheckSameSamples(folder, found.settings, settings);
    if (fits) CheckSameMetrics(folder, found.settings, settings);
    throw UserError("'" + folder + "' was made with another config; choose another --out");
  }
  cost::DataConfig data = config.quality.data;
  if (data.images.empty()) throw UserError("set 'quality.data.images' in the config");
  if (config.quality.final_samples > 0) data.count = config.quality.final_samples;
  const cost::DatasetSamples source(data, FormsOf(*prepared.graph));
  ReportSamples("quality", source, with.host.listener);
  const cost::SampleSet samples = cost::ReadAll(source, data);
  settings.most_samples = MostSamples(config, samples.size(), prepared.warnings);
  SayMetrics(config, with.host.listener);
  return cost::PrepareFolder(
      folder,
      {.graph = prepared.graph.get(),
       .samples = &samples,
       .settings = settings,
       .calibration = fit ? &with.calibration.Get() : nullptr,
       .fit = fit.value_or(FitOptions()),
       .forms = config.quality.outputs,
       .metric_host = {.scratch = with.paths.At("scratch"),
                       .program = with.host.program,
                       .environment = cost::MetricEnvironment(config.threads),
                       .memory_bytes = config.memory_mb << 20U,
                       .functions = with.host.metric_functions},
       .say = [&](const std::string& line) { with.host.listener.ReportLine(line); }},
      prepared.targets);
}

/// Loads the start strategy without the parts that the search decides. UserError if the search
/// decides the rest of it as well, or if it belongs to another model.
Strategy LoadBase(const SearchTask& task, const SearchConfig& config, const Graph& graph) {
  Strategy base = LoadStrategy(config.strategy);
  (void)ApplyStrategy(graph, base);  // check before anything is measured
  task.ClearDecided(base);
  if (base.partition.empty()) base.target = config.target;
  base.model_hash = GraphHash(graph);
  return base;
}

/// Returns the distinct specs of all targets that may run a candidate or a comparison.
std::vector<std::string> RunnersOf(const SearchTask& task, const SearchConfig& config,
                                   const Strategy* base) {
  std::vector<std::string> runners = {config.target};
  const auto add = [&](const std::string& spec) {
    if (std::find(runners.begin(), runners.end(), spec) == runners.end()) runners.push_back(spec);
  };
  for (const std::string& spec : task.OtherTargets(config)) add(spec);
  if (base != nullptr) {
    add(base->target);
    for (const PartitionRegion& region : base->partition) add(region.target);
  }
  return runners;
}

/// Targets to compare with may be unavailable on this machine (the results then say so) but not
/// unknown. Their options are known only where they are available.
void CheckCompared(const SearchConfig& config, const TargetRegistry& targets) {
  for (const std::string& spec : config.compare) {
    const bool known = targets.kinds().contains(spec);
    if (!known && !targets.absent().contains(ParseTargetSpec(spec).name)) (void)targets.Get(spec);
  }
}

envs::EnergyMetric EnergyOf(const SearchConfig& config) {
  return NamesEnergy(config) ? envs::EnergyMetric::kPresent : envs::EnergyMetric::kAbsent;
}

/// Returns the names of all losses that outputs of this model may have, of each output too.
std::vector<std::string> PossibleLosses(const SearchConfig& config, const Graph& graph) {
  std::vector<std::string> names;
  for (const cost::LossInfo& loss : cost::kLosses) {
    if (!loss.score.empty() && config.quality.data.labels.empty()) continue;
    names.emplace_back(loss.name);
    for (const ValueId output : graph.outputs()) {
      names.push_back(std::string(loss.name) + ":" + graph.value(output).name);
    }
  }
  for (const auto& [name, metric] : config.quality.metrics) names.push_back(name);
  return names;
}

/// Throws UserError if the objective names a loss that the outputs do not have.
void CheckLosses(const SearchConfig& config, const cost::PreparedFolder& folder) {
  try {
    CheckObjective(ToObjective(config.objective),
                   envs::MetricNames(folder.losses, EnergyOf(config)));
  } catch (const UserError& error) {
    throw UserError(std::string(error.what()) + "; these follow from " +
                    cost::FormatForms(folder.forms) +
                    "; if an output is something else, say so in 'quality.outputs'");
  }
}

/// Checks the agent's name early, since agents can be made only once the layers are known.
void CheckAgent(const std::string& name) {
  const std::vector<std::string> known = MakeAgents().Names();
  if (std::ranges::find(known, name) != known.end()) return;
  throw UserError("unknown agent '" + name + "'" + DidYouMean(name, known));
}

}  // namespace

Strategy StartOf(const SearchConfig& config, const Prepared& prepared) {
  if (prepared.base != nullptr) return *prepared.base;
  Strategy start;
  start.model_hash = GraphHash(*prepared.graph);
  start.target = config.target;
  return start;
}

Prepared LoadSearch(const SearchTask& task, const SearchConfig& config) {
  const bool energy = NamesEnergy(config);
  if (energy) {
    const auto meter = cost::EnergyMeter::Open();
    if (!meter.ok()) throw UserError("the config asks for 'energy': " + meter.failure().detail);
  }
  CheckAgent(config.agent);
  (void)MetricsOf(config);
  Prepared prepared;
  prepared.targets = MakeTargets();
  prepared.graph = LoadPlaced(config);
  CheckObjective(ToObjective(config.objective),
                 envs::MetricNames(PossibleLosses(config, *prepared.graph), EnergyOf(config)));
  if (!config.strategy.empty()) {
    prepared.base = std::make_shared<const Strategy>(LoadBase(task, config, *prepared.graph));
  }
  task.CheckConfig(config, *prepared.graph);
  prepared.runners = RunnersOf(task, config, prepared.base.get());
  CheckCompared(config, prepared.targets);
  prepared.machine = cost::ReadMachine();
  prepared.machine.libraries["mscgym"] = MSC_VERSION;
  for (const std::string& spec : prepared.runners) {
    prepared.machine.libraries[spec] = prepared.targets.Get(spec).facts().version;
  }
  return prepared;
}

Prepared LoadUnmeasured(const SearchConfig& config) {
  Prepared prepared;
  prepared.targets = MakeTargets();
  prepared.graph = LoadPlaced(config);
  return prepared;
}

ProblemFactory PrepareSearch(const SearchTask& task, const SearchHost& host,
                             const SearchConfig& config, const RunPaths& paths,
                             const TimeBudget& time, Prepared& prepared) {
  WriteFileAtomic(paths.At("env.json"), EnvJson(prepared.machine, GraphHash(*prepared.graph)));
  for (const std::string& line : LayoutLines(*prepared.graph)) host.listener.ReportLine(line);
  CalibrationSamples calibration(config.calibration, *prepared.graph, &host.listener);
  const Preparation with{.host = host,
                         .config = config,
                         .paths = paths,
                         .time = time,
                         .calibration = calibration,
                         .prepared = prepared};
  ProblemFactory problems = task.Prepare(with);
  host.listener.ReportProgress("[prepare] outputs of the uncompressed model");
  const bool earlier = IsPrepared(paths);
  const double began = time.Used();
  const cost::PreparedFolder folder = PrepareSamples(with, task.FitOf(config));
  if (!earlier && folder.samples > 0) {
    prepared.sample_s = (time.Used() - began) / static_cast<double>(folder.samples);
  }
  // Store the weights where measuring children find them; trial records hold no weights.
  if (prepared.base != nullptr && prepared.base->fit.values != nullptr) {
    SaveFitted(*prepared.base, cost::WeightsPath(paths.prepared(), *prepared.base));
  }
  prepared.losses = folder.losses;
  host.listener.ReportProgress("[prepare] " + cost::FormatForms(folder.forms));
  SayReference(config, folder, host.listener, prepared.warnings);
  CheckLosses(config, folder);
  prepared.fit_hash = folder.fit_hash;
  return problems;
}

}  // namespace msc::gym
