#include "compiler/targets/onnxruntime/kernels.h"

#include <algorithm>
#include <array>
#include <set>

#include <onnx/onnx_pb.h>

#include "compiler/base/error.h"

namespace msc::onnxruntime {
namespace {

/// Operators, of ONNX and of the library, whose kernels multiply integers.
constexpr std::array<std::string_view, 10> kIntegerOps = {
    "ConvInteger",        "DynamicQuantizeMatMul", "MatMulInteger",
    "MatMulInteger16",    "MatMulIntegerToFloat",  "QGemm",
    "QLinearConv",        "QLinearMatMul",         "QAttention",
    "DynamicQuantizeLSTM"};

/// Returns the integers of a layer's weights, or those of the second operand of a product of
/// activations; kNoValue if that operand is f32.
ValueId IntegerOperand(const Graph& graph, const Node& layer) {
  ValueId found = kNoValue;
  for (std::size_t i = 0; i < std::min<std::size_t>(layer.inputs.size(), 2); ++i) {
    const NodeId widening = graph.producer(layer.inputs[i]);
    const bool is_widened = widening != kNoNode && graph.node(widening).Is("DequantizeLinear");
    const ValueId narrow = is_widened ? graph.node(widening).inputs[0] : kNoValue;
    if (narrow != kNoValue && graph.constant(narrow) != nullptr) return narrow;
    found = i == 1 ? narrow : kNoValue;
  }
  return found;
}

/// Returns the names of the values that integer kernels read.
std::set<std::string> ReadByIntegerKernels(std::string_view optimized) {
  onnx::ModelProto model;
  if (optimized.empty() ||
      !model.ParseFromArray(optimized.data(), static_cast<int>(optimized.size()))) {
    throw UserError("ONNX Runtime: the model that it optimized cannot be read back");
  }
  std::set<std::string> names;
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (std::find(kIntegerOps.begin(), kIntegerOps.end(), node.op_type()) == kIntegerOps.end()) {
      continue;
    }
    names.insert(node.input().begin(), node.input().end());
  }
  return names;
}

}  // namespace

bool IsLayer(const Node& node) {
  return node.Is("Conv") || node.Is("Gemm") || node.Is("MatMul") || node.Is("ConvTranspose");
}

bool AnyWidened(const Graph& graph) {
  return std::any_of(graph.order().begin(), graph.order().end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return IsLayer(node) && IntegerOperand(graph, node) != kNoValue;
  });
}

std::map<std::string, std::string> KernelPrecisions(const Graph& graph,
                                                    std::string_view optimized) {
  const std::set<std::string> read = ReadByIntegerKernels(optimized);
  std::map<std::string, std::string> precisions;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    if (!IsLayer(node)) continue;
    const ValueId operand = IntegerOperand(graph, node);
    const bool integer = operand != kNoValue && read.contains(graph.value(operand).name);
    precisions[node.name] = integer ? "int8" : "f32";
  }
  return precisions;
}

}  // namespace msc::onnxruntime
