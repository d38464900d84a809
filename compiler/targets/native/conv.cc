#include <algorithm>
#include <utility>

#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/product.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {

double ConvProblem::flops() const {
  return 2.0 * static_cast<double>(ElementCount(out_dims)) * static_cast<double>(depth()) *
         static_cast<double>(weights->dims()[2] * weights->dims()[3]);
}

float ConvProblem::weight(std::int64_t c, std::int64_t k, std::int64_t tap) const {
  const auto at = static_cast<std::size_t>(
      (c * depth() + k) * (weights->size() / (channels() * depth())) + tap);
  return quantized ? static_cast<float>(weights->Values<std::int8_t>()[at])
                   : weights->Values<float>()[at];
}

namespace {

/// Whether sums over the taps of bytes stay below 2^24.
bool ExactInF32(const ConvProblem& problem) {
  const Dims& w = problem.weights->dims();
  return w[2] * w[3] * 255 * 128 < (std::int64_t{1} << 24U);
}

}  // namespace

std::optional<ConvProblem> ReadConv(const Lowering& lowering, const Node& node) {
  if (!node.Is("Conv") && !node.Is("Conv", "msc")) return std::nullopt;
  const Graph& graph = lowering.graph();
  ConvProblem problem{.x = node.inputs[0],
                      .weights = graph.constant(node.inputs[1]),
                      .quantized = IsQuantized(graph.type(node.inputs[0]).dtype),
                      .x_zero = 0,
                      .window = {},
                      .x_dims = lowering.DimsOf(node.inputs[0]),
                      .out_dims = lowering.DimsOf(node.outputs[0])};
  if (node.domain == "msc") {
    if (!TakesFused(graph, node)) return std::nullopt;
    if (problem.quantized) problem.x_zero = ReadFusedAttrs(node).x.zero_point;
  } else {
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && graph.type(input).dtype != DType::kF32) return std::nullopt;
    }
    if (graph.type(node.outputs[0]).dtype != DType::kF32) return std::nullopt;
  }
  if (problem.weights == nullptr || problem.x_dims.size() != 4) return std::nullopt;
  if (ElementCount(problem.out_dims) == 0 || problem.weights->size() == 0) return std::nullopt;
  if (node.domain.empty() && node.inputs.size() > 2 && node.inputs[2] != kNoValue &&
      !graph.constant(node.inputs[2])) {
    return std::nullopt;
  }
  const Dims& w = problem.weights->dims();
  if (problem.quantized && problem.depth() * w[2] * w[3] > kDeepestBytes) return std::nullopt;
  const Dims x_spatial(problem.x_dims.begin() + 2, problem.x_dims.end());
  problem.window = ReadWindow(node, x_spatial, {w[2], w[3]});
  return problem;
}

ConvShape ShapeOf(const ConvProblem& problem) {
  const Window& window = problem.window;
  const auto one = [](std::int64_t n) { return n == 1; };
  return {.out_height = problem.out_dims[2],
          .out_width = problem.out_dims[3],
          .in_channels = problem.depth(),
          .out_channels = problem.channels() / window.group,
          .groups = window.group,
          .kernel_height = window.kernel[0],
          .kernel_width = window.kernel[1],
          .unit_steps = std::all_of(window.strides.begin(), window.strides.end(), one) &&
                        std::all_of(window.dilations.begin(), window.dilations.end(), one),
          .bytes = problem.quantized};
}

ConvSchedule ScheduleOf(const ConvProblem& problem, const VectorUnit& unit) {
  return DefaultConv(ShapeOf(problem), unit);
}

