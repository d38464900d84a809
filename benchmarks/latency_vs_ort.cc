// How fast is a model here, uncompressed and compressed, beside ONNX Runtime on the same machine?
//
// All rows are timed in one process on the same cores, interleaved as `mscgym search` times
// candidates. Outputs are compared first, and nothing is timed if they disagree. Exit codes: 0
// done, 77 ONNX Runtime is absent, 2 bad usage or input, outputs that disagree among them.
//
//   build/release/bin/latency_vs_ort MODEL.onnx [--strategy S.json] [--qdq Q.onnx] [--threads 1]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/peers/ort_session.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/import/onnx/import.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/runtime/threads.h"
#include "compiler/targets/register.h"
#include "cost/measure/latency.h"
#include "cost/measure/machine.h"

namespace {

using msc::Tensor;
using msc::UserError;
using msc::cost::Latency;

constexpr int kExitUsage = 2;
constexpr int kExitSkipped = 77;

/// Largest difference of an uncompressed output from ONNX Runtime's, in parts of the output's
/// range.
constexpr double kExactError = 1e-4;
/// The same for a compressed model. 8-bit layers differ by right, the more on random inputs; what
/// is above this is another computation. Accuracy is judged elsewhere, on real data.
constexpr double kCompressedError = 0.5;

struct Options {
  std::string model;
  std::string strategy;
  std::string qdq;
  int threads = 1;
  std::int64_t max_ms = 10000;
  std::uint64_t seed = 0;
  bool json = false;
};

/// Something that computes the model from the same inputs.
struct Contender {
  std::string name;
  msc::cost::Call call;
  std::vector<Tensor> outputs;  ///< of the inputs that are timed
  double max_error = 0;         ///< against ONNX Runtime f32, in parts of the output's range
};

struct Contest {
  std::vector<Tensor> inputs;
  std::vector<std::string> input_names;
  std::vector<std::string> output_names;
  std::vector<Contender> contenders;
  std::vector<Latency> rows;  ///< by contender, against the first
};

/// A time by another, with its 95 % interval.
struct Quotient {
  std::string name;
  double value = 1;
  double low = 1;
  double high = 1;
  bool noisy = false;
};

std::vector<std::string> Names(const msc::Graph& graph, const std::vector<msc::ValueId>& ids) {
  std::vector<std::string> names;
  names.reserve(ids.size());
  for (const msc::ValueId id : ids) names.push_back(graph.value(id).name);
  return names;
}

std::vector<Tensor> RandomInputs(const msc::Executable& executable, std::uint64_t seed) {
  msc::Rng rng(seed);
  std::vector<Tensor> inputs;
  for (const msc::ValueType& type : executable.input_types()) {
    if (type.dtype != msc::DType::kF32) {
      throw UserError("only models whose inputs are f32 are compared");
    }
    Tensor& tensor = inputs.emplace_back(type.dtype, msc::StaticDims(type.shape.value()).value());
    for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  }
  return inputs;
}

/// Copies of `tensors`, which are named `have`, in the order of `want`.
std::vector<Tensor> InOrder(const std::vector<Tensor>& tensors,
                            const std::vector<std::string>& have,
                            const std::vector<std::string>& want, const std::string& who) {
  std::vector<Tensor> ordered;
  for (const std::string& name : want) {
    const auto at = std::find(have.begin(), have.end(), name);
    if (at == have.end()) {
      throw UserError(
          std::string(who).append(": '").append(name).append("' is not in the other model"));
    }
    ordered.push_back(tensors[static_cast<std::size_t>(at - have.begin())]);
  }
  return ordered;
}

std::shared_ptr<msc::Executable> Build(const msc::Graph& graph, const msc::Strategy& strategy,
                                       const std::string& name, int threads) {
  msc::TargetRegistry targets;
  msc::RegisterAllTargets(targets);
  msc::Result<msc::Executable> built = msc::Compile(
      graph, strategy, targets, {.threads = threads, .bindings = msc::BatchBindings(graph, 1)});
  if (!built.ok()) throw UserError(name + ": " + built.failure().detail);
  return std::make_shared<msc::Executable>(std::move(built).value());
}

void AddOurs(Contest& contest, const std::string& name,
             const std::shared_ptr<msc::Executable>& executable) {
  auto outputs = std::make_shared<std::vector<Tensor>>(executable->Run(contest.inputs));
  std::vector<Tensor> kept = *outputs;
  contest.contenders.push_back(
      {.name = name,
       .call = [executable, outputs, &contest] { executable->RunInto(contest.inputs, *outputs); },
       .outputs = std::move(kept)});
}

/// The copies of outputs that OrtSession makes are timed too; they are some hundred bytes here.
void AddOrt(Contest& contest, const std::string& name, const std::string& path, int threads) {
  auto session = std::make_shared<msc::OrtSession>(msc::OrtSession::FromFile(path, threads));
  auto inputs = std::make_shared<std::vector<Tensor>>(
      InOrder(contest.inputs, contest.input_names, session->inputs(), name));
  std::vector<Tensor> outputs = session->Run(*inputs);
  contest.contenders.push_back(
      {.name = name,
       .call = [session, inputs] { [[maybe_unused]] const auto made = session->Run(*inputs); },
       .outputs = InOrder(outputs, session->outputs(), contest.output_names, name)});
}

/// Largest difference in parts of the range of `expected`.
double MaxError(const Tensor& expected, const Tensor& actual, const std::string& name) {
  if (expected.dtype() != msc::DType::kF32 || actual.dtype() != msc::DType::kF32) {
    throw UserError(name + ": only models whose outputs are f32 are compared");
  }
  if (expected.dims() != actual.dims()) throw UserError(name + ": an output has another shape");
  const auto want = expected.Values<float>();
  const auto got = actual.Values<float>();
  if (want.empty()) return 0;
  const auto [least, most] = std::minmax_element(want.begin(), want.end());
  const double range = std::max(static_cast<double>(*most) - static_cast<double>(*least), 1e-30);
  double error = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = std::abs(static_cast<double>(want[i]) - static_cast<double>(got[i]));
    if (!std::isfinite(difference)) throw UserError(name + ": an output is not finite");
    error = std::max(error, difference);
  }
  return error / range;
}

