#include <utility>

#include "compiler/targets/xnnpack/rules.h"

namespace msc::xnnpack {
namespace {

/// Bias, residual and activation of a layer, fused or unfused.
struct Closing {
  Activation activation;
  std::vector<float> bias;
  ValueId residual = kNoValue;
  ValueId slope = kNoValue;
};

std::optional<Closing> ReadClosing(const Lowering& lowering, const Node& node) {
  Closing closing;
  const bool fused = node.domain == "msc";
  if (const ValueId bias = node.Input(2); bias != kNoValue) {
    auto values = lowering.Constant(bias, Layout::kDense);
    if (!values) return std::nullopt;
    closing.bias = *std::move(values);
  }
  if (!fused) return closing;
  const FusedAttrs attrs = ReadFusedAttrs(node);
  if (attrs.y_type != DType::kF32 || node.Input(kFusedWeightScale) != kNoValue) {
    return std::nullopt;
  }
  closing.activation = attrs.activation;
  closing.residual = node.Input(kFusedResidual);
  if (closing.residual != kNoValue && !lowering.DimsOf(closing.residual)) return std::nullopt;
  closing.slope = node.Input(kFusedSlope);
  return closing;
}

/// A layer whose operator is created once its clamp is known.
struct Layer {
  NodeId id = kNoNode;
  ValueId y = kNoValue;
  Layout layout = Layout::kDense;
  BufferId x{};
  std::function<Operator(Clamp clamp)> make = {};
  Setup setup = {};
};

/// Adds the layer's operator, then operators for the residual and for an activation that is no
/// clamp.
bool AddLayer(Lowering& lowering, const Layer& layer, const Closing& closing) {
  const std::optional<Clamp> clamp = ClampOf(closing.activation);
  const bool has_residual = closing.residual != kNoValue;
  // The activation follows the residual, so a clamp moves from the layer to the addition.
  Operator op = layer.make(clamp && !has_residual ? *clamp : Clamp{});
  if (!op) return false;
  const BufferId residual = has_residual ? lowering.In(closing.residual, layer.layout) : BufferId{};
  const BufferId y = lowering.Out(layer.y, layer.layout);
  BufferId made = has_residual || !clamp ? lowering.Scratch(layer.y) : y;
  lowering.Add(std::move(op), layer.setup, {layer.x, made}, layer.id);
  if (has_residual) {
    const std::vector<std::size_t> shape = ShapeIn(*lowering.DimsOf(layer.y), layer.layout);
    const BufferId sum = clamp ? y : lowering.Scratch(layer.y);
    if (!AddBinary(lowering, {.op = "Add",
                              .clamp = clamp.value_or(Clamp{}),
                              .a_shape = shape,
                              .b_shape = shape,
                              .a = made,
                              .b = residual,
                              .into = sum,
                              .node = layer.id})) {
      return false;
    }
    made = sum;
  }
  if (!clamp && !AddActivation(lowering, {.activation = closing.activation,
                                          .like = layer.y,
                                          .slope = closing.slope,
                                          .layout = layer.layout,
                                          .from = made,
                                          .into = y,
                                          .node = layer.id})) {
    return false;
  }
  lowering.Finish(layer.y);
  return true;
}

/// Converts weights from [M, C, h, w] to [M, h, w, C].
std::vector<float> KernelLast(const std::vector<float>& w, const Dims& dims) {
  std::vector<float> turned(w.size());
  const auto channels = static_cast<std::size_t>(dims[1]);
  const auto plane = static_cast<std::size_t>(dims[2] * dims[3]);
  for (std::size_t m = 0; m < static_cast<std::size_t>(dims[0]); ++m) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t i = 0; i < plane; ++i) {
        turned[(m * plane + i) * channels + c] = w[(m * channels + c) * plane + i];
      }
    }
  }
  return turned;
}

}  // namespace

