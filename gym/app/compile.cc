#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <malloc.h>

#include "compiler/base/error.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/fitted.h"
#include "gym/app/bench_rows.h"
#include "gym/app/command.h"
#include "gym/app/not_finite.h"
#include "gym/app/options.h"
#include "gym/app/sized_model.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::string strategy;
  std::string target;
  std::string out = "artefact";
  int threads = 1;
  std::optional<std::int64_t> batch;
};

/// Returns "onednn", or "12 regions on blas, native, onednn".
std::string Runners(const ArtefactManifest& manifest) {
  if (manifest.regions.empty()) return manifest.target;
  std::set<std::string> targets;
  for (const PartitionRegion& region : manifest.regions) targets.insert(region.target);
  std::string text;
  for (const std::string& target : targets) text += (text.empty() ? "" : ", ") + target;
  return std::to_string(manifest.regions.size()) + " regions on " + text;
}

/// Returns "13 int8, 1 f32".
std::string Precisions(const ArtefactManifest& manifest) {
  std::map<std::string, int> counts;
  for (const auto& [layer, precision] : manifest.precisions) {
    ++counts[precision.empty() ? "unknown" : precision];
  }
  std::string text;
  for (const auto& [precision, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + precision;
  }
  return text;
}

/// Returns the search's decisions about int8 layers besides their precision, such as "3 weights of
/// 4 bits, 5 ranges by mse, rounded by gptq"; empty without any.
std::string Decided(const QuantizePlan& plan) {
  std::map<std::string, int> counts;
  for (const auto& [layer, grid] : plan.weights) {
    ++counts["weights of " + std::to_string(grid.bits) + " bits"];
  }
  for (const auto& [layer, method] : plan.ranges) ++counts["ranges by " + method];
  std::string text;
  for (const auto& [what, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  }
  if (!plan.rounding.empty())
    text += (text.empty() ? "rounded by " : ", rounded by ") + plan.rounding;
  return text;
}

// Keeps freed memory in the process. Weights are copied several times, and memory that was returned
// to the system comes back page by page, which took a third of the time for large models.
void KeepFreedMemory() {
  (void)mallopt(M_MMAP_MAX, 0);
  (void)mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

/// Runs the compiled model once on random inputs. Returns true if an output is not finite although
/// the uncompressed model's is. Inputs that the model rejects, such as indices out of range, are no
/// evidence: returns false.
bool IsNotFinite(const Graph& graph, const Strategy& strategy, const TargetRegistry& targets,
                 const CompileOptions& compile, const Executable& executable) {
  try {
    const std::vector<Tensor> inputs = RandomInputs(executable.input_types(), 0);
    const std::vector<Tensor> outputs = executable.Run(inputs);
    return ComplainOfNotFinite({.canonical = &graph,
                                .strategy = &strategy,
                                .targets = &targets,
                                .compile = compile,
                                .inputs = inputs,
                                .outputs = outputs});
  } catch (const UserError&) {
    return false;
  }
}

void CompileModel(const Options& options, AppContext& context) {
  KeepFreedMemory();
  const TargetRegistry targets = MakeTargets();
  Strategy strategy;
  if (!options.strategy.empty()) {
    strategy = LoadStrategy(options.strategy);
  }
  if (!options.target.empty()) RunAllOn(TargetOf(options.target, targets), strategy);
  const SizedModel model = LoadModelFor(options.model, options.shapes, strategy);
  const Graph& graph = model.graph;
  const CompileOptions compile{.threads = options.threads,
                               .bindings = BindingsOf(model, options.batch)};
  const ArtefactManifest manifest =
      WriteArtefact(options.out, graph, strategy, targets, compile,
                    [&](const Lowered& /*lowered*/, const Executable& executable) {
                      if (IsNotFinite(graph, strategy, targets, compile, executable)) {
                        context.exit_code = kExitFailure;
                      }
                    });
  std::printf("%s: %s, %d thread%s, %s\n", options.out.c_str(), Runners(manifest).c_str(),
              manifest.threads, manifest.threads == 1 ? "" : "s",
              manifest.versions.at(manifest.target).c_str());
  std::printf("memory: %.2f MB for activations (at least %.2f), %.2f MB of weights\n",
              static_cast<double>(manifest.arena_bytes) * 1e-6,
              static_cast<double>(manifest.arena_lower_bound) * 1e-6,
              static_cast<double>(manifest.constant_bytes) * 1e-6);
  std::printf("conversions of layout and type: %lld steps, which read %.2f MB\n",
              static_cast<long long>(manifest.conversions),
              static_cast<double>(manifest.conversion_bytes) * 1e-6);
  if (!manifest.precisions.empty()) {
    std::printf("layers with weights run in: %s\n", Precisions(manifest).c_str());
  }
  if (const std::string decided = Decided(strategy.quantize); !decided.empty()) {
    std::printf("quantized with: %s\n", decided.c_str());
  }
  if (manifest.refused.empty()) return;
  std::string others;
  for (const std::string& target : manifest.fallbacks) {
    others += (others.empty() ? "" : " or ") + target;
  }
  std::printf("runs on %s, because its target does not support it: %s", others.c_str(),
              manifest.refused.front().c_str());
  if (manifest.refused.size() > 1) std::printf(" and %zu more", manifest.refused.size() - 1);
  std::printf("; manifest.json lists them all\n");
}

}  // namespace

void AddCompile(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "compile", "Apply a strategy without searching, and write the compiled model");
  AddModelOptions(*command, options->model, options->shapes);
  command->add_option("--strategy", options->strategy,
                      "strategy.json of a search; default: compress nothing");
  command->add_option("--target", options->target,
                      "target that runs the model; overrides the strategy");
  AddSetting(*command, "--out", options->out, "folder to write the artefact to");
  AddThreadsOption(*command, options->threads, "number of threads that the artefact runs on");
  AddBatchOption(*command, options->batch);
  command->footer(
      "Exit code 1: on random inputs, an output has a value that is not finite, but is finite in "
      "the uncompressed model.\n"
      "Example:\n"
      "  mscgym compile model.onnx --strategy run/best/strategy.json --out artefact");
  command->callback([options, &context] { CompileModel(*options, context); });
}

}  // namespace msc::gym
