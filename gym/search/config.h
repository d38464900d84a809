#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/ir/output_form.h"
#include "cost/measure/latency.h"
#include "cost/measure/metric.h"
#include "cost/quality/guard.h"
#include "cost/samples/dataset.h"
#include "gym/search/tasks/list.h"
#include "gym/study/objective.h"
#include "gym/study/stop_rules.h"

namespace msc::gym {

struct CalibrationConfig {
  cost::DataConfig data;
  std::optional<std::int64_t> samples;
  std::int64_t batch = 32;
  CalibrationOptions options;
  static void Fields(auto& self, auto& visit) {
    visit("data", self.data, "samples that resemble the inputs in real use; labels are not needed");
    visit("samples", self.samples,
          "number of calibration samples; null = 512, or all if there are fewer", Within{1, 1e7});
    visit("batch", self.batch, "samples per call", Within{1, 65536});
    visit("options", self.options, "how scales are chosen from observed values");
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
  std::int64_t batch = 0;
  std::map<std::string, OutputForm> outputs;
  cost::MetricSpecs metrics;
  cost::Guard guard;
  static void Fields(auto& self, auto& visit) {
    visit("data", self.data, "samples that candidates are judged on");
    visit("samples", self.samples, "number of samples that every trial is judged on",
          Within{1, 1e7});
    visit("most_samples", self.most_samples,
          "largest number of samples for a trial that is too close to a limit to decide; 0 = half "
          "of all samples, or all if `finalists` is all",
          Within{0, 1e7});
    visit("final_samples", self.final_samples,
          "number of samples available to trials and finalists; 0 = all", Within{0, 1e7});
    visit("finalists", self.finalists,
          "samples that finalists are judged on: all (trials may see them, too); others, which no "
          "trial may see; or both: all samples, and separately those that no trial may see",
          Within::OneOf({"all", "others", "both"}));
    visit("batch", self.batch,
          "samples per call; 0 = 50, or 1 for native, which would compile kernels for both",
          Within{0, 65536});
    visit("outputs", self.outputs,
          "what outputs are, by name, where the search finds it wrongly (it says what it finds): "
          "{\"probs\": {\"kind\": \"ctc\", \"axis\": 2}}; the keys are those of "
          "docs/quality.md");
    visit("metrics", self.metrics,
          "metrics of your own, by name: {\"wer\": {\"command\": [\"python3\", \"wer.py\"], "
          "\"better\": \"lower\", \"timeout_s\": 60}}, or \"library\" with a shared object "
          "instead of \"command\" (docs/metrics.md). The search runs these programs. Paths are "
          "relative to the config file");
    visit("guard", self.guard, "what makes a result suspicious, whatever its limits are");
  }
};

struct ObjectiveConfig {
  std::vector<std::string> minimize = {"latency", "distill_loss"};
  std::map<std::string, double> subject_to;
  static void Fields(auto& self, auto& visit) {
    visit(
        "minimize", self.minimize,
        "metrics to minimize: latency, latency_ms, energy (if it can be read), the losses of "
        "docs/quality.md that the outputs have (distill_loss, disagreement, relative_error, "
        "cosine_distance, iou_loss, box_loss, edit_distance; with labels accuracy_drop, iou_drop, "
        "f1_drop, edit_distance_rise, relative_error_rise; of one output as disagreement:OUTPUT), "
        "how much worse one of `quality.metrics` is, by its name, "
        "weight_bytes, or peak_bytes (the arena of one call: "
        "values passed between layers, without weights and without memory that libraries "
        "allocate themselves); the first decides, the others break ties, and all of them define "
        "the Pareto set");
    visit("subject_to", self.subject_to, "upper limit by metric, such as accuracy_drop: 0.3");
  }
};

/// Conditions that end the trials early.
struct StopConfig {
  std::uint64_t plateau = 0;
  std::map<std::string, double> goal;
  static void Fields(auto& self, auto& visit) {
    visit("plateau", self.plateau,
          "number of consecutive trials without improvement that ends the trials; 0 = never. A "
          "trial is an improvement if it keeps the limits and no earlier one that keeps them is at "
          "least as good in every metric of `objective.minimize`; before any trial keeps the "
          "limits, if it misses them by less than all earlier ones",
          Within{0, 1e9});
    visit("goal", self.goal,
          "upper bounds by metric, such as latency: 0.5. The search ends after a trial that keeps "
          "the limits and these bounds, if it still does when it is measured again like a "
          "finalist; empty = never");
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
  std::string target = "auto";
  int threads = 1;
  std::int64_t memory_mb = 0;
  std::uint64_t seed = 0;
  std::uint64_t trials = 50;
  double time_budget_s = 0;
  StopConfig stop;
  double estimate_s = 60;
  std::uint64_t finalists = 4;
  double explain_s = 30;
  std::vector<std::string> compare = {"onnxruntime"};
  bool race = false;
  ObjectiveConfig objective;
  CalibrationConfig calibration;
  TaskSections sections;  ///< those of the tasks; see section()
  QualityConfig quality;
  cost::LatencyOptions latency;
  static void Fields(auto& self, auto& visit) {
    visit("model", self.model, "ONNX file, relative to the config file");
    visit("shapes", self.shapes,
          "shapes of inputs with dimensions that the model leaves open, as NAME=1x3x640x640");
    visit("strategy", self.strategy,
          "strategy file that a search of partitions, schedules or recipes starts from; the search "
          "keeps its channels, weights and precisions; relative to the config file");
    visit("from", self.from,
          "run directory of an earlier search; this search starts with its trials, if they make "
          "the same decisions; relative to the config file");
    visit("env", self.env,
          "what the search decides: precisions (quantize), channels (prune), both and optionally "
          "more (compress, see section `compress`), which target runs which part (partition), how "
          "kernels are written (schedule), or how the compressed model is trained (distill); or "
          "the id of such an env, as in `mscgym list envs`");
    visit("agent", self.agent,
          "search algorithm that proposes candidates; see `mscgym list agents`");
    visit("target", self.target,
          "target that runs the model (`mscgym list targets`); auto = the first of onednn, native, "
          "onnxruntime and xnnpack that has 8-bit kernels for this CPU");
    visit("threads", self.threads, "number of threads that a candidate runs on", Within{1, 1024});
    visit("memory_mb", self.memory_mb,
          "memory limit in MiB for each child process that measures; a child that needs more fails "
          "as out of memory; 0 = four fifths of the memory of the machine, or of its control group "
          "if that has less, in equal parts for all workers on the machine",
          Within{0, 1e8});
    visit("seed", self.seed, "seed of the search; the same seed gives the same decisions");
    visit("trials", self.trials,
          "number of trials in total, also after --resume; results taken over from another run do "
          "not count",
          Within{1, 1e9});
    visit("time_budget_s", self.time_budget_s,
          "time limit in seconds for the whole search: preparation, trials, finalists, the "
          "explanation of the best candidate, and the time used before --resume; 0 = no limit. The "
          "search shortens or skips phases that the time does not suffice for, and the results say "
          "which",
          Within{0, 1e9});
    visit("estimate_s", self.estimate_s,
          "planned seconds for trying single layers before the trials; agents start from these "
          "estimates; 0 = none. The search tries as many layers as one worker can in this time, or "
          "in a sixth of time_budget_s if that is less: all of them, or a power of two, at least "
          "two. Timing whole models with all layers alike takes additional time. A quarter of "
          "time_budget_s limits all of this",
          Within{0, 1e9});
    visit("stop", self.stop,
          "conditions that end the trials early; checked between rounds of proposals, so that the "
          "number of workers does not affect them");
    visit("finalists", self.finalists,
          "number of finalists: the best candidates that keep the limits on all samples, measured "
          "again after the trials; recipes are trained again",
          Within{1, 100});
    visit("explain_s", self.explain_s,
          "seconds, at most a tenth of time_budget_s, for measuring the best candidate with single "
          "decisions changed, if no trial shows the effect of the change; 0 = none",
          Within{0, 1e9});
    visit("compare", self.compare,
          "targets on which the uncompressed model is timed, interleaved with the finalists, and "
          "then the best as it is exported for them (only onnxruntime); [] = none. Results say "
          "which of these targets this machine does not have");
    visit("race", self.race,
          "measure candidates roughly first, with a sixteenth and then a quarter of the samples "
          "and time, and continue only with the best quarter of each stage");
    visit("objective", self.objective, "metrics to minimize, and limits");
    visit("calibration", self.calibration, "samples and method that give activations their scales");
    std::apply([&](auto&... section) { (VisitSection(section, visit), ...); }, self.sections);
    visit("quality", self.quality, "how the quality of candidates is judged");
    visit("latency", self.latency, "how time is measured");
  }
  /// Returns the section of a task: section<PruneConfig>().
  template <class Section>
  [[nodiscard]] const Section& section() const {
    return std::get<Section>(sections);
  }
  template <class Section>
  [[nodiscard]] Section& section() {
    return std::get<Section>(sections);
  }

 private:
  template <class Section, class Visitor>
  static void VisitSection(Section& section, Visitor& visit) {
    visit(Section::kSection, section, Section::kSectionHelp);
  }
};

/// Parses a config. Relative paths in it are relative to `folder` and become absolute. UserError
/// names `what` and the invalid key.
[[nodiscard]] SearchConfig ParseSearchConfig(std::string_view text, const std::string& folder,
                                             const std::string& what);
[[nodiscard]] std::string ToJson(const SearchConfig& config);
[[nodiscard]] Objective ToObjective(const ObjectiveConfig& config);
[[nodiscard]] StopRules ToStopRules(const StopConfig& config);

}  // namespace msc::gym
