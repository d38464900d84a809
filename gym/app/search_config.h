#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/compress/quantize/quantize.h"
#include "cost/measure/latency.h"
#include "cost/quality/dataset.h"
#include "gym/study/objective.h"

namespace msc::gym {

struct CalibrationConfig {
  cost::DataConfig data;
  std::int64_t samples = 512;
  std::int64_t batch = 32;
  CalibrationOptions options;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("data", self.data, "samples like those of real use; labels are not needed");
    visit("samples", self.samples, "how many of them", Within{1, 1e7});
    visit("batch", self.batch, "samples a call", Within{1, 65536});
    visit("options", self.options, "how ranges become scales");
  }
};

struct QualityConfig {
  cost::DataConfig data;
  std::int64_t samples = 1000;
  std::int64_t final_samples = 0;
  std::int64_t batch = 50;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("data", self.data, "samples that candidates are judged on");
    visit("samples", self.samples, "how many of them every trial sees", Within{1, 1e7});
    visit("final_samples", self.final_samples, "how many the finalists see; 0 = all",
          Within{0, 1e7});
    visit("batch", self.batch, "samples a call", Within{1, 65536});
  }
};

struct ObjectiveConfig {
  std::vector<std::string> minimize = {"latency", "distill_loss"};
  std::map<std::string, double> subject_to;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("minimize", self.minimize,
          "metrics; the first decides, the next break ties, all make the Pareto set");
    visit("subject_to", self.subject_to, "upper limit by metric, such as accuracy_drop: 0.3");
  }
};

/// Everything a search is asked for: CONFIG.json. Resolved into RUN/config.json.
struct SearchConfig {
  std::string model;
  std::vector<std::string> shapes;
  std::string env = "Quantize-v0";
  std::string agent = "random";
  std::string target = "onednn";
  int threads = 1;
  std::uint64_t seed = 0;
  std::uint64_t trials = 50;
  double time_budget_s = 0;
  std::uint64_t finalists = 4;
  ObjectiveConfig objective;
  CalibrationConfig calibration;
  QualityConfig quality;
  cost::LatencyOptions latency;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("model", self.model, "the ONNX file; relative to the config file");
    visit("shapes", self.shapes,
          "sizes of inputs whose dimensions the model leaves open, as NAME=1x3x640x640");
    visit("env", self.env, "what is decided", Within::OneOf({"Quantize-v0"}));
    visit("agent", self.agent, "who proposes; see `mscgym list agents`");
    visit("target", self.target, "who runs the model; see `mscgym list targets`");
    visit("threads", self.threads, "threads a candidate runs on", Within{1, 1024});
    visit("seed", self.seed, "same seed, same decisions");
    visit("trials", self.trials, "in total, also after --resume", Within{1, 1e9});
    visit("time_budget_s", self.time_budget_s, "seconds for trials; 0 = no limit", Within{0, 1e9});
    visit("finalists", self.finalists, "best candidates measured again on all samples",
          Within{1, 100});
    visit("objective", self.objective, "what is sought");
    visit("calibration", self.calibration, "how activations are scaled");
    visit("quality", self.quality, "how closeness is judged");
    visit("latency", self.latency, "how time is measured");
  }
};

/// Reads a config. Relative paths in it are relative to its folder and become absolute. UserError
/// names the file and the key at fault.
[[nodiscard]] SearchConfig LoadSearchConfig(const std::string& path);
[[nodiscard]] std::string ToJson(const SearchConfig& config);
[[nodiscard]] Objective ToObjective(const ObjectiveConfig& config);

}  // namespace msc::gym