void CheckOutputs(const std::vector<Tensor>& expected, Contender& contender, double limit) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    contender.max_error =
        std::max(contender.max_error, MaxError(expected[i], contender.outputs[i], contender.name));
  }
  if (contender.max_error <= limit) return;
  char text[160] = "";  // NOLINT(modernize-avoid-c-arrays): snprintf
  std::snprintf(text, sizeof text,
                ": outputs differ from those of ONNX Runtime f32 by %.2e of their range, more than "
                "%.0e; nothing was timed",
                contender.max_error, limit);
  throw UserError(contender.name + text);
}

constexpr std::size_t kOurs = 0;
constexpr std::size_t kOrt = 1;

void AddContenders(const Options& options, Contest& contest) {
  msc::Graph graph = msc::ImportOnnx(options.model);
  msc::Canonicalize(graph);
  contest.input_names = Names(graph, graph.inputs());
  contest.output_names = Names(graph, graph.outputs());
  const auto plain = Build(graph, msc::Strategy{}, "ours f32", options.threads);
  contest.inputs = RandomInputs(*plain, options.seed);
  AddOurs(contest, "ours f32", plain);
  AddOrt(contest, "ONNX Runtime f32", options.model, options.threads);
  if (!options.strategy.empty()) {
    const msc::Strategy strategy =
        msc::StrategyFromJson(msc::ReadFile(options.strategy), "'" + options.strategy + "'");
    AddOurs(contest, "ours strategy", Build(graph, strategy, "ours strategy", options.threads));
  }
  if (!options.qdq.empty()) AddOrt(contest, "ONNX Runtime QDQ", options.qdq, options.threads);
  const std::vector<Tensor> expected = contest.contenders[kOrt].outputs;
  for (std::size_t i = 0; i < contest.contenders.size(); ++i) {
    CheckOutputs(expected, contest.contenders[i], i <= kOrt ? kExactError : kCompressedError);
  }
}

std::vector<Latency> Measure(const Options& options, const Contest& contest,
                             std::size_t reference) {
  std::vector<msc::cost::Call> calls;
  for (const Contender& contender : contest.contenders) calls.push_back(contender.call);
  msc::cost::LatencyOptions latency;
  latency.seed = options.seed;
  latency.max_ms = options.max_ms;
  return msc::cost::MeasureTogether(calls[reference], calls, latency, msc::cost::SystemProbe());
}

/// reference / row, from row / reference.
Quotient Inverse(const std::string& name, const Latency& row) {
  return {.name = name,
          .value = 1 / row.ratio,
          .low = 1 / row.ratio_high,
          .high = 1 / row.ratio_low,
          .noisy = row.noisy};
}

std::vector<Quotient> Quotients(const Options& options, const Contest& contest) {
  std::vector<Quotient> quotients = {Inverse("ours f32 / ORT f32", contest.rows[kOrt])};
  if (options.strategy.empty()) return quotients;
  constexpr std::size_t kStrategy = 2;
  quotients.push_back(Inverse("ours f32 / ours strategy", contest.rows[kStrategy]));
  // What stands below the line is the reference, so that the interval is one of the protocol's.
  const std::vector<Latency> rows = Measure(options, contest, kStrategy);
  const auto over = [&](const std::string& name, const Latency& row) {
    quotients.push_back({.name = name,
                         .value = row.ratio,
                         .low = row.ratio_low,
                         .high = row.ratio_high,
                         .noisy = row.noisy});
  };
  over("ORT f32 / ours strategy", rows[kOrt]);
  if (!options.qdq.empty()) over("ORT QDQ / ours strategy", rows.back());
  return quotients;
}

