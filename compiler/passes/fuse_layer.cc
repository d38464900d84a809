#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/passes/fuse.h"
#include "compiler/passes/narrowing.h"
#include "compiler/passes/rewrite.h"

namespace msc {
namespace {

// Arithmetic of a fused layer. Only integer layers read and write integers, and only bf16 layers
// bf16: a float convolution that stores integers would be no faster.
enum class Arithmetic : std::uint8_t { kF32, kBF16, kInt8 };

struct Layer {
  const LayerChain* chain = nullptr;
  Node producer;
  Weights weights;
  Arithmetic arithmetic = Arithmetic::kF32;
  std::int64_t channels = 0;
  float alpha = 1.0F;  ///< factor of the product (Gemm)
  float beta = 1.0F;   ///< factor of the bias (Gemm)
  FusedAttrs attrs;
  std::vector<ValueId> inputs = std::vector<ValueId>(6, kNoValue);
};

bool IsInt8Weight(const Layer& layer) {
  if (!layer.weights.form || layer.weights.form->dtype != DType::kI8) return false;
  const Narrowing& form = *layer.weights.form;
  const bool symmetric = std::all_of(form.zero_points.begin(), form.zero_points.end(),
                                     [](std::int64_t zero) { return zero == 0; });
  const auto rank = static_cast<std::int64_t>(layer.weights.tensor->dims().size());
  const std::int64_t axis = form.axis < 0 ? form.axis + rank : form.axis;
  const bool by_channel = static_cast<std::int64_t>(form.scales.size()) == layer.channels &&
                          axis == static_cast<std::int64_t>(ChannelAxis(layer.producer));
  return symmetric && (form.scales.size() == 1 || by_channel);
}

Arithmetic ChooseArithmetic(const Graph& graph, const Layer& layer) {
  const auto x = NarrowSource(graph, layer.producer.inputs[0]);
  if (!x) return Arithmetic::kF32;
  if (x->form.IsPerTensorInt8() && IsInt8Weight(layer)) return Arithmetic::kInt8;
  // Multiplying bf16 weights by a factor would round them again.
  const bool plain = layer.alpha == 1.0F;
  if (x->form.IsBF16() && layer.weights.form && layer.weights.form->IsBF16() && plain) {
    return Arithmetic::kBF16;
  }
  return Arithmetic::kF32;
}

bool Fits(Arithmetic arithmetic, const Narrowing& form) {
  return (arithmetic == Arithmetic::kInt8 && form.IsPerTensorInt8()) ||
         (arithmetic == Arithmetic::kBF16 && form.IsBF16());
}

// Returns the value that the fused node reads for `value`, and its quantization.
std::pair<ValueId, QuantParams> Operand(const Graph& graph, Arithmetic arithmetic, ValueId value) {
  const auto source = NarrowSource(graph, value);
  if (!source || !Fits(arithmetic, source->form)) return {value, {}};
  return {source->value, source->form.Params()};
}

template <class T>
Tensor TransposedMatrix(const Tensor& tensor) {
  const std::int64_t rows = tensor.dims()[0];
  const std::int64_t columns = tensor.dims()[1];
  Tensor result(tensor.dtype(), {columns, rows});
  const auto in = tensor.Values<T>();
  const auto out = result.MutableValues<T>();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      out[static_cast<std::size_t>(c * rows + r)] = in[static_cast<std::size_t>(r * columns + c)];
    }
  }
  return result;
}

Tensor Transposed(const Tensor& tensor) {
  if (tensor.dtype() == DType::kI8) return TransposedMatrix<std::int8_t>(tensor);
  if (tensor.dtype() == DType::kBF16) return TransposedMatrix<std::uint16_t>(tensor);
  return TransposedMatrix<float>(tensor);
}

ValueId NewConstant(Graph& graph, const std::string& stem, TensorPtr tensor) {
  return graph.AddConstant(graph.FreeValueName(stem), std::move(tensor));
}

ValueId NewConstant(Graph& graph, const std::string& stem, Tensor tensor) {
  return NewConstant(graph, stem, std::make_shared<const Tensor>(std::move(tensor)));
}

void AddWeights(Graph& graph, Layer& layer) {
  const bool stored = layer.arithmetic != Arithmetic::kF32;
  TensorPtr tensor = stored ? layer.weights.tensor : WidenedWeights(graph, layer.weights);
  const bool gemm = !layer.producer.Is("Conv");
  const bool transpose = gemm && ChannelAxis(layer.producer) == 1;
  const bool scale = layer.alpha != 1.0F && !stored;
  const std::string stem = graph.value(layer.weights.constant).name;
  if (transpose) tensor = std::make_shared<const Tensor>(Transposed(*tensor));
  if (scale) {
    Tensor scaled = *tensor;
    for (float& value : scaled.MutableValues<float>()) value *= layer.alpha;
    tensor = std::make_shared<const Tensor>(std::move(scaled));
  }
  const bool as_is = tensor == layer.weights.tensor;
  layer.inputs[kFusedW] =
      as_is ? layer.weights.constant : NewConstant(graph, stem + "_packed", std::move(tensor));
  if (layer.arithmetic != Arithmetic::kInt8) return;
  std::vector<float> scales = layer.weights.form->scales;
  for (float& value : scales) value *= layer.alpha;
  layer.inputs[kFusedWeightScale] = NewConstant(graph, stem + "_scales", Vector(scales));
}

