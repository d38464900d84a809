#include "compiler/codegen/onnx/export.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/ops/narrow.h"
#include "compiler/ops/onnx_sets.h"
#include "compiler/pipeline/compile.h"
#include "compiler/pipeline/export_cpp.h"
#include "compiler/pipeline/fitted.h"
#include "gym/app/bench_rows.h"
#include "gym/app/command.h"
#include "gym/app/input_files.h"
#include "gym/app/options.h"
#include "gym/app/sized_model.h"
#include "gym/app/written_model.h"
#include "gym/search/model.h"
#include "gym/search/registries.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::string to = "onnx";
  std::string strategy;
  std::string out;
  std::string reader = "any";
  std::optional<std::int64_t> opset;
  std::vector<std::string> isas;
  std::vector<std::string> inputs;
};

/// Returns the inputs of the package's test: from the files given, otherwise random values.
std::vector<Tensor> ExampleInputs(const Graph& graph, const ShapeBindings& bindings,
                                  const std::vector<std::string>& files) {
  const std::vector<ValueType> types = BoundInputs(graph, bindings);
  CheckInputCount(files, types.size());
  std::vector<Tensor> inputs = RandomInputs(types, 1);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& name = graph.value(graph.inputs()[i]).name;
    inputs[i] = ReadWholeInput(files[i], {.name = name,
                                          .type = types[i],
                                          .asked = &graph.type(graph.inputs()[i]),
                                          .in_file = TypeInFile(graph, graph.inputs()[i])});
  }
  return inputs;
}

void WriteCpp(const Options& options, const SizedModel& model, const Strategy& strategy) {
  const Graph& graph = model.graph;
  CppExportOptions cpp;
  for (const std::string& isa : options.isas) cpp.isas.push_back(*ParseIsa(isa));
  cpp.bindings = BindingsOf(model, std::nullopt);
  const std::vector<Tensor> inputs = ExampleInputs(graph, cpp.bindings, options.inputs);
  const CppExportSummary summary =
      ExportCpp(graph, strategy, MakeTargets(), inputs, cpp, options.out);
  std::string isas;
  for (const Isa& isa : summary.isas) isas += (isas.empty() ? "" : ", ") + ToString(isa);
  std::printf(
      "wrote %s: %zu kernels, for %s; outputs of these instruction sets differ by %.2g of their "
      "range\n",
      options.out.c_str(), summary.kernels, isas.c_str(), summary.spread);
  std::printf("try it: cmake -S %s -B build && cmake --build build && ctest --test-dir build\n",
              options.out.c_str());
}

void Export(const Options& options) {
  Strategy strategy;
  if (!options.strategy.empty()) {
    strategy = LoadStrategy(options.strategy);
  }
  if (options.to == "cpp") {
    WriteCpp(options, LoadModelFor(options.model, options.shapes, strategy), strategy);
    return;
  }
  PrintWritten(WriteModel(LoadModel(options.model, options.shapes), strategy,
                          {.original = options.model,
                           .reader = options.reader,
                           .opset = options.opset,
                           .file = options.out}));
}

}  // namespace

void AddExport(CLI::App& app, AppContext& /*context*/) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("export", "Write a model, compressed or not, as ONNX or C++");
  AddModelOptions(*command, options->model, options->shapes);
  AddSetting(
      *command, "--to", options->to, CLI::IsMember({"onnx", "cpp"}),
      "what to write: an ONNX file, or a folder with C++ code that builds without dependencies");
  command->add_option(
      "--strategy", options->strategy,
      "apply this strategy; int8 layers get QuantizeLinear and DequantizeLinear nodes");
  command->add_option("--out", options->out, "file or new folder to write")->required();
  AddReaderOption(*command, options->reader);
  command
      ->add_option("--opset", options->opset,
                   "ONNX opset; default: the oldest from 13 on that has the model's operators")
      ->check(CLI::Range(kOldestWrittenOpset, kNewestOpset));
  command
      ->add_option("--isa", options->isas,
                   "cpp: instruction sets to write kernels for; the package selects one at run "
                   "time by the CPU; default: all that this CPU supports")
      ->delimiter(',')
      ->check(CLI::IsMember({"baseline", "avx2", "avx512", "avx512_vnni", "avx512_vnni_bf16"}));
  command->add_option(
      "--input", options->inputs,
      "cpp: one .npy file per input; the test of the package reproduces the outputs for them");
  command->footer(
      "Examples:\n"
      "  mscgym export model.onnx --strategy run/best/strategy.json --out int8.onnx\n"
      "  mscgym export model.onnx --strategy run/best/strategy.json --for onnxruntime --out "
      "ort.onnx\n"
      "  mscgym export model.onnx --strategy run/best/strategy.json --to cpp --out model_cpp\n"
      "  mscgym export model.onnx --to cpp --isa baseline,avx2 --out model_cpp");
  command->callback([options] { Export(*options); });
}

}  // namespace msc::gym
