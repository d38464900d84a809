#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/compress/quantize/quantize.h"
#include "cost/measure/latency.h"
#include "cost/quality/dataset.h"
#include "envs/compress/offer.h"
#include "envs/quantize/offer.h"
#include "gym/app/msc_files.h"
#include "gym/app/search_env_config.h"
#include "gym/study/objective.h"
#include "gym/study/stop_rules.h"

namespace msc::gym {

struct CalibrationConfig {
  cost::DataConfig data;
  std::optional<std::int64_t> samples;
  std::int64_t batch = 32;
  CalibrationOptions options;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("data", self.data, "samples like those of real use; labels are not needed");
    visit("samples", self.samples, "how many of them; null = 512, or all where there are fewer",
          Within{1, 1e7});
    visit("batch", self.batch, "samples a call", Within{1, 65536});
    visit("options", self.options, "how ranges become scales");
  }
  /// Returns the maximal number of calibration samples.
  [[nodiscard]] std::int64_t most() const { return samples.value_or(512); }
};

struct QualityConfig {
  cost::DataConfig data;
  std::int64_t samples = 1000;
  std::int64_t most_samples = 0;
  std::int64_t final_samples = 0;
  std::string finalists = "both";
  std::int64_t batch = 50;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("data", self.data, "samples that candidates are judged on");
    visit("samples", self.samples, "how many of them every trial sees", Within{1, 1e7});
    visit("most_samples", self.most_samples,
          "how many one may see that is too near to a limit to tell; 0 = half of them, or all if "
          "`finalists` is all",
          Within{0, 1e7});
    visit("final_samples", self.final_samples,
          "how many there are for trials and finalists; 0 = all", Within{0, 1e7});
    visit("finalists", self.finalists,
          "samples that finalists are judged on: all (trials may see them, too), others than any "
          "trial may see, or both: all, and the others by themselves",
          Within::OneOf({"all", "others", "both"}));
    visit("batch", self.batch, "samples a call", Within{1, 65536});
  }
};

struct ObjectiveConfig {
  std::vector<std::string> minimize = {"latency", "distill_loss"};
  std::map<std::string, double> subject_to;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("minimize", self.minimize,
          "metrics (latency, latency_ms, energy where it can be read, distill_loss, disagreement, "
          "accuracy_drop, weight_bytes, peak_bytes: the arena of one call, which holds what layers "
          "hand on, but neither weights nor what libraries take for themselves); the first "
          "decides, the next break ties, all "
          "make the Pareto set");
    visit("subject_to", self.subject_to, "upper limit by metric, such as accuracy_drop: 0.3");
  }
};

/// Conditions that end the trials early.
struct StopConfig {
  std::uint64_t plateau = 0;
  std::map<std::string, double> goal;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("plateau", self.plateau,
          "so many trials in a row that are no improvement; 0 = never. An improvement keeps the "
          "limits, and none before is as good in every metric of `objective.minimize`",
          Within{0, 1e9});
    visit("goal", self.goal,
          "a trial that keeps the limits and has every metric named here at most so large, such as "
          "latency: 0.5, also when it is measured again as finalists are; none = never");
  }
};