std::string FileName(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

void PrintTable(const Options& options, const Contest& contest,
                const std::vector<Quotient>& quotients) {
  std::printf("%s, batch 1, %d thread%s, %s, ONNX Runtime %s\n", FileName(options.model).c_str(),
              options.threads, options.threads == 1 ? "" : "s",
              msc::cost::ReadMachine().cpu.c_str(), msc::OrtVersion().c_str());
  std::printf("  %-18s %10s   %-24s %6s  %s\n", "", "median ms", "ratio to ours f32, 95 %",
              "rounds", "max error of range");
  for (std::size_t i = 0; i < contest.rows.size(); ++i) {
    const Latency& row = contest.rows[i];
    std::printf("  %-18s %10.3f   %.3f [%.3f, %.3f]     %6lld  %.1e%s\n",
                contest.contenders[i].name.c_str(), row.median_ns * 1e-6, row.ratio, row.ratio_low,
                row.ratio_high, static_cast<long long>(row.rounds), contest.contenders[i].max_error,
                row.noisy ? "  noisy" : "");
  }
  for (const Quotient& quotient : quotients) {
    std::printf("%s = %.3f [%.3f, %.3f]%s\n", quotient.name.c_str(), quotient.value, quotient.low,
                quotient.high, quotient.noisy ? " noisy" : "");
  }
}

void PrintJson(const Options& options, const Contest& contest,
               const std::vector<Quotient>& quotients) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < contest.rows.size(); ++i) {
    const Latency& row = contest.rows[i];
    rows.push_back({{"name", contest.contenders[i].name},
                    {"median_ms", row.median_ns * 1e-6},
                    {"ratio", row.ratio},
                    {"ratio_low", row.ratio_low},
                    {"ratio_high", row.ratio_high},
                    {"rounds", row.rounds},
                    {"noisy", row.noisy},
                    {"max_error", contest.contenders[i].max_error}});
  }
  nlohmann::ordered_json ratios = nlohmann::ordered_json::array();
  for (const Quotient& quotient : quotients) {
    ratios.push_back({{"name", quotient.name},
                      {"value", quotient.value},
                      {"low", quotient.low},
                      {"high", quotient.high},
                      {"noisy", quotient.noisy}});
  }
  const nlohmann::ordered_json all = {{"model", FileName(options.model)},
                                      {"threads", options.threads},
                                      {"cpu", msc::cost::ReadMachine().cpu},
                                      {"onnxruntime", msc::OrtVersion()},
                                      {"rows", rows},
                                      {"quotients", ratios}};
  std::printf("%s\n", all.dump(2).c_str());
}

int Compare(const Options& options) {
  if (const std::string absence = msc::OrtAbsence(); !absence.empty()) {
    std::fprintf(stderr, "latency_vs_ort: skipped. %s\n", absence.c_str());
    return kExitSkipped;
  }
  const std::vector<int> cores = msc::AllowedCores();
  if (options.threads > std::ssize(cores)) {
    throw UserError("--threads is more than the " + std::to_string(cores.size()) +
                    " cores of this process");
  }
  msc::UseThreads(options.threads);
  msc::PinTo({cores.begin(), cores.begin() + options.threads});
  Contest contest;
  AddContenders(options, contest);
  contest.rows = Measure(options, contest, kOurs);
  const std::vector<Quotient> quotients = Quotients(options, contest);
  if (options.json) {
    PrintJson(options, contest, quotients);
  } else {
    PrintTable(options, contest, quotients);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times a model here and in ONNX Runtime, side by side.", "latency_vs_ort");
  app.add_option("model", options.model, "an ONNX file")->required()->check(CLI::ExistingFile);
  app.add_option("--strategy", options.strategy, "also ours with this strategy")
      ->check(CLI::ExistingFile);
  app.add_option("--qdq", options.qdq, "also this QDQ model in ONNX Runtime")
      ->check(CLI::ExistingFile);
  app.add_option("--threads", options.threads, "threads")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--max-ms", options.max_ms, "budget of a row in milliseconds")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of inputs and intervals")->capture_default_str();
  app.add_flag("--json", options.json, "for scripts");
  try {
    app.parse(argc, argv);
    return Compare(options);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  } catch (const UserError& error) {
    std::fprintf(stderr, "latency_vs_ort: %s\n", error.what());
    return kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "latency_vs_ort: %s\n", error.what());
    return 1;
  }
}