// Adds the bias in f32 [M], widened if necessary and multiplied by beta.
void AddBias(Graph& graph, Layer& layer) {
  ValueId value = kNoValue;
  float factor = 1.0F;
  std::size_t rank = 1;
  std::size_t axis = 0;
  const Node& producer = layer.producer;
  if (producer.HasInput(2)) {
    value = producer.inputs[2];
    factor = layer.beta;
    if (producer.Is("Gemm")) rank = 2;
    axis = rank - 1;
  } else if (layer.chain->bias_add != kNoNode) {
    for (const ValueId input : graph.node(layer.chain->bias_add).inputs) {
      if (graph.constant(input)) value = input;
    }
    rank = graph.type(producer.outputs.front()).shape->size();
    axis = OutputChannelAxis(producer, rank);
  }
  if (value == kNoValue) return;
  const auto stored = ReadWeights(graph, value);
  const TensorPtr wide = WidenedWeights(graph, *stored);
  const bool as_is = wide == stored->tensor && factor == 1.0F && wide->dims().size() == 1 &&
                     wide->size() == layer.channels;
  if (as_is) {
    layer.inputs[kFusedBias] = value;
    return;
  }
  std::vector<float> bias = *PerChannel(*wide, rank, axis, layer.channels);
  for (float& element : bias) element *= factor;
  layer.inputs[kFusedBias] =
      NewConstant(graph, graph.value(stored->constant).name + "_f32", Vector(bias));
}

Layer ReadLayer(const Graph& graph, const LayerChain& chain) {
  Layer layer;
  layer.chain = &chain;
  layer.producer = graph.node(chain.producer);
  layer.weights = *ReadWeights(graph, layer.producer.inputs[1]);
  layer.channels = layer.weights.tensor->dims().at(ChannelAxis(layer.producer));
  if (layer.producer.Is("Gemm")) {
    layer.alpha = AttrOr<float>(layer.producer, "alpha", 1.0F);
    layer.beta = AttrOr<float>(layer.producer, "beta", 1.0F);
  }
  layer.arithmetic = ChooseArithmetic(graph, layer);
  layer.attrs.activation = chain.activation;
  return layer;
}

// Returns the ONNX attributes of the fused node: the window of a Conv, none for Gemm.
std::optional<AttrMap> OwnAttrs(const Graph& graph, const Layer& layer) {
  AttrMap attrs;
  if (!layer.producer.Is("Conv")) return attrs;
  const Dims& dims = layer.weights.tensor->dims();
  const auto window = KnownWindow(graph, layer.chain->producer, Dims(dims.begin() + 2, dims.end()));
  if (!window) return std::nullopt;
  WriteWindow(*window, attrs);
  attrs["group"] = window->group;
  return attrs;
}

// Removes constants that were added for a rejected node.
void RemoveUnread(Graph& graph, const std::vector<ValueId>& inputs) {
  for (const ValueId id : inputs) {
    if (graph.constant(id) && graph.uses(id).empty() && !graph.IsOutput(id)) {
      graph.RemoveConstant(id);
    }
  }
}

bool TryFuse(Graph& graph, const LayerChain& chain, const Takes& takes) {
  Layer layer = ReadLayer(graph, chain);
  auto attrs = OwnAttrs(graph, layer);
  if (!attrs || IsCaptured(graph, chain.output)) return false;
  std::tie(layer.inputs[kFusedX], layer.attrs.x) =
      Operand(graph, layer.arithmetic, layer.producer.inputs[0]);
  AddWeights(graph, layer);
  AddBias(graph, layer);
  if (chain.residual_add != kNoNode) {
    const ValueId residual = graph.node(chain.residual_add).inputs[chain.residual_input];
    std::tie(layer.inputs[kFusedResidual], layer.attrs.r) =
        Operand(graph, layer.arithmetic, residual);
  }
  if (!chain.slope.empty()) {
    layer.inputs[kFusedSlope] =
        NewConstant(graph, layer.producer.name + "_slope", Vector(chain.slope));
  }
  std::vector<NodeId> nodes = chain.Nodes();
  ValueType type = graph.type(chain.output);
  const NodeId narrowing = OnlyNarrowing(graph, chain.output);
  if (narrowing != kNoNode) {
    const auto form = ReadNarrowing(graph, narrowing);
    if (Fits(layer.arithmetic, *form)) {
      layer.attrs.y = form->Params();
      nodes.push_back(narrowing);
      type = graph.type(graph.node(narrowing).outputs.front());
    }
  }
  while (layer.inputs.back() == kNoValue) layer.inputs.pop_back();
  layer.attrs.y_type = type.dtype;
  WriteFusedAttrs(layer.attrs, *attrs);
  Node fused{.op = layer.producer.Is("Conv") ? "Conv" : "Gemm",
             .domain = "msc",
             .inputs = layer.inputs,
             .attrs = std::move(*attrs)};
  if (!WouldTake(graph, fused, type, nodes.back(), takes)) {
    RemoveUnread(graph, layer.inputs);
    return false;
  }
  ReplaceChain(graph, nodes, std::move(fused), std::move(type));
  return true;
}

}  // namespace

bool FuseLayer(Graph& graph, const LayerChain& chain, const Takes& takes) {
  if (TryFuse(graph, chain, takes)) return true;
  if (chain.activation_nodes.empty()) return false;
  LayerChain plain = chain;
  plain.activation = {};
  plain.slope.clear();
  plain.activation_nodes.clear();
  plain.output = graph.node(plain.Nodes().back()).outputs.front();
  return TryFuse(graph, plain, takes);
}

}  // namespace msc
