#include "gym/app/speed.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/fields.h"
#include "compiler/base/formatted.h"
#include "gym/app/model_timer.h"
#include "gym/app/options.h"

namespace msc::gym {

void AddSpeedOptions(CLI::App& command, SpeedOptions& options) {
  command.add_flag("--no-speed", options.skip,
                   "do not time the result against the f32 model on --target");
  AddSetting(command, "--max-ms", options.max_ms, CLI::Range(1, 1000000),
             "time limit of that measurement in milliseconds");
}

Speed MeasureSpeed(const SpeedInput& input, const SpeedOptions& options) {
  Speed speed{.target = input.run.target, .threads = input.run.threads};
  if (options.skip) {
    speed.why = "not measured, because of --no-speed";
    return speed;
  }
  try {
    ModelTimer timer(*input.f32, InputsToTime(*input.f32, input.samples), input.run, *input.targets,
                     options.max_ms);
    speed.latency = timer.Measure(*input.compressed);
  } catch (const UserError& error) {
    speed.why = std::string("not measured: ") + error.what();
  }
  return speed;
}

std::string SpeedText(const Speed& speed) {
  if (!speed.latency) return speed.why;
  const cost::Latency& time = *speed.latency;
  std::string text = "on " + speed.target + ", " + std::to_string(speed.threads) +
                     (speed.threads == 1 ? " thread" : " threads");
  text += Formatted(": %.3f of the time of f32", time.ratio);
  text += Formatted(" (95 %% interval %.3f", time.ratio_low);
  text += Formatted(" to %.3f)", time.ratio_high);
  text += Formatted(", %.3f ms", time.median_ns * 1e-6);
  text += Formatted(" instead of %.3f", time.reference_median_ns * 1e-6);
  if (!time.significant()) text += ", difference not significant";
  return text + (time.noisy ? ", noisy" : "");
}

void AddSpeedJson(const Speed& speed, nlohmann::json& json) {
  json["target"] = speed.target;
  json["threads"] = speed.threads;
  if (speed.latency) json["latency"] = WriteJson(*speed.latency);
  if (!speed.latency) json["no_latency"] = speed.why;
}

}  // namespace msc::gym
