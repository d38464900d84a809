#include "compiler/compress/quantize/no_layers.h"

#include "compiler/passes/chain.h"

namespace msc {
namespace {

bool IsLayer(const Node& node) {
  return (node.Is("Conv") || node.Is("Gemm") || node.Is("MatMul")) && node.HasInput(1);
}

bool IsQuantized(const Node& node) {
  return node.Is("DequantizeLinear") || node.Is("QLinearConv") || node.Is("QLinearMatMul") ||
         node.Is("MatMulInteger") || node.Is("ConvInteger");
}

}  // namespace

std::string WhyNoQuantizableLayers(const Graph& graph) {
  bool quantized = false;
  for (const NodeId id : graph.order()) {
    const Node& node = graph.node(id);
    quantized = quantized || IsQuantized(node);
    if (!IsLayer(node) || !ReadWeights(graph, node.inputs[1])) continue;
    const DType dtype = graph.type(node.inputs[1]).dtype;
    if (dtype == DType::kF32) continue;
    return "the weights of layer '" + node.name + "' are " + std::string(Name(dtype)) +
           "; only layers in f32 are quantized: export the model with f32 weights";
  }
  if (quantized) {
    return "the model is quantized already: run, bench, partition and compile take it as it is; to "
           "quantize it otherwise, give the model in f32";
  }
  return "the model has no Conv, Gemm or MatMul with constant weights to quantize";
}

}  // namespace msc
