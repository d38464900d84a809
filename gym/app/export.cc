#include "compiler/codegen/onnx/export.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "compiler/base/file.h"
#include "compiler/pipeline/compile.h"
#include "gym/app/command.h"
#include "gym/app/model.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  std::string to = "onnx";
  std::string strategy;
  std::string out;
  int opset = 17;
};

void Export(const Options& options) {
  Graph graph = LoadModel(options.model, options.shapes);
  if (!options.strategy.empty()) {
    graph = ApplyStrategy(
        graph, StrategyFromJson(ReadFile(options.strategy), "'" + options.strategy + "'"));
  }
  ExportOnnx(graph, options.out, {.opset = options.opset});
  std::printf("wrote %s, opset %d\n", options.out.c_str(), options.opset);
}

}  // namespace

void AddExport(CLI::App& app, AppContext& /*context*/) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "Write a model, compressed or not, as ONNX");
  command->add_option("model", options->model, "an .onnx file or a saved graph (.json)")
      ->required();
  AddShapeOption(*command, options->shapes);
  command->add_option("--to", options->to, "the form")
      ->check(CLI::IsMember({"onnx"}))
      ->capture_default_str();
  command->add_option("--strategy", options->strategy,
                      "apply this strategy: int8 layers become QuantizeLinear/DequantizeLinear");
  command->add_option("--out", options->out, "file to write")->required();
  command->add_option("--opset", options->opset, "ONNX opset")
      ->check(CLI::Range(7, 17))
      ->capture_default_str();
  command->footer(
      "Example:\n  mscgym export model.onnx --strategy run/best/strategy.json --out int8.onnx");
  command->callback([options] { Export(*options); });
}

}  // namespace msc::gym