/// Configuration of a search: CONFIG.json, resolved into RUN/config.json.
struct SearchConfig {
  std::string model;
  std::vector<std::string> shapes;
  std::string strategy;
  std::string from;
  std::string env = "quantize";
  std::string agent = "auto";
  std::string target = "onednn";
  int threads = 1;
  std::int64_t memory_mb = 0;
  std::uint64_t seed = 0;
  std::uint64_t trials = 50;
  double time_budget_s = 0;
  StopConfig stop;
  double estimate_s = 60;
  std::uint64_t finalists = 4;
  double explain_s = 30;
  std::vector<std::string> compare;
  bool race = false;
  ObjectiveConfig objective;
  CalibrationConfig calibration;
  envs::QuantizeOffer quantize;
  PruneConfig prune;
  envs::CompressOffer compress;
  PartitionConfig partition;
  ScheduleConfig schedule;
  DistillConfig distill;
  QualityConfig quality;
  cost::LatencyOptions latency;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("model", self.model, "the ONNX file; relative to the config file");
    visit("shapes", self.shapes,
          "sizes of inputs whose dimensions the model leaves open, as NAME=1x3x640x640");
    visit("strategy", self.strategy,
          "file that a search of partitions, schedules or recipes begins with: its channels, "
          "weights and precisions stay; relative to the config file");
    visit(
        "from", self.from,
        "run directory whose trials, where they decide the same, the search begins with; relative "
        "to the config file");
    visit(
        "env", self.env,
        "what is decided: precisions, channels, both together (and more, see `compress`), who runs "
        "which part, how kernels "
        "are written, or how what compression left is trained",
        Within::OneOf({"quantize", "prune", "compress", "partition", "schedule", "distill",
                       "Quantize-v0", "Prune-v0", "Compress-v0", "Partition-v0", "Schedule-v0",
                       "Distill-v0"}));
    visit("agent", self.agent, "who proposes; see `mscgym list agents`");
    visit("target", self.target, "who runs the model; see `mscgym list targets`");
    visit("threads", self.threads, "threads a candidate runs on", Within{1, 1024});
    visit(
        "memory_mb", self.memory_mb,
        "megabytes that a child that measures may use; one that wants more has run out of memory; "
        "0 = four fifths of the machine's, or of what a control group leaves of it, in equal parts "
        "for all workers on it",
        Within{0, 1e8});
    visit("seed", self.seed, "same seed, same decisions");
    visit("trials", self.trials,
          "in total, also after --resume; results taken from another run come on top",
          Within{1, 1e9});
    visit("time_budget_s", self.time_budget_s,
          "seconds for the whole search, with preparing before the trials and finalists and the "
          "explanation of the best after them, and with what was used before --resume; 0 = no "
          "limit. What there is no time for is cut short or left out, and the results say so",
          Within{0, 1e9});
    visit(
        "estimate_s", self.estimate_s,
        "seconds planned for trying layers alone before the trials, no limit: as many are tried "
        "as suits one worker in this time, or in a sixth of time_budget_s where that is less, "
        "all or a power of two, two at least; timing whole models with all layers alike comes on "
        "top; all of it ends at a quarter of time_budget_s; agents begin with what that says; 0 = "
        "none",
        Within{0, 1e9});
    visit("stop", self.stop,
          "what ends the trials earlier; looked at between rounds of proposals, so that workers do "
          "not change it");
    visit(
        "finalists", self.finalists,
        "best candidates that keep the limits on all samples, measured again; recipes are trained "
        "again",
        Within{1, 100});
    visit("explain_s", self.explain_s,
          "seconds, and at most a tenth of time_budget_s, for measuring the best with single "
          "decisions taken otherwise, where no trial tells what that does; 0 = none",
          Within{0, 1e9});
    visit("compare", self.compare,
          "targets that the uncompressed model is timed on beside the finalists");
    visit("race", self.race,
          "measure roughly first (a sixteenth, then a quarter of samples and time), and go on with "
          "the "
          "best quarter of each");
    visit("objective", self.objective, "what is sought");
    visit("calibration", self.calibration, "how activations are scaled");
    visit("quantize", self.quantize, "what is decided about int8 layers");
    visit("prune", self.prune, "how channels are pruned");
    visit("compress", self.compress,
          "what the env compress decides besides channels and precisions");
    visit("partition", self.partition, "who may run parts of the model");
    visit("schedule", self.schedule, "how kernels are written");
    visit("distill", self.distill, "what is trained");
    visit("quality", self.quality, "how closeness is judged");
    visit("latency", self.latency, "how time is measured");
  }
};

/// Parses a config. Relative paths in it are relative to `folder` and become absolute. UserError,
/// naming `what` and the key at fault, if the config is malformed. A config of the original MSC is
/// translated (msc_config.h): `notes`, if given, receives a line on each of its keys, and `files`
/// the files that it wants written.
[[nodiscard]] SearchConfig ParseSearchConfig(std::string_view text, const std::string& folder,
                                             const std::string& what,
                                             std::vector<std::string>* notes = nullptr,
                                             MscFiles* files = nullptr);
/// Loads a config file; its paths are relative to its own folder.
[[nodiscard]] SearchConfig LoadSearchConfig(const std::string& path,
                                            std::vector<std::string>* notes = nullptr,
                                            MscFiles* files = nullptr);
[[nodiscard]] std::string ToJson(const SearchConfig& config);
/// Returns the id of the env that a config names: "Prune-v0" for "prune" and for "Prune-v0".
[[nodiscard]] std::string EnvId(const std::string& name);
[[nodiscard]] Objective ToObjective(const ObjectiveConfig& config);
[[nodiscard]] StopRules ToStopRules(const StopConfig& config);

}  // namespace msc::gym