bool LowerConv(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  const auto x = lowering.DimsOf(node.inputs[0]);
  const auto w = lowering.DimsOf(node.inputs[1]);
  const auto y = lowering.DimsOf(node.outputs[0]);
  const auto weights = lowering.Constant(node.inputs[1], Layout::kDense);
  if (!x || !w || !y || !weights || x->size() != 4) return false;
  const std::optional<Closing> closing = ReadClosing(lowering, node);
  if (!closing) return false;
  const Window window = ReadWindow(node, {x->at(2), x->at(3)}, {w->at(2), w->at(3)});
  const std::vector<float> kernel = KernelLast(*weights, *w);
  const auto count = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  Layer layer{.id = id, .y = node.outputs[0], .layout = Layout::kChannelsLast};
  // The library takes padding in the order top, right, bottom, left.
  layer.make = [&](Clamp clamp) {
    return MakeOperator([&](xnn_operator_t* op) {
      return xnn_create_convolution2d_nhwc_f32(
          count(window.pads_begin[0]), count(window.pads_end[1]), count(window.pads_end[0]),
          count(window.pads_begin[1]), count(window.kernel[0]), count(window.kernel[1]),
          count(window.strides[0]), count(window.strides[1]), count(window.dilations[0]),
          count(window.dilations[1]), count(window.group), size(w->at(1)),
          size(w->at(0) / window.group), size(x->at(1)), size(w->at(0)), kernel.data(),
          closing->bias.empty() ? nullptr : closing->bias.data(), clamp.low, clamp.high,
          lowering.Flags(id), op);
    });
  };
  layer.setup = [dims = *x](xnn_operator_t op, std::span<float* const> at, pthreadpool_t pool) {
    return xnn_setup_convolution2d_nhwc_f32(op, static_cast<std::size_t>(dims[0]),
                                            static_cast<std::size_t>(dims[2]),
                                            static_cast<std::size_t>(dims[3]), at[0], at[1], pool);
  };
  layer.x = lowering.In(node.inputs[0], Layout::kChannelsLast);
  return AddLayer(lowering, layer, *closing);
}

bool LowerGemm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.graph().node(id);
  const auto x = lowering.DimsOf(node.inputs[0]);
  const auto w = lowering.DimsOf(node.inputs[1]);
  auto weights = lowering.Constant(node.inputs[1], Layout::kDense);
  if (!x || !w || !weights || w->size() != 2 || x->size() < 2) return false;
  const bool fused = node.domain == "msc";
  const bool gemm = !fused && node.op == "Gemm";
  if (gemm && (AttrOr(node, "alpha", 1.0F) != 1.0F || AttrOr(node, "beta", 1.0F) != 1.0F ||
               AttrOr(node, "transA", std::int64_t{0}) != 0)) {
    return false;
  }
  std::optional<Closing> closing;
  if (fused || gemm) {
    closing = ReadClosing(lowering, node);
  } else {
    closing = Closing{};
  }
  // A fused Gemm holds its weights as [outputs, inputs].
  const bool transposed = fused || (gemm && AttrOr(node, "transB", std::int64_t{0}) != 0);
  const auto inputs = static_cast<std::size_t>(transposed ? w->at(1) : w->at(0));
  const auto outputs = static_cast<std::size_t>(transposed ? w->at(0) : w->at(1));
  if (!closing || (!closing->bias.empty() && closing->bias.size() != outputs)) return false;
  // A bias of shape [M, 1] is per row, which the library cannot add.
  if (gemm && !closing->bias.empty() && lowering.DimsOf(node.inputs[2])->back() == 1 &&
      outputs > 1) {
    return false;
  }
  const auto rows = static_cast<std::size_t>(ElementCount(*x)) / inputs;
  Layer layer{.id = id, .y = node.outputs[0], .layout = Layout::kDense};
  layer.make = [&](Clamp clamp) {
    return MakeOperator([&](xnn_operator_t* op) {
      return xnn_create_fully_connected_nc_f32(
          inputs, outputs, inputs, outputs, weights->data(),
          closing->bias.empty() ? nullptr : closing->bias.data(), clamp.low, clamp.high,
          // The library's own order of weights is [outputs, inputs].
          (transposed ? 0U : XNN_FLAG_TRANSPOSE_WEIGHTS) | lowering.Flags(id), op);
    });
  };
  layer.setup = [rows](xnn_operator_t op, std::span<float* const> at, pthreadpool_t pool) {
    return xnn_setup_fully_connected_nc_f32(op, rows, at[0], at[1], pool);
  };
  layer.x = lowering.In(node.inputs[0], Layout::kDense);
  return AddLayer(lowering, layer, *closing);
}

}  // namespace msc::xnnpack
