#include <algorithm>
#include <span>
#include <utility>

#include "compiler/ir/narrow.h"
#include "compiler/targets/native/conv_problem.h"
#include "compiler/targets/native/product.h"
#include "compiler/targets/native/quantize.h"
#include "compiler/targets/native/rules.h"

namespace msc::native {

double ConvProblem::flops() const {
  return 2.0 * static_cast<double>(ElementCount(out_dims)) * static_cast<double>(depth()) *
         static_cast<double>(window.kernel[0] * window.kernel[1]);
}

void ConvProblem::ReadWeights(std::int64_t c, std::int64_t tap, std::span<float> out) const {
  // Weights are [channel, depth, taps]: the entries of one tap lie `taps` apart.
  const std::int64_t taps = weights->size() / (channels() * depth());
  const std::int64_t row = first_tap[0] + tap / window.kernel[1];
  const std::int64_t column = first_tap[1] + tap % window.kernel[1];
  ReadWeightsAt(*weights, c * depth() * taps + row * weights->dims()[3] + column, taps, out);
}

float ConvProblem::weight(std::int64_t c, std::int64_t tap) const {
  float w = 0;
  ReadWeights(c, tap, {&w, 1});
  return w;
}

namespace {

/// Returns whether sums of bytes over the taps, together with a bias, stay below 2^24, so that f32
/// is exact.
bool ExactInF32(const ConvProblem& problem) {
  const Dims& w = problem.weights->dims();
  // Partial sums are exact, too: each tap contributes at most 255 * 128, be it -zero w from the
  // start or, once added, (x - zero) w.
  return w[2] * w[3] * 255 * 128 + kMaxWholeBias < (std::int64_t{1} << 24U);
}

ConvShape ShapeOf(const ConvProblem& problem, DType x, int threads) {
  const Window& window = problem.window;
  const auto all_are = [](const std::vector<std::int64_t>& list, std::int64_t wanted) {
    return std::all_of(list.begin(), list.end(), [&](std::int64_t n) { return n == wanted; });
  };
  return {.out_height = problem.out_dims[2],
          .out_width = problem.out_dims[3],
          .in_channels = problem.depth(),
          .out_channels = problem.channels() / window.group,
          .groups = window.group,
          .kernel_height = window.kernel[0],
          .kernel_width = window.kernel[1],
          .unit_steps = all_are(window.strides, 1) && all_are(window.dilations, 1),
          // Padding would lie between the rows.
          .joinable = all_are(window.pads_begin, 0) && all_are(window.pads_end, 0),
          // The depthwise kernel sums in f32, also bytes.
          .depthwise = problem.depthwise() && (!problem.quantized || ExactInF32(problem)),
          .x = x,
          .threads = threads};
}

/// Returns the number of pixels along an axis where a tap of the window reads the image, not its
/// padding.
std::int64_t PixelsInside(const ConvProblem& problem, std::size_t axis, std::int64_t tap) {
  const Window& window = problem.window;
  // A tap reads at pixel * stride - before: inside from 0 to the image's end.
  const std::int64_t before = window.pads_begin[axis] - tap * window.dilations[axis];
  const std::int64_t stride = window.strides[axis];
  const auto first_at = [&](std::int64_t at) {
    const std::int64_t distance = std::max<std::int64_t>(at + before, 0);
    return std::min((distance + stride - 1) / stride, problem.out_dims[axis + 2]);
  };
  return first_at(problem.x_dims[axis + 2]) - first_at(0);
}

/// Takes taps out of the window that read nothing but padding, as an atrous convolution has that
/// reaches further than a small image. Its halo would be larger than the image.
void DropTapsOfPadding(ConvProblem& problem) {
  Window& window = problem.window;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    std::int64_t& taps = window.kernel[axis];
    const std::int64_t before = taps;
    const std::int64_t dilation = window.dilations[axis];
    // Winograd's algorithm, which takes steps of 1 alone, relies on whole windows.
    if (dilation == 1) continue;
    while (taps > 1 && window.pads_begin[axis] >= dilation && PixelsInside(problem, axis, 0) == 0) {
      ++problem.first_tap[axis];
      window.pads_begin[axis] -= dilation;
      --taps;
    }
    while (taps > 1 && PixelsInside(problem, axis, taps - 1) == 0) --taps;
    if (taps == 1) window.dilations[axis] = 1;  // one tap has no steps
    if (taps == before) continue;
    const std::int64_t reach =
        (problem.out_dims[axis + 2] - 1) * window.strides[axis] + (taps - 1) * dilation + 1;
    window.pads_end[axis] =
        std::max<std::int64_t>(0, reach - window.pads_begin[axis] - problem.x_dims[axis + 2]);
  }
}

/// Reads everything except the schedule.
std::optional<ConvProblem> ReadProblem(const Lowering& lowering, const Node& node) {
  if (!node.Is("Conv") && !node.Is("Conv", "msc")) return std::nullopt;
  const Graph& graph = lowering.graph();
  ConvProblem problem{.x = node.inputs[0],
                      .weights = graph.constant(node.inputs[1]),
                      .quantized = IsQuantized(graph.type(node.inputs[0]).dtype),
                      .x_zero = 0,
                      .x_dims = lowering.DimsOf(node.inputs[0]),
                      .out_dims = lowering.DimsOf(node.outputs[0]),
                      .chosen = false};
  if (node.domain == "msc") {
    if (!TakesFused(graph, node)) return std::nullopt;
    if (problem.quantized) {
      problem.x_zero = ReadFusedAttrs(node).x.zero_point;
      problem.whole_bias = WholeBias(graph, node);
    }
  } else {
    for (const ValueId input : node.inputs) {
      if (input != kNoValue && graph.type(input).dtype != DType::kF32) return std::nullopt;
    }
    if (graph.type(node.outputs[0]).dtype != DType::kF32) return std::nullopt;
  }
  if (problem.weights == nullptr || problem.x_dims.size() != 4) return std::nullopt;
  if (ElementCount(problem.out_dims) == 0 || problem.weights->size() == 0) return std::nullopt;
  if (node.domain.empty() && node.HasInput(2) && !graph.constant(node.inputs[2])) {
    return std::nullopt;
  }
  const Dims& w = problem.weights->dims();
  // Deeper sums of bytes could exceed i32.
  if (problem.quantized && problem.depth() * w[2] * w[3] > kDeepestBytes) return std::nullopt;
  const Dims x_spatial(problem.x_dims.begin() + 2, problem.x_dims.end());
  problem.window = ReadWindow(node, x_spatial, {w[2], w[3]});
  DropTapsOfPadding(problem);
  problem.shape = ShapeOf(problem, graph.type(problem.x).dtype, lowering.threads());
  problem.shape.narrow =
      problem.quantized && lowering.unit().dot4_narrow && IsNarrow(*problem.weights);
  return problem;
}

/// Returns a description such as "conv 3x3 64 > 128 to 28x28 f32", with strides, dilations, groups
/// and batch where they are not 1, and narrow products. Equal for nodes with equal kernels.
std::string Words(const ConvProblem& problem) {
  const Window& window = problem.window;
  const auto by = [](std::int64_t a, std::int64_t b) {
    return std::to_string(a) + "x" + std::to_string(b);
  };
  std::string text = "conv " + by(window.kernel[0], window.kernel[1]);
  if (window.strides[0] * window.strides[1] > 1) {
    text += " stride " + by(window.strides[0], window.strides[1]);
  }
  if (window.dilations[0] * window.dilations[1] > 1) {
    text += " dilation " + by(window.dilations[0], window.dilations[1]);
  }
  text += " " + std::to_string(problem.x_dims[1]) + " > " + std::to_string(problem.channels());
  if (window.group > 1) text += " in " + std::to_string(window.group) + " groups";
  text += " to " + by(problem.out_dims[2], problem.out_dims[3]);
  if (!problem.shape.joinable) text += " padded";
  if (problem.out_dims[0] > 1) text += " times " + std::to_string(problem.out_dims[0]);
  return text + " " + std::string(Name(problem.shape.x)) + (problem.shape.narrow ? " narrow" : "");
}

/// Returns the share of the reads along an axis that are in the image, not in its padding.
double ShareInside(const ConvProblem& problem, std::size_t axis) {
  const std::int64_t taps = problem.window.kernel[axis];
  std::int64_t inside = 0;
  for (std::int64_t tap = 0; tap < taps; ++tap) inside += PixelsInside(problem, axis, tap);
  return static_cast<double>(inside) / static_cast<double>(taps * problem.out_dims[axis + 2]);
}

/// Returns where the image lies among its padding if leaving out taps in the padding pays, as where
/// an atrous convolution reaches further than a small image. Taps of bytes all count: in their sums
/// a zero point stands for 0.
std::optional<Product::Inside> InsideWorthAsking(const ConvProblem& problem) {
  const Window& window = problem.window;
  constexpr double kMostInside = 0.95;
  if (problem.quantized || std::ranges::all_of(window.dilations, [](auto n) { return n == 1; }) ||
      ShareInside(problem, 0) * ShareInside(problem, 1) > kMostInside) {
    return std::nullopt;
  }
  return Product::Inside{.row = window.pads_begin[0],
                         .rows = problem.x_dims[2],
                         .column = window.pads_begin[1],
                         .columns = problem.x_dims[3]};
}

}  // namespace

