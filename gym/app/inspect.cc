#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/ir/graph.h"
#include "compiler/ir/text.h"
#include "compiler/ops/narrow.h"
#include "gym/app/command.h"
#include "gym/app/json_output.h"
#include "gym/app/options.h"
#include "gym/search/model.h"

namespace msc::gym {
namespace {

struct Options {
  std::string model;
  std::vector<std::string> shapes;
  bool canonical = false;
  bool text = false;
  bool json = false;
};

nlohmann::json Describe(const Graph& graph, const std::vector<ValueId>& ids) {
  nlohmann::json list = nlohmann::json::array();
  for (const ValueId id : ids) {
    list.push_back({{"name", graph.value(id).name}, {"type", ToString(graph.type(id))}});
  }
  return list;
}

void PrintJson(const Graph& graph) {
  const GraphCounts counts = CountContents(graph);
  nlohmann::json nodes = counts.nodes;
  nodes["total"] = counts.total_nodes;
  const nlohmann::json all = {{"name", graph.name()},
                              {"inputs", Describe(graph, graph.inputs())},
                              {"outputs", Describe(graph, graph.outputs())},
                              {"nodes", nodes},
                              {"parameters", counts.parameters},
                              {"weight_bytes", counts.weight_bytes},
                              {"metadata", graph.metadata()}};
  PrintJsonResult("msc-inspect-1", all);
}

void PrintEnd(const Graph& graph, ValueId id, const char* what) {
  const std::string& name = graph.value(id).name;
  std::printf("  %-7s %s : %s", what, name.c_str(), ToString(graph.type(id)).c_str());
  if (const NarrowType* type = TypeInFile(graph, id)) {
    std::printf(" (%s in the file)", std::string(type->name).c_str());
  }
  std::printf("\n");
}

void PrintTable(const Graph& graph) {
  const GraphCounts counts = CountContents(graph);
  std::printf("graph %s\n", graph.name().c_str());
  for (const ValueId id : graph.inputs()) PrintEnd(graph, id, "input");
  for (const ValueId id : graph.outputs()) PrintEnd(graph, id, "output");
  std::printf("  parameters %lld, %.2f MB\n", static_cast<long long>(counts.parameters),
              static_cast<double>(counts.weight_bytes) * 1e-6);
  std::printf("  nodes %lld\n", static_cast<long long>(counts.total_nodes));
  for (const auto& [op, n] : counts.nodes) {
    std::printf("    %6lld  %s\n", static_cast<long long>(n), op.c_str());
  }
}

void Inspect(const Options& options) {
  const Graph graph = options.canonical ? LoadModel(options.model, options.shapes)
                                        : LoadModelAsIs(options.model, options.shapes);
  if (options.text) {
    std::printf("%s",
                Print(graph, {.inline_elements = 16, .large = LargeConstants::kElide}).c_str());
  } else if (options.json) {
    PrintJson(graph);
  } else {
    PrintTable(graph);
  }
}

}  // namespace

void AddInspect(CLI::App& app, AppContext& /*context*/) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("inspect", "Print inputs, outputs and operators of a model");
  AddModelOptions(*command, options->model, options->shapes);
  command->add_flag("--canonical", options->canonical,
                    "first run the passes that every search starts with");
  command->add_flag("--text", options->text, "print the whole graph as text");
  command->add_flag("--json", options->json, "print the results as JSON");
  command->footer("Example:\n  mscgym inspect experiments/models/fashion_resnet.onnx --text");
  command->callback([options] { Inspect(*options); });
}

}  // namespace msc::gym
