#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/shapes.h"
#include "compiler/runtime/threads.h"
#include "cost/measure/latency.h"
#include "cost/measure/probe.h"
#include "gym/app/bench_print.h"
#include "gym/app/bench_rows.h"
#include "gym/app/command.h"
#include "gym/app/options.h"
#include "gym/app/sized_model.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

/// Value of the precision option that leaves only strategies.
constexpr const char* kNoPrecision = "none";

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::vector<std::string> inputs;
  std::vector<std::string> strategies;
  std::vector<std::string> targets = {"auto"};
  std::vector<std::string> precisions = {"f32"};
  int threads = 1;
  std::optional<std::int64_t> batch;
  std::int64_t max_ms = 3000;
  int profile_runs = 30;
  std::uint64_t seed = 0;
  bool peer = false;
  bool profile = false;
  bool json = false;
};

/// Returns the median time of each step over several runs. The runs of all rows alternate, so that
/// a disturbance of the machine affects all rows alike. Empty for a row without figures.
std::vector<std::vector<StepTime>> Profiles(const std::vector<BenchRow>& rows,
                                            const std::vector<Tensor>& inputs, int runs) {
  std::vector<std::vector<StepTime>> medians(rows.size());
  std::vector<std::vector<std::vector<std::chrono::nanoseconds>>> samples(rows.size());
  for (int run = 0; run < runs; ++run) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (!rows[r].executable) continue;
      [[maybe_unused]] const auto settled = rows[r].executable->Run(inputs);
      std::vector<StepTime> times;
      [[maybe_unused]] const auto outputs = rows[r].executable->Profile(inputs, times);
      samples[r].resize(times.size());
      for (std::size_t i = 0; i < times.size(); ++i) samples[r][i].push_back(times[i].time);
      medians[r] = std::move(times);
    }
  }
  const auto middle = runs / 2;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t i = 0; i < medians[r].size(); ++i) {
      std::vector<std::chrono::nanoseconds>& times = samples[r][i];
      std::nth_element(times.begin(), times.begin() + middle, times.end());
      medians[r][i].time = times[static_cast<std::size_t>(middle)];
    }
  }
  return medians;
}

std::vector<Variant> MakeVariants(const Options& options, const BenchSetup& setup,
                                  const TargetRegistry& targets) {
  std::vector<Variant> variants;
  for (const std::string& precision : options.precisions) {
    if (precision == kNoPrecision) continue;
    variants.push_back(AllLayersIn(ParsePrecision(precision), setup, targets));
  }
  for (std::size_t i = 0; i < options.strategies.size(); ++i) {
    const std::string name = i == 0 ? "strategy" : "strategy " + std::to_string(i + 1);
    variants.push_back({.name = name, .strategy = LoadStrategy(options.strategies[i])});
  }
  if (variants.empty()) {
    throw UserError("--precision none times strategies only: give one with --strategy");
  }
  return variants;
}

std::vector<BenchRow> MakeRows(const Options& options, const BenchSetup& setup,
                               const TargetRegistry& targets) {
  std::vector<BenchRow> rows;
  for (const Variant& variant : MakeVariants(options, setup, targets)) {
    if (options.peer) rows.push_back(MakePeerRow(options.model, variant, setup, targets));
    if (!variant.strategy.partition.empty()) {
      rows.push_back(MakeRow(variant.strategy.target, variant, setup, targets));
      rows.back().target = kMixed;
      continue;
    }
    for (const std::string& target : options.targets) {
      rows.push_back(MakeRow(target, variant, setup, targets));
    }
  }
  CompareOutputs(setup, rows);
  return rows;
}

void Measure(const Options& options, const BenchSetup& setup, std::vector<BenchRow>& rows) {
  std::vector<cost::Call> calls;
  for (BenchRow& row : rows) {
    if (!row.executable) continue;
    calls.emplace_back([&row, &setup] { row.executable->RunInto(setup.inputs, row.outputs); });
  }
  if (calls.empty()) return;
  cost::LatencyOptions latency;
  latency.max_ms = options.max_ms;
  latency.settle_calls = 1;
  latency.seed = options.seed;
  const std::vector<cost::Latency> latencies =
      cost::MeasureTogether(calls[0], calls, latency, cost::SystemProbe());
  std::size_t next = 0;
  for (BenchRow& row : rows) {
    if (row.executable) row.latency = latencies[next++];
  }
}

double FlopsOf(const Graph& graph, const CompileOptions& compile) {
  const Graph bound = BindSizes(graph, compile);
  double flops = 0;
  for (const NodeId id : bound.order()) flops += CostOf(bound, id).flops;
  return flops;
}

