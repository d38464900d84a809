#include "gym/app/fastest_target.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/base/formatted.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/calibrate.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/quantize.h"
#include "cost/measure/latency.h"
#include "gym/app/model_timer.h"
#include "gym/search/calibration.h"

namespace msc::gym {
namespace {

/// Returns the strategy with all layers in int8 that `target` computes so; nothing if there are
/// none.
std::optional<Strategy> AllInt8(const Graph& graph,
                                const std::map<std::string, TensorScale>& scales,
                                const std::string& target, const TargetRegistry& registry) {
  const auto unsupported = FindUnsupportedPrecisions(graph, scales, target, registry);
  const auto takes = [&](const QuantizableLayer& layer) {
    const auto it = unsupported.find(layer.name);
    return std::ranges::find(layer.allowed, Precision::kInt8) != layer.allowed.end() &&
           (it == unsupported.end() ||
            std::ranges::find(it->second, Precision::kInt8) == it->second.end());
  };
  const std::int64_t bits = registry.Get(target).facts().weight_bits;
  Strategy strategy;
  strategy.target = target;
  const std::vector<QuantizableLayer> layers = FindQuantizableLayers(graph);
  for (const QuantizableLayer& layer : layers) {
    if (!takes(layer)) continue;
    strategy.quantize.layers[layer.name] = Precision::kInt8;
    if (bits < 8) strategy.quantize.weights[layer.name] = {.bits = bits};
  }
  if (strategy.quantize.layers.empty()) return std::nullopt;
  strategy.quantize.activations = ScalesNeeded(layers, strategy.quantize.layers, scales);
  return strategy;
}

/// A model that is timed, and where its time belongs.
struct Rival {
  Executable executable;
  std::vector<Tensor> outputs;
  std::size_t target = 0;
  bool int8 = false;
};

/// Compiles models for targets, all for the same inputs.
class Rivals {
 public:
  Rivals(const Graph& graph, std::vector<Tensor> inputs, int threads,
         const TargetRegistry& registry)
      : graph_(graph),
        inputs_(std::move(inputs)),
        options_{.threads = threads, .bindings = BindingsFor(graph, inputs_)},
        registry_(registry) {}

  void Add(const Strategy& strategy, std::size_t target, bool int8) {
    Result<Executable> built = Compile(graph_, strategy, registry_, options_);
    if (!built.ok()) return;
    std::vector<Tensor> outputs = built.value().Run(inputs_);
    rivals_.push_back({std::move(built).value(), std::move(outputs), target, int8});
  }

  /// Adds the times to those of their targets.
  void Time(std::vector<TargetTime>& times) {
    constexpr double kGiveUp = 2.5;
    if (rivals_.empty()) return;
    std::vector<cost::Call> calls;
    for (Rival& rival : rivals_) {
      calls.emplace_back([this, &rival] { rival.executable.RunInto(inputs_, rival.outputs); });
    }
    cost::RivalOptions options{.latency = {}, .give_up = kGiveUp};
    options.latency.max_ms = 700;
    options.latency.max_warmup_ms = 200;
    options.latency.settle_calls = 1;
    const auto latencies = cost::MeasureRivals(calls, options, cost::SystemProbe());
    for (std::size_t i = 0; i < rivals_.size(); ++i) {
      TargetTime& time = times.at(rivals_[i].target);
      (rivals_[i].int8 ? time.int8_ms : time.f32_ms) = latencies[i].median_ns * 1e-6;
    }
  }

 private:
  const Graph& graph_;
  std::vector<Tensor> inputs_;
  CompileOptions options_;
  const TargetRegistry& registry_;
  std::deque<Rival> rivals_;  // does not move them
};

}  // namespace

double TargetTime::Least() const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  return std::min(f32_ms.value_or(kNever), int8_ms.value_or(kNever));
}

std::string TargetTime::Text() const {
  std::string text = target;
  if (f32_ms) text += Formatted(" %.3g (f32)", *f32_ms);
  if (int8_ms) text += Formatted("%s %.3g (int8)", f32_ms ? "," : "", *int8_ms);
  return text + " ms";
}

std::vector<TargetTime> TimeTargets(const Graph& graph, const SampleSource& samples,
                                    std::span<const std::string> targets, int threads,
                                    const TargetRegistry& registry) {
  std::vector<TargetTime> times;
  std::map<std::string, TensorScale> scales;
  Rivals rivals(graph, InputsToTime(graph, &samples), threads, registry);
  for (const std::string& target : targets) {
    try {
      if (registry.Find(target) == nullptr) continue;
      if (scales.empty()) {
        const CalibrationRun run{.target = FittingTarget(target), .threads = threads};
        scales = ObserveActivations(graph, samples, run, registry).Scales({.method = "minmax"});
      }
      Strategy f32;
      f32.target = target;
      times.push_back({.target = target});
      rivals.Add(f32, times.size() - 1, false);
      if (const auto int8 = AllInt8(graph, scales, target, registry)) {
        rivals.Add(*int8, times.size() - 1, true);
      }
    } catch (const UserError&) {
      continue;  // it needs something that this machine or model does not have
    }
  }
  rivals.Time(times);
  std::erase_if(times, [](const TargetTime& time) { return !time.f32_ms && !time.int8_ms; });
  std::ranges::stable_sort(
      times, [](const TargetTime& a, const TargetTime& b) { return a.Least() < b.Least(); });
  return times;
}

}  // namespace msc::gym
