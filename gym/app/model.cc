#include "gym/app/model.h"

#include "compiler/base/error.h"
#include "compiler/import/onnx/import.h"
#include "compiler/ir/serialize.h"
#include "compiler/passes/passes.h"

namespace msc::gym {

Graph LoadModelAsIs(const std::string& path) {
  if (path.ends_with(".onnx")) return ImportOnnx(path);
  if (path.ends_with(".json")) return LoadGraph(path.substr(0, path.size() - 5));
  throw UserError("'" + path + "': the name must end in .onnx or .json (a saved graph)");
}

Graph LoadModel(const std::string& path) {
  Graph graph = LoadModelAsIs(path);
  Canonicalize(graph);
  return graph;
}

}  // namespace msc::gym
