#include "gym/search/model.h"

#include <exception>
#include <set>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/sample_axes.h"
#include "compiler/ir/serialize.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/batch.h"
#include "compiler/pipeline/shapes.h"

namespace msc::gym {

namespace {

/// Imports a model with the sizes of `options`. If it has branches that do not fit these, they stay
/// nested graphs: it may be that no run chooses them.
Graph ImportSized(const std::string& path, ImportOptions options) {
  try {
    return ImportOnnx(path, options);
  } catch (const UserError&) {
    const std::exception_ptr first = std::current_exception();
    options.set_inputs = {};
    try {
      return ImportOnnx(path, options);
    } catch (const UserError&) {
      std::rethrow_exception(first);
    }
  }
}

Graph ReadModel(const std::string& path, const std::vector<std::string>& shapes) {
  if (path.ends_with(".onnx")) {
    ImportOptions options;
    // Sizes may decide which branch of an If is read.
    options.set_inputs = [&](Graph& graph) { SetInputShapes(graph, shapes); };
    std::set<std::string> fixed;
    options.fix_input = [&](const std::string& name, const ValueType& type) {
      TensorPtr value = FixedValue(name, type, shapes);
      if (value != nullptr) fixed.insert(name);
      return value;
    };
    Graph graph = ImportSized(path, std::move(options));
    CheckFixed(fixed, shapes);
    return graph;
  }
  CheckFixed({}, shapes);  // a saved graph keeps its inputs
  if (path.ends_with(".json")) return LoadGraph(path.substr(0, path.size() - 5));
  throw UserError("'" + path + "': the name must end in .onnx or .json (a saved graph)");
}

}  // namespace

Graph LoadModelAsIs(const std::string& path, const std::vector<std::string>& shapes) {
  Graph graph = ReadModel(path, shapes);
  SetInputShapes(graph, shapes);
  return graph;
}

Graph LoadModel(const std::string& path, const std::vector<std::string>& shapes) {
  Graph graph = LoadModelAsIs(path, shapes);
  NameOpenDims(graph);
  Canonicalize(graph);
  return graph;
}

Graph WithKnownSizes(Graph graph) {
  const std::string open = OpenSizesText(graph, BatchBindings(graph, 1));
  if (!open.empty()) throw UserError(open + " (the key 'shapes' of a config)");
  return graph;
}

std::vector<cost::InputForm> FormsOf(const Graph& graph) {
  std::vector<cost::InputForm> forms;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.type(id);
    if (!type.shape) throw UserError("the model's input has no known rank");
    forms.push_back({.name = graph.value(id).name,
                     .dtype = type.dtype,
                     .shape = *type.shape,
                     .axis = SampleAxisOf(graph, id)});
  }
  return forms;
}

std::int64_t ClassesOf(const Graph& graph) {
  if (graph.outputs().empty()) return 0;
  const auto& shape = graph.type(graph.outputs()[0]).shape;
  if (!shape || shape->size() < 2 || !shape->back().known()) return 0;
  return shape->back().size();
}

}  // namespace msc::gym
