#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/error.h"
#include "compiler/base/file.h"
#include "compiler/base/rng.h"
#include "compiler/ops/narrow.h"
#include "compiler/pipeline/artefact.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/fitted.h"
#include "compiler/pipeline/partly_compiled.h"
#include "cost/samples/array_file.h"
#include "cost/samples/convert.h"
#include "cost/track/finite.h"
#include "gym/app/command.h"
#include "gym/app/input_files.h"
#include "gym/app/not_finite.h"
#include "gym/app/options.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::string strategy;
  std::string target;
  std::vector<std::string> inputs;
  std::string out;
  std::optional<int> threads;
  std::optional<std::int64_t> batch;
  std::uint64_t seed = 0;
  bool any_version = false;
};

/// A model with its strategy and compile options.
struct Compiled {
  Graph graph;
  Strategy strategy;
  CompileOptions compile;
};

/// Returns the sizes that the model leaves open: those of --batch, those of the files, else a batch
/// of 1.
ShapeBindings SizesOf(const Graph& graph, const Options& options) {
  ShapeBindings sizes;
  if (options.batch) sizes = BatchBindings(graph, BatchFor(graph, options.batch));
  CheckInputCount(options.inputs, graph.inputs().size());
  const std::vector<Tensor> inputs = ReadEach(options.inputs.size(), [&](std::size_t i) {
    const Value& value = graph.value(graph.inputs()[i]);
    return ReadInput(options.inputs[i], value.name, value.type.dtype);
  });
  sizes.merge(BindingsFor(graph, inputs));
  sizes.merge(BatchBindings(graph, 1));
  return sizes;
}

Compiled LoadCompiled(const Options& options) {
  Compiled model;
  if (!options.strategy.empty()) model.strategy = LoadStrategy(options.strategy);
  if (!options.target.empty()) model.strategy.target = TargetOf(options.target, MakeTargets());
  model.graph = LoadModel(options.model, options.shapes);
  model.compile.threads = options.threads.value_or(1);
  model.compile.bindings = SizesOf(model.graph, options);
  return model;
}

/// Throws UserError for options that are fixed when an artefact is compiled.
void RejectForArtefact(const Options& options) {
  const auto refuse = [&](const char* option, bool given) {
    if (!given) return;
    throw UserError(std::string(option) + " is for models, and '" + options.model +
                    "' is an artefact: give it to mscgym compile");
  };
  refuse("--shape", !options.shapes.empty());
  refuse("--strategy", !options.strategy.empty());
  refuse("--target", !options.target.empty());
  refuse("--threads", options.threads.has_value());
  refuse("--batch", options.batch.has_value());
}

OtherVersions Others(const Options& options) {
  return options.any_version ? OtherVersions::kAllow : OtherVersions::kRefuse;
}

Executable BuiltOr(const Options& options, Result<Executable> built) {
  if (!built.ok()) throw UserError("'" + options.model + "': " + built.failure().detail);
  return std::move(built).value();
}

/// Compiles a model, whole or, where sizes are only known in a run, in part: the other is absent.
struct Built {
  std::optional<Executable> whole;
  std::optional<PartlyCompiled> part;
};

Built BuildModel(const Options& options, const Compiled& model, const TargetRegistry& targets) {
  try {
    return {BuiltOr(options, Compile(model.graph, model.strategy, targets, model.compile)), {}};
  } catch (const UserError&) {
    const Graph applied = ApplyStrategy(model.graph, model.strategy);
    const auto open = FirstDecidedInRun(BindSizes(applied, model.compile));
    if (!open) throw;
    Result<PartlyCompiled> built =
        PartlyCompiled::Build(model.graph, model.strategy, targets, model.compile);
    if (!built.ok()) throw UserError("'" + options.model + "': " + built.failure().detail);
    PartlyCompiled part = std::move(built).value();
    std::fprintf(stderr,
                 "note: some sizes are only known in a run, first at node '%s': %zu nodes are "
                 "compiled, and the interpreter computes %zu\n",
                 open->c_str(), part.compiled_nodes(), part.interpreted_nodes());
    return {{}, std::move(part)};
  }
}