std::optional<ConvProblem> ReadConv(const Lowering& lowering, const Node& node) {
  std::optional<ConvProblem> problem = ReadProblem(lowering, node);
  if (!problem) return std::nullopt;
  const auto chosen = ChosenFor(node);
  if (chosen && !SupportsShape(*chosen, problem->shape, lowering.unit())) return std::nullopt;
  problem->chosen = chosen.has_value();
  problem->schedule = chosen ? *chosen : DefaultConv(problem->shape, lowering.unit());
  return problem;
}

KernelChoices ConvChoices(const Lowering& lowering, const Node& node) {
  // ONNX operators have no attribute for a schedule.
  if (node.domain != "msc") return {};
  const std::optional<ConvProblem> problem = ReadProblem(lowering, node);
  if (!problem) return {};
  KernelChoices choices{.kernel = Words(*problem)};
  for (const ConvSchedule& schedule : ConvSchedules(problem->shape, lowering.unit())) {
    choices.schedules.push_back(ToPlain(schedule));
  }
  return choices;
}

Halo HaloOf(const ConvProblem& problem) {
  const Window& window = problem.window;
  Halo halo(problem.x_dims.size());
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const std::size_t axis = i + 2;
    std::int64_t pixels = problem.out_dims[axis];
    if (const std::int64_t tile = WinogradTile(problem.schedule.algorithm); tile > 0) {
      pixels = (pixels + tile - 1) / tile * tile;  // reads whole tiles
    }
    // Entries from the first tap of the first window to the last tap of the last one.
    const std::int64_t reach =
        (pixels - 1) * window.strides[i] + (window.kernel[i] - 1) * window.dilations[i] + 1;
    // Padding stands for the real number 0, whose code is the zero point.
    halo.fill = problem.x_zero;
    halo.begin[axis] = window.pads_begin[i];
    halo.end[axis] = std::max<std::int64_t>(0, reach - window.pads_begin[i] - problem.x_dims[axis]);
  }
  return halo;
}

