#include "tests/support/suite.h"

#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <utility>

#include "compiler/import/onnx/import.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/pipeline/compile.h"

namespace msc {
namespace {

SuiteModel ThirdParty(const std::string& name, Dims input, bool fixed_batch = false) {
  const char* folder = std::getenv("MSC_MODELS_DIR");
  return {
      .name = name,
      .path = std::string(folder != nullptr ? folder : "third_party/models") + "/" + name + ".onnx",
      .input = std::move(input),
      .fixed_batch = fixed_batch};
}

}  // namespace

void PrintTo(const SuiteModel& model, std::ostream* out) {
  *out << model.name;
}

// Networks that end in an average over all pixels use smaller images than their files state.
const std::vector<SuiteModel>& Suite() {
  static const std::vector<SuiteModel> suite = {
      ThirdParty("resnet18", {3, 64, 64}),
      ThirdParty("resnet50", {3, 64, 64}),
      ThirdParty("mobilenet_v2", {3, 64, 64}),
      ThirdParty("efficientnet_b0", {3, 64, 64}),
      ThirdParty("fr_expression", {3, 64, 64}, true),
      ThirdParty("fr_feature", {3, 112, 112}, true),
      ThirdParty("fr_pose", {3, 224, 224}, true),
      ThirdParty("ppocr_det", {3, 64, 64}),
      ThirdParty("ppocr_rec", {3, 48, 64}),
      ThirdParty("vit_b_16", {3, 224, 224}),
      ThirdParty("encoder", {128, 768}),
      {.name = "fashion_resnet",
       .path = "experiments/models/fashion_resnet.onnx",
       .input = {1, 28, 28}},
  };
  return suite;
}

std::string AbsenceOf(const SuiteModel& model) {
  if (std::filesystem::exists(model.path)) return "";
  return "no model " + model.path + ": see scripts/setup and scripts/export_torchvision.py";
}

Graph LoadSuiteModel(const SuiteModel& model, std::int64_t batch) {
  Graph graph = ImportOnnx(model.path);
  Dims dims = {batch};
  dims.insert(dims.end(), model.input.begin(), model.input.end());
  const ValueId input = graph.inputs().front();
  ValueType type = graph.type(input);
  type.shape = ToShape(dims);
  graph.SetType(input, std::move(type));
  InferTypes(graph);
  Canonicalize(graph);
  return BindSizes(graph, {});
}

}  // namespace msc
