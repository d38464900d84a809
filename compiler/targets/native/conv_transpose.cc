#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "compiler/targets/native/product.h"
#include "compiler/targets/native/rules.h"

// A transposed convolution of stride s consists of s convolutions along each axis, one for each
// remainder of the output index (Dumoulin and Visin 2016, "A guide to convolution arithmetic for
// deep learning", section 4). Each writes every s-th pixel.

namespace msc::native {
namespace {

struct Transposed {
  ValueId x = kNoValue;
  TensorPtr weights;  ///< [depth, channels of a group, kernel_h, kernel_w]
  Window window = {};
  Dims x_dims;
  Dims out_dims;
};

std::optional<Transposed> ReadTransposed(const Lowering& lowering, const Node& node) {
  const Graph& graph = lowering.graph();
  if (!node.Is("ConvTranspose")) return std::nullopt;
  for (const ValueId input : node.inputs) {
    if (input != kNoValue && graph.type(input).dtype != DType::kF32) return std::nullopt;
  }
  // With given output sizes, the pads would have to be derived from them.
  if (AttrOr(node, "auto_pad", std::string("NOTSET")) != "NOTSET" ||
      !AttrOr(node, "output_shape", std::vector<std::int64_t>()).empty()) {
    return std::nullopt;
  }
  Transposed conv{.x = node.inputs[0],
                  .weights = graph.constant(node.inputs[1]),
                  .x_dims = lowering.DimsOf(node.inputs[0]),
                  .out_dims = lowering.DimsOf(node.outputs[0])};
  if (conv.weights == nullptr || conv.x_dims.size() != 4) return std::nullopt;
  if (ElementCount(conv.x_dims) == 0 || ElementCount(conv.out_dims) == 0) return std::nullopt;
  if (node.HasInput(2) && !graph.constant(node.inputs[2])) {
    return std::nullopt;
  }
  const Dims& w = conv.weights->dims();
  conv.window = ReadWindow(node, {conv.x_dims[2], conv.x_dims[3]}, {w[2], w[3]});
  for (std::size_t i = 0; i < 2; ++i) {
    // Every output must have a tap.
    if (conv.window.dilations[i] != 1 || conv.window.kernel[i] < conv.window.strides[i] ||
        conv.window.pads_begin[i] < 0) {
      return std::nullopt;
    }
  }
  return conv;
}

/// The outputs phase, phase + s, ... along one axis. Output j reads entries first + j .. first + j
/// + taps - 1 of X: the first with weight `tap`, each further one with the weight s positions
/// earlier.
struct Phase {
  std::int64_t first;
  std::int64_t taps;
  std::int64_t tap;
  std::int64_t outputs;
};

Phase PhaseOf(const Transposed& conv, std::size_t axis, std::int64_t phase) {
  // Entry i of X adds weight t to output i * s + t - pad. With place = phase + pad and t = least +
  // u * s, output phase + j * s therefore reads entry place / s + j - u.
  const std::int64_t stride = conv.window.strides[axis];
  const std::int64_t place = phase + conv.window.pads_begin[axis];
  const std::int64_t least = place % stride;  // the weights are least, least + s, ...
  const std::int64_t taps = (conv.window.kernel[axis] - least + stride - 1) / stride;
  return {.first = place / stride - (taps - 1),
          .taps = taps,
          .tap = least + (taps - 1) * stride,
          .outputs = (conv.out_dims[axis + 2] - phase + stride - 1) / stride};
}

/// Returns the number of phases that have outputs.
std::int64_t PhasesOf(const Transposed& conv, std::size_t axis) {
  return std::min(conv.window.strides[axis], conv.out_dims[axis + 2]);
}

Halo HaloOf(const Transposed& conv) {
  Halo halo(4);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::int64_t p = 0; p < PhasesOf(conv, i); ++p) {
      const Phase phase = PhaseOf(conv, i, p);
      const std::int64_t last = phase.first + phase.outputs - 1 + phase.taps - 1;
      halo.begin[i + 2] = std::max(halo.begin[i + 2], -phase.first);
      halo.end[i + 2] = std::max(halo.end[i + 2], last - (conv.x_dims[i + 2] - 1));
    }
  }
  return halo;
}

void AddPhase(Lowering& lowering, const Group& group, const Transposed& conv, const View& x,
              Epilogue epilogue, std::int64_t row, std::int64_t column) {
  const Window& window = conv.window;
  const Phase h = PhaseOf(conv, 0, row);
  const Phase w = PhaseOf(conv, 1, column);
  (void)epilogue.Remap([&](const View& view) {
    const View rows = Slice(view, 2, row, h.outputs, window.strides[0]);
    return std::optional(
        SplitGroups(Slice(rows, 3, column, w.outputs, window.strides[1]), window.group));
  });
  View first = x;
  first.offset += h.first * x.strides[2] + w.first * x.strides[3];
  const Product product{.x = SplitGroups(first, window.group),
                        .channels = conv.weights->dims()[1],
                        .kernel_h = h.taps,
                        .kernel_w = w.taps};
  const TileSchedule tile = DefaultTile(
      {.rows = w.outputs, .channels = product.channels, .depth = product.steps()}, lowering.unit());
  const std::span<const float> weights = conv.weights->Values<float>();
  const PackedWeights packed = PackWeights(
      lowering, product, tile,
      [&](std::int64_t g, std::int64_t c, std::int64_t kh, std::int64_t kw, std::span<float> out) {
        const std::int64_t tap_h = h.tap - kh * window.strides[0];
        const std::int64_t tap_w = w.tap - kw * window.strides[1];
        std::int64_t channel = g * product.depth() * product.channels + c;
        for (float& weight : out) {
          const std::int64_t at = (channel * window.kernel[0] + tap_h) * window.kernel[1] + tap_w;
          weight = weights[static_cast<std::size_t>(at)];
          channel += product.channels;
        }
      });
  KernelWriter writer = lowering.Writer("conv_transpose");
  Body body = ProductBody(writer, lowering.unit(), product, tile, packed, epilogue);
  const double flops = 2.0 * static_cast<double>(conv.out_dims[0] * conv.out_dims[1]) *
                       static_cast<double>(h.outputs * w.outputs * h.taps * w.taps) *
                       static_cast<double>(product.depth());
  lowering.AddCall(std::move(writer), std::move(body), flops,
                   lowering.LabelOf(group.nodes(), "f32"));
}

}  // namespace

bool LowerConvTranspose(Lowering& lowering, const Group& group) {
  const std::optional<Transposed> conv = ReadTransposed(lowering, lowering.node(group.anchor));
  if (!conv) return false;
  const View x = lowering.WhereUnit(conv->x, 1, HaloOf(*conv));
  const ValueId result = ResultOf(lowering.graph(), group);
  const Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);
  for (std::int64_t row = 0; row < PhasesOf(*conv, 0); ++row) {
    for (std::int64_t column = 0; column < PhasesOf(*conv, 1); ++column) {
      AddPhase(lowering, group, *conv, x, epilogue, row, column);
    }
  }
  lowering.Finish(result);
  return true;
}

}  // namespace msc::native