void Bench(Options options, AppContext& context) {
  const TargetRegistry targets = MakeTargets();
  for (std::string& target : options.targets) target = TargetOf(target, targets);
  Strategy first;
  if (!options.strategies.empty()) first = LoadStrategy(options.strategies.front());
  const SizedModel model = LoadModelFor(options.model, options.shapes, first);
  const Graph& graph = model.graph;
  const std::vector<int> cores = AllowedCores();
  if (options.threads > std::ssize(cores)) {
    throw UserError("--threads is more than the " + std::to_string(cores.size()) +
                    " cores of this process");
  }
  UseThreads(options.threads);
  PinTo({cores.begin(), cores.begin() + options.threads});
  const ShapeBindings bindings = BindingsOf(model, options.batch);
  const std::int64_t batch = BatchOf(graph, bindings);
  BenchSetup setup{.graph = &graph,
                   .batch = batch,
                   .fixed_inputs = std::ranges::any_of(options.shapes, FixesValue),
                   .compile = {.threads = options.threads, .bindings = bindings},
                   .roof = cost::MeasureRoof(options.threads)};
  if (options.inputs.empty()) {
    setup.inputs = RandomInputs(BoundInputs(graph, setup.compile.bindings), options.seed);
  } else {
    ReadInputs(options.inputs, setup);
  }
  std::vector<BenchRow> rows = MakeRows(options, setup, targets);
  Measure(options, setup, rows);

  const BenchTitle title{.model = options.model,
                         .batch = batch,
                         .threads = options.threads,
                         .flops = FlopsOf(graph, setup.compile)};
  std::vector<std::vector<StepTime>> profiles;
  if (options.profile) profiles = Profiles(rows, setup.inputs, options.profile_runs);
  if (options.json) {
    PrintJson(title, setup, rows, targets, profiles);
  } else {
    PrintTable(title, setup, rows);
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      if (rows[i].executable) PrintProfile(rows[i], profiles[i], setup.roof);
    }
    if (options.profile) PrintParts(rows, profiles);
  }
  const bool any = std::any_of(rows.begin(), rows.end(),
                               [](const BenchRow& row) { return row.executable.has_value(); });
  const bool not_finite =
      std::any_of(rows.begin(), rows.end(), [](const BenchRow& row) { return row.not_finite; });
  if (!any || not_finite) context.exit_code = kExitFailure;
}

}  // namespace

void AddBench(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "Time a model on several targets, interleaved");
  AddModelOptions(*command, options->model, options->shapes);
  command->add_option("--input", options->inputs,
                      "one .npy file of samples per input, in order; the first batch is timed, and "
                      "all samples calibrate int8; default: random values");
  AddSetting(
      *command, "--targets,--target", options->targets,
      "targets with their options, separated by commas: onednn,blas:library=xsmm; auto = the "
      "first that has 8-bit kernels for this CPU")
      ->delimiter(',');
  AddSetting(*command, "--precision", options->precisions,
             CLI::IsMember({"f32", "bf16", "int8", kNoPrecision}),
             "precisions, separated by commas: f32, bf16, int8, or none to time only "
             "strategies; int8 scales come from the range of the inputs and suit only timing")
      ->delimiter(',');
  AddRepeated(*command, "--strategy", options->strategies,
              "also time the model with this strategy applied; may be repeated");
  command->add_flag("--peer", options->peer,
                    "also time ONNX Runtime itself, on the ONNX file and on the QDQ models");
  AddThreadsOption(*command, options->threads);
  AddBatchOption(*command, options->batch);
  AddSetting(*command, "--max-ms", options->max_ms, CLI::Range(1, 1000000),
             "time limit of a row in milliseconds");
  AddSetting(*command, "--seed", options->seed, "seed of random inputs and of intervals");
  command->add_flag(
      "--profile", options->profile,
      "also print time and share of the roof of every step, and compare parts between rows");
  command->add_flag("--json", options->json, "print the results as JSON");
  command->footer(
      "Exit code 1: no row could be timed, or a row's outputs have a value that is not finite, but "
      "is finite in the uncompressed model.\n"
      "Examples:\n"
      "  mscgym bench model.onnx --targets onednn,onnxruntime --precision f32,int8\n"
      "  mscgym bench model.onnx --strategy run/best/strategy.json --profile\n"
      "  mscgym bench model.onnx --precision none --strategy a.json --strategy b.json\n"
      "  mscgym bench model.onnx --input images.npy --precision f32,int8 --peer");
  command->callback([options, &context] { Bench(*options, context); });
}

}  // namespace msc::gym
