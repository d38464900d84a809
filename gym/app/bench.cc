#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/runtime/threads.h"
#include "cost/measure/latency.h"
#include "gym/app/command.h"
#include "gym/app/model.h"
#include "gym/app/registries.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::string strategy;
  std::vector<std::string> targets = {"onednn"};
  int threads = 1;
  std::int64_t batch = 1;
  int profile_runs = 30;
  bool profile = false;
  bool json = false;
};

/// One row of the table: an executable and what to call it.
struct Contender {
  std::string name;
  std::shared_ptr<Executable> executable;
  std::shared_ptr<std::vector<Tensor>> outputs;
};

std::vector<Tensor> RandomInputs(const Executable& executable) {
  Rng rng(0);
  std::vector<Tensor> inputs;
  for (const ValueType& type : executable.input_types()) {
    Tensor& tensor = inputs.emplace_back(type.dtype, StaticDims(type.shape.value()).value());
    if (type.dtype != DType::kF32) continue;
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  return inputs;
}

Contender Build(const Graph& graph, const Strategy& strategy, const std::string& name,
                const TargetRegistry& targets, const Options& options) {
  const CompileOptions compile{.threads = options.threads,
                               .bindings = BatchBindings(graph, options.batch)};
  Result<Executable> built = Compile(graph, strategy, targets, compile);
  if (!built.ok()) throw UserError(name + ": " + built.failure().detail);
  Contender contender{.name = name,
                      .executable = std::make_shared<Executable>(std::move(built).value()),
                      .outputs = nullptr};
  contender.outputs = std::make_shared<std::vector<Tensor>>(
      contender.executable->Run(RandomInputs(*contender.executable)));
  return contender;
}

/// Per-step medians over several profiled runs.
std::vector<StepTime> Profile(Executable& executable, const std::vector<Tensor>& inputs, int runs) {
  std::vector<StepTime> median;
  std::vector<std::vector<std::chrono::nanoseconds>> samples;
  for (int run = 0; run < runs; ++run) {
    std::vector<StepTime> times;
    [[maybe_unused]] const auto outputs = executable.Profile(inputs, times);
    samples.resize(times.size());
    for (std::size_t i = 0; i < times.size(); ++i) samples[i].push_back(times[i].time);
    if (run == 0) median = std::move(times);
  }
  for (std::size_t i = 0; i < median.size(); ++i) {
    std::nth_element(samples[i].begin(), samples[i].begin() + runs / 2, samples[i].end());
    median[i].time = samples[i][static_cast<std::size_t>(runs / 2)];
  }
  return median;
}

void PrintProfile(const Contender& contender, const std::vector<StepTime>& times) {
  double total = 0;
  for (const StepTime& step : times) total += static_cast<double>(step.time.count());
  std::printf("\n%s: %zu steps\n  %10s %6s  %-5s %s\n", contender.name.c_str(), times.size(), "us",
              "share", "as", "step");
  for (const StepTime& step : times) {
    const auto ns = static_cast<double>(step.time.count());
    std::printf("  %10.1f %5.1f%%  %-5s %s\n", ns * 1e-3, total > 0 ? 100 * ns / total : 0,
                step.precision.empty() ? "-" : step.precision.c_str(), step.name.c_str());
  }
}

std::vector<Contender> MakeContenders(const Options& options, const Graph& graph,
                                      const TargetRegistry& targets) {
  std::vector<Contender> contenders;
  for (const std::string& name : options.targets) {
    Strategy plain;
    plain.target = name;
    contenders.push_back(Build(graph, plain, name + " f32", targets, options));
    if (options.strategy.empty()) continue;
    Strategy strategy = StrategyFromJson(ReadFile(options.strategy), "'" + options.strategy + "'");
    strategy.target = name;
    contenders.push_back(Build(graph, strategy, name + " strategy", targets, options));
  }
  return contenders;
}

void Bench(const Options& options) {
  const TargetRegistry targets = MakeTargets();
  const Graph graph = LoadModel(options.model);
  UseThreads(options.threads);
  const std::vector<int> cores = AllowedCores();
  PinTo({cores.begin(),
         cores.begin() + std::min<std::ptrdiff_t>(options.threads, std::ssize(cores))});
  std::vector<Contender> contenders = MakeContenders(options, graph, targets);
  const std::vector<Tensor> inputs = RandomInputs(*contenders[0].executable);

  std::vector<cost::Call> calls;
  for (const Contender& contender : contenders) {
    calls.emplace_back([&] { contender.executable->RunInto(inputs, *contender.outputs); });
  }
  const std::vector<cost::Latency> latencies =
      cost::MeasureTogether(calls[0], calls, cost::LatencyOptions{}, cost::SystemProbe());

  nlohmann::json rows = nlohmann::json::array();
  if (!options.json) {
    std::printf("%s, batch %lld, %d thread%s; ratio to the first row, 95 %% interval\n",
                options.model.c_str(), static_cast<long long>(options.batch), options.threads,
                options.threads == 1 ? "" : "s");
  }
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const cost::Latency& latency = latencies[i];
    const MemoryUse& memory = contenders[i].executable->memory();
    if (options.json) {
      rows.push_back({{"name", contenders[i].name},
                      {"median_ms", latency.median_ns * 1e-6},
                      {"ratio", latency.ratio},
                      {"ratio_low", latency.ratio_low},
                      {"ratio_high", latency.ratio_high},
                      {"noisy", latency.noisy},
                      {"arena_bytes", memory.arena_bytes},
                      {"constant_bytes", memory.constant_bytes}});
      continue;
    }
    std::printf("  %-24s %9.3f ms   %.3f [%.3f, %.3f]%s   arena %.2f MB, constants %.2f MB\n",
                contenders[i].name.c_str(), latency.median_ns * 1e-6, latency.ratio,
                latency.ratio_low, latency.ratio_high, latency.noisy ? " noisy" : "",
                static_cast<double>(memory.arena_bytes) * 1e-6,
                static_cast<double>(memory.constant_bytes) * 1e-6);
  }
  if (options.json) std::printf("%s\n", rows.dump(2).c_str());
  if (!options.profile) return;
  for (const Contender& contender : contenders) {
    PrintProfile(contender, Profile(*contender.executable, inputs, options.profile_runs));
  }
}

}  // namespace

void AddBench(CLI::App& app, AppContext& /*context*/) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "Latency of a model on each target, interleaved");
  command->add_option("model", options->model, "an .onnx file or a saved graph (.json)")
      ->required();
  command->add_option("--strategy", options->strategy, "also with this strategy applied");
  command->add_option("--target", options->targets, "targets, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--threads", options->threads, "threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "size of a symbolic batch dimension")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  command->add_flag("--profile", options->profile, "time of every step");
  command->add_flag("--json", options->json, "for scripts");
  command->footer(
      "Example:\n  mscgym bench model.onnx --strategy run/best/strategy.json --profile");
  command->callback([options] { Bench(*options); });
}

}  // namespace msc::gym