Executable LoadExecutable(const Options& options, const TargetRegistry& targets) {
  RejectForArtefact(options);
  Result<Artefact> artefact = LoadArtefact(options.model, targets, Others(options));
  if (!artefact.ok()) throw UserError("'" + options.model + "': " + artefact.failure().detail);
  return std::move(artefact).value().executable;
}

/// Returns whether the strategy of an artefact changes the model's results.
bool Changes(const Strategy& strategy) {
  return !strategy.quantize.layers.empty() || !strategy.prune.groups.empty() ||
         !strategy.fit.weights.empty();
}

/// Reports outputs of an artefact that are not finite. The uncompressed model is unavailable, so
/// returns true if an output is not finite for finite inputs and the strategy may be the cause.
bool ComplainOfArtefact(const Options& options, const TargetRegistry& targets,
                        const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  if (cost::AllFinite(outputs)) return false;
  ArtefactParts parts = ReadArtefact(options.model, targets, Others(options));
  const cost::TrackStage stage{parts.manifest.target, std::move(parts.model),
                               parts.manifest.threads};
  const auto found = FindNotFinite(stage, targets, inputs, outputs);
  const std::string path = options.model + "/strategy.json";
  const bool own = !found || (found->maker == cost::Maker::kCompression &&
                              !Changes(StrategyFromJson(ReadFile(path), "'" + path + "'")));
  if (own) {
    std::fprintf(stderr, "note: outputs are not finite, and %s\n",
                 found ? "the uncompressed model's are not either, for these inputs"
                       : "neither are the inputs");
    return false;
  }
  std::fprintf(stderr, "mscgym: %s%s\n", CauseText(*found).c_str(),
               found->maker == cost::Maker::kTarget
                   ? ""
                   : ". An artefact does not hold the uncompressed model: run that on the same "
                     "inputs to see whether its outputs are finite");
  return true;
}

Tensor RandomInput(const ValueType& type, Rng& rng) {
  Tensor tensor(type.dtype, StaticDims(type.shape.value()).value());
  if (type.dtype != DType::kF32) return tensor;
  for (float& x : tensor.MutableValues<float>()) x = static_cast<float>(rng.Normal());
  return tensor;
}

void Summarize(const Tensor& tensor, const std::string& index) {
  std::printf("output %s: %s%s", index.c_str(), std::string(Name(tensor.dtype())).c_str(),
              ToString(tensor.dims()).c_str());
  if (tensor.dtype() == DType::kF32) {
    std::printf(" =");
    const auto values = tensor.Values<float>();
    for (std::size_t i = 0; i < values.size() && i < 8; ++i) {
      std::printf(" %.6g", static_cast<double>(values[i]));
    }
    if (values.size() > 8) std::printf(" ...");
  }
  std::printf("\n");
}

/// Returns the inputs: from files, then random numbers. `graph` is the model before its dimensions
/// were bound; nullptr for an artefact.
std::vector<Tensor> Inputs(const Options& options, const std::vector<ValueType>& types,
                           const Graph* graph) {
  CheckInputCount(options.inputs, types.size());
  Rng rng(options.seed);
  std::string filled;
  std::vector<Tensor> inputs = ReadEach(types.size(), [&](std::size_t i) {
    const Value* asked = graph == nullptr ? nullptr : &graph->value(graph->inputs()[i]);
    const std::string name = asked == nullptr ? std::to_string(i) : asked->name;
    if (i >= options.inputs.size()) {
      filled += (filled.empty() ? "'" : ", '") + name + "'";
      return RandomInput(types[i], rng);
    }
    return ReadWholeInput(
        options.inputs[i],
        {.name = name,
         .type = types[i],
         .asked = asked == nullptr ? nullptr : &asked->type,
         .batch_option = true,
         .in_file = graph == nullptr ? nullptr : TypeInFile(*graph, graph->inputs()[i])});
  });
  // Whoever gives no file at all wants random values.
  if (!options.inputs.empty() && !filled.empty()) {
    std::fprintf(stderr, "note: inputs without a file of --input get random values: %s\n",
                 filled.c_str());
  }
  return inputs;
}

/// An output and what its file is named after: "1", or "1_0" in a sequence.
struct NamedOutput {
  std::string name;
  const Tensor* tensor = nullptr;
};