Halo HaloOf(const ConvProblem& problem, const ConvSchedule& schedule) {
  const Window& window = problem.window;
  Halo halo(problem.x_dims.size());
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const std::size_t axis = i + 2;
    std::int64_t pixels = problem.out_dims[axis];
    if (const std::int64_t tile = WinogradTile(schedule.algorithm); tile > 0) {
      pixels = (pixels + tile - 1) / tile * tile;  // whole tiles are read
    }
    const std::int64_t reach =
        (pixels - 1) * window.strides[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
    halo.fill = problem.x_zero;
    halo.begin[axis] = window.pads_begin[i];
    halo.end[axis] = std::max<std::int64_t>(0, reach - window.pads_begin[i] - problem.x_dims[axis]);
  }
  return halo;
}

View FirstTaps(Lowering& lowering, const ConvProblem& problem, const ConvSchedule& schedule) {
  View view = lowering.WhereUnit(problem.x, 1, HaloOf(problem, schedule));
  for (std::size_t i = 0; i < problem.window.kernel.size(); ++i) {
    view.offset -= problem.window.pads_begin[i] * view.strides[i + 2];
  }
  return view;
}

void LowerDirectConv(Lowering& lowering, const Group& group, const ConvProblem& problem,
                     ConvSchedule schedule) {
  const Window& window = problem.window;
  View x = FirstTaps(lowering, problem, schedule);
  const ValueId result = ResultOf(lowering.graph(), group);
  Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);
  // A small image seen by single taps is one row of pixels: fewer tiles are cut short.
  ConvShape shape = ShapeOf(problem);
  constexpr std::int64_t kSmallImage = 32 * 32;
  const std::int64_t pixels = shape.out_height * shape.out_width;
  if (shape.kernel_height * shape.kernel_width == 1 && shape.unit_steps && pixels <= kSmallImage) {
    const auto flat = [](const View& view) {
      return Reshape(view, {view.dims[0], view.dims[1], 1, view.dims[2] * view.dims[3]});
    };
    const std::optional<View> row = flat(x);
    if (row && epilogue.Remap(flat)) {
      x = *row;
      shape.out_height = 1;
      shape.out_width = pixels;
      schedule = DefaultConv(shape, lowering.unit());
      schedule.tile.order = LoopOrder::kChannelsOuter;
    }
  }
  const auto split = [&](const View& view) {
    return std::optional(SplitGroups(view, window.group));
  };
  (void)epilogue.Remap(split);
  const Product product{.x = SplitGroups(x, window.group),
                        .x_zero = problem.x_zero,
                        .slack = lowering.HasSlack(x),
                        .channels = shape.out_channels,
                        .kernel_h = window.kernel[0],
                        .kernel_w = window.kernel[1],
                        .stride_h = window.strides[0],
                        .stride_w = window.strides[1],
                        .dilation_h = window.dilations[0],
                        .dilation_w = window.dilations[1]};
  const PackedWeights packed = PackWeights(
      lowering, product, schedule.tile,
      [&](std::int64_t g, std::int64_t c, std::int64_t k, std::int64_t kh, std::int64_t kw) {
        return problem.weight(g * product.channels + c, k, kh * product.kernel_w + kw);
      });
  KernelWriter writer = lowering.Writer("conv");
  Body body = ProductBody(writer, lowering.unit(), product, schedule.tile, packed, epilogue);
  lowering.AddCall(std::move(writer), std::move(body), problem.flops(),
                   lowering.LabelOf(group.nodes(), problem.precision()));
  lowering.Finish(result);
}

bool LowerConv(Lowering& lowering, const Group& group) {
  const std::optional<ConvProblem> problem = ReadConv(lowering, lowering.node(group.anchor));
  if (!problem) return false;
  const ConvSchedule schedule = ScheduleOf(*problem, lowering.unit());
  if (problem->depthwise() && (!problem->quantized || ExactInF32(*problem))) {
    LowerDepthwise(lowering, group, *problem, schedule);
  } else if (schedule.algorithm != ConvAlgorithm::kDirect) {
    LowerWinograd(lowering, group, *problem, schedule);
  } else {
    LowerDirectConv(lowering, group, *problem, schedule);
  }
  return true;
}

}  // namespace msc::native