View FirstTaps(Lowering& lowering, const ConvProblem& problem) {
  View view = lowering.WhereUnit(problem.x, 1, HaloOf(problem));
  // Starts inside the halo, so that kernels need not subtract the padding from each index.
  for (std::size_t i = 0; i < problem.window.kernel.size(); ++i) {
    view.offset -= problem.window.pads_begin[i] * view.strides[i + 2];
  }
  return view;
}

void LowerDirectConv(Lowering& lowering, const Group& group, const ConvProblem& problem) {
  const Window& window = problem.window;
  TileSchedule tile = problem.schedule.tile;
  View x = FirstTaps(lowering, problem);
  const ValueId result = ResultOf(lowering.graph(), group);
  Epilogue epilogue(lowering, group, lowering.Out(result, AxisOrder(4)), 1);
  // A row over the whole image needs views without gaps between image rows. A default that assumed
  // such a row gets a tile for single rows instead.
  if (problem.schedule.join_rows) {
    const auto flat = [](const View& view) {
      return Reshape(view, {view.dims[0], view.dims[1], 1, view.dims[2] * view.dims[3]});
    };
    const std::optional<View> row = flat(x);
    if (row && epilogue.Remap(flat)) {
      x = *row;
    } else if (!problem.chosen) {
      ConvShape apart = problem.shape;
      apart.joinable = false;
      tile = DefaultConv(apart, lowering.unit()).tile;
    }
  }
  const auto split = [&](const View& view) {
    return std::optional(SplitGroups(view, window.group));
  };
  (void)epilogue.Remap(split);
  const Product product{.x = SplitGroups(x, window.group),
                        .x_zero = problem.x_zero,
                        .bias = problem.whole_bias,
                        .narrow = problem.shape.narrow,
                        .slack = lowering.HasSlack(x),
                        .inside = InsideWorthAsking(problem),
                        .channels = problem.shape.out_channels,
                        .kernel_h = window.kernel[0],
                        .kernel_w = window.kernel[1],
                        .stride_h = window.strides[0],
                        .stride_w = window.strides[1],
                        .dilation_h = window.dilations[0],
                        .dilation_w = window.dilations[1]};
  const PackedWeights packed = PackWeights(
      lowering, product, tile,
      [&](std::int64_t g, std::int64_t c, std::int64_t kh, std::int64_t kw, std::span<float> out) {
        problem.ReadWeights(g * product.channels + c, kh * product.kernel_w + kw, out);
      });
  KernelWriter writer = lowering.Writer("conv");
  Body body = ProductBody(writer, lowering.unit(), product, tile, packed, epilogue);
  lowering.AddCall(std::move(writer), std::move(body), problem.flops(),
                   lowering.LabelOf(group.nodes(), PrecisionOf(problem.shape.x)));
  lowering.Finish(result);
}

bool LowerConv(Lowering& lowering, const Group& group) {
  const std::optional<ConvProblem> problem = ReadConv(lowering, lowering.node(group.anchor));
  if (!problem) return false;
  switch (problem->schedule.algorithm) {
    case ConvAlgorithm::kDirect:
      LowerDirectConv(lowering, group, *problem);
      break;
    case ConvAlgorithm::kDepthwise:
    case ConvAlgorithm::kGrouped:
      LowerGrouped(lowering, group, *problem);
      break;
    case ConvAlgorithm::kWinograd2:
    case ConvAlgorithm::kWinograd4:
      LowerWinograd(lowering, group, *problem);
      break;
  }
  return true;
}

}  // namespace msc::native