/// Writes all outputs or none. NumPy has no bf16; such outputs become f32, which holds the same
/// values.
void WriteOutputs(const std::vector<NamedOutput>& outputs, const std::string& folder) {
  std::vector<Tensor> widened;
  widened.reserve(outputs.size());
  std::vector<cost::NamedArray> arrays;
  for (const auto& [name, tensor] : outputs) {
    const Tensor* array = tensor;
    if (array->dtype() == DType::kBF16) {
      std::fprintf(stderr, "note: output %s is bf16, which NumPy does not have; written as f32\n",
                   name.c_str());
      array = &widened.emplace_back(cost::ConvertedTo(*array, DType::kF32, {}));
    }
    arrays.push_back({folder + "/output_" + name + ".npy", array});
  }
  MakeFolders(folder);
  cost::WriteNpyFiles(arrays);
}

void RunPartlyCompiled(const Options& options, const PartlyCompiled& model,
                       const std::vector<Tensor>& inputs) {
  const std::vector<RunValue> outputs = model.Run(inputs);
  std::vector<NamedOutput> named;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool one = TensorIn(outputs[i]) != nullptr;
    if (!one) {
      std::printf("output %zu: %s of %zu\n", i, ToString(TypeOf(outputs[i])).c_str(),
                  outputs[i].tensors.size());
    }
    for (std::size_t k = 0; k < outputs[i].tensors.size(); ++k) {
      const std::string name = std::to_string(i) + (one ? "" : "_" + std::to_string(k));
      named.push_back({name, outputs[i].tensors[k].get()});
      Summarize(*named.back().tensor, name);
    }
  }
  if (!options.out.empty()) WriteOutputs(named, options.out);
}

void Run(const Options& options, AppContext& context) {
  const TargetRegistry targets = MakeTargets();
  std::optional<Compiled> model;
  if (!std::filesystem::is_directory(options.model)) model = LoadCompiled(options);
  const Built built =
      model ? BuildModel(options, *model, targets) : Built{LoadExecutable(options, targets), {}};
  const std::vector<Tensor> inputs =
      Inputs(options, built.whole ? built.whole->input_types() : built.part->input_types(),
             model ? &model->graph : nullptr);
  if (built.part) {
    RunPartlyCompiled(options, *built.part, inputs);
    return;
  }
  const std::vector<Tensor> outputs = built.whole->Run(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) Summarize(outputs[i], std::to_string(i));
  if (!options.out.empty()) {
    std::vector<NamedOutput> named;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      named.push_back({std::to_string(i), &outputs[i]});
    }
    WriteOutputs(named, options.out);
  }
  const bool wrong = model ? ComplainOfNotFinite({.canonical = &model->graph,
                                                  .strategy = &model->strategy,
                                                  .targets = &targets,
                                                  .compile = model->compile,
                                                  .inputs = inputs,
                                                  .outputs = outputs})
                           : ComplainOfArtefact(options, targets, inputs, outputs);
  if (wrong) context.exit_code = kExitFailure;
}

}  // namespace

void AddRun(CLI::App& app, AppContext& context) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a model or an artefact on given inputs");
  AddModelOptions(*command, options->model, options->shapes,
                  "an artefact folder, an .onnx file or a saved graph");
  command->add_option("--input", options->inputs,
                      "one .npy file per input, in order; the remaining inputs get random values");
  command->add_option("--out", options->out, "folder to write output_0.npy, output_1.npy, ... to");
  command->add_option("--strategy", options->strategy, "apply this strategy to the model first");
  command->add_option("--target", options->target, "target that runs the model");
  command->add_option("--threads", options->threads, "number of threads; default: 1")
      ->check(CLI::Range(1, 1024));
  AddBatchOption(*command, options->batch);
  AddSetting(*command, "--seed", options->seed, "seed of random inputs");
  command->add_flag("--any-version", options->any_version,
                    "run an artefact even if it was compiled with other libraries or for another "
                    "instruction set");
  command->footer(
      "Exit code 1: an output has a value that is not finite, but is finite in the uncompressed "
      "model.\n"
      "Example:\n"
      "  mscgym run run/best/artefact --input image.npy --out outputs");
  command->callback([options, &context] { Run(*options, context); });
}

}  // namespace msc::gym
