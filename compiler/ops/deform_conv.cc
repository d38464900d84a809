#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/window_infer.h"

// DeformConv-19 (X, W, offset, B?, mask?) -> Y: a convolution of images whose kernel reads X beside
// its own positions, between pixels. G is the number of offset groups, K = rows * columns of the
// kernel.
//
//   X [N, C, H, W]        W [M, C / group, rows, columns]        B [M]
//   offset [N, G K 2, out...]: down, then right, of each element of the kernel
//   mask [N, G K, out...]: factors of the elements that are read
//   Y [N, M, out...]
//
// What is read outside of X is 0. Source: ONNX operator page DeformConv-19.

namespace msc {
namespace {

enum Input : std::size_t { kX, kW, kOffset, kB, kMask };

/// Returns the inputs that the shapes of Conv depend on.
InferInput AsConv(const InferInput& in) {
  InferInput conv{.node = in.node};
  for (const std::size_t i : {kX, kW, kB}) {
    conv.types.push_back(i < in.types.size() ? in.types[i] : ValueType());
  }
  return conv;
}

/// Checks [N, channels, out...] of input `index` and adds what it tells about `y`.
void MergeField(const InferInput& in, std::size_t index, const std::optional<double>& channels,
                Shape& y) {
  const Shape* field = ShapeOf(in, index);
  if (field == nullptr) return;
  const Node& node = *in.node;
  if (field->size() != 4) {
    RejectNode(node, "input " + std::to_string(index) + " must have 4 dimensions, not shape " +
                         ToString(*field));
  }
  const Dim& given = (*field)[1];
  if (channels && given.known() && static_cast<double>(given.size()) != *channels) {
    RejectNode(node, "input " + std::to_string(index) + " of shape " + ToString(*field) +
                         " does not fit its kernel");
  }
  for (const std::size_t axis : {0, 2, 3}) y[axis] = MergeDims(node, y[axis], (*field)[axis]);
}

std::int64_t OffsetGroups(const Node& node) {
  const std::int64_t groups = AttrOr(node, "offset_group", std::int64_t{1});
  if (groups < 1) RejectNode(node, "attribute 'offset_group' must be at least 1");
  return groups;
}

std::vector<ValueType> InferDeformConv(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, kX, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  DType dtype = TypeOf(in, kX);
  for (const std::size_t i : {kW, kOffset, kB, kMask}) {
    if (!HasInput(in, i)) continue;
    const DType same = RequireSameType(in, kX, i);
    if (dtype == DType::kUndefined) dtype = same;
  }
  const std::int64_t groups = OffsetGroups(node);
  const Shape* x = ShapeOf(in, kX);
  if (x != nullptr && x->size() != 4) {
    RejectNode(node, "X of shape " + ToString(*x) + " must have 4 dimensions");
  }
  if (x != nullptr && (*x)[1].known() && (*x)[1].size() % groups != 0) {
    RejectNode(node,
               "X " + ToString(*x) + " cannot be split in " + std::to_string(groups) + " groups");
  }
  Shape y = ConvOutputShape(AsConv(in)).value_or(Shape(4));
  std::optional<double> elements;  // of the kernel, times the groups
  const Shape* w = ShapeOf(in, kW);
  if (w != nullptr && w->size() == 4 && (*w)[2].known() && (*w)[3].known()) {
    elements = static_cast<double>(groups) * static_cast<double>((*w)[2].size()) *
               static_cast<double>((*w)[3].size());
  }
  MergeField(in, kOffset, elements ? std::optional(2.0 * *elements) : std::nullopt, y);
  MergeField(in, kMask, elements, y);
  return OneOutput(dtype, std::move(y));
}

/// Returns the value between the pixels around (row, column); 0 outside of the image.
template <class T>
double ValueAt(std::span<const T> image, std::int64_t height, std::int64_t width, double row,
               double column) {
  // The comparisons fail for NaN too.
  const bool near = row > -1.0 && row < static_cast<double>(height) && column > -1.0 &&
                    column < static_cast<double>(width);
  if (!near) return 0.0;
  const auto top = static_cast<std::int64_t>(std::floor(row));
  const auto left = static_cast<std::int64_t>(std::floor(column));
  const double down = row - static_cast<double>(top);
  const double right = column - static_cast<double>(left);
  const auto pixel = [&](std::int64_t i, std::int64_t j) {
    if (i < 0 || i >= height || j < 0 || j >= width) return 0.0;
    return static_cast<double>(image[static_cast<std::size_t>(i * width + j)]);
  };
  return (1.0 - down) * ((1.0 - right) * pixel(top, left) + right * pixel(top, left + 1)) +
         down * ((1.0 - right) * pixel(top + 1, left) + right * pixel(top + 1, left + 1));
}

/// One call: the sizes that its loops need.
struct Problem {
  ConvProblem conv;
  std::int64_t offset_groups = 1;
  std::int64_t kernel = 0;  ///< elements of the kernel
  std::int64_t plane = 0;   ///< positions of Y
};

/// Reads the elements of all channels that one position of Y multiplies by weights: [C, K].
template <class T>
void ReadColumn(const Problem& problem, EvalInputs inputs, std::int64_t image, std::int64_t at,
                std::vector<double>& column) {
  const ConvProblem& conv = problem.conv;
  const Window& window = conv.window;
  const auto x = inputs[kX]->Values<T>();
  const auto offset = inputs[kOffset]->Values<T>();
  const Tensor* mask = InputAt(inputs, kMask);
  const std::int64_t pixels = conv.in[0] * conv.in[1];
  const std::int64_t channels_each = conv.in_channels / problem.offset_groups;
  for (std::int64_t c = 0; c < conv.in_channels; ++c) {
    const auto plane = x.subspan(static_cast<std::size_t>((image * conv.in_channels + c) * pixels),
                                 static_cast<std::size_t>(pixels));
    // The field of offsets, [N, G, K, 2, out...], and that of factors, without the 2.
    const std::int64_t group = image * problem.offset_groups + c / channels_each;
    for (std::int64_t k = 0; k < problem.kernel; ++k) {
      const std::int64_t field = group * problem.kernel + k;
      const auto shift = [&](std::int64_t axis) {
        return static_cast<double>(
            offset[static_cast<std::size_t>((field * 2 + axis) * problem.plane + at)]);
      };
      const auto place = [&](std::size_t axis, std::int64_t position, std::int64_t tap) {
        return static_cast<double>(position * window.strides[axis] - window.pads_begin[axis] +
                                   tap * window.dilations[axis]);
      };
      const double row = place(0, at / conv.out[1], k / window.kernel[1]) + shift(0);
      const double left = place(1, at % conv.out[1], k % window.kernel[1]) + shift(1);
      double value = ValueAt<T>(plane, conv.in[0], conv.in[1], row, left);
      if (mask != nullptr) {
        value *= static_cast<double>(
            mask->Values<T>()[static_cast<std::size_t>(field * problem.plane + at)]);
      }
      column[static_cast<std::size_t>(c * problem.kernel + k)] = value;
    }
  }
}

template <class T>
void ConvolveInto(const Problem& problem, EvalInputs inputs, Tensor& y) {
  const ConvProblem& conv = problem.conv;
  const auto w = inputs[kW]->Values<T>();
  const Tensor* bias = InputAt(inputs, kB);
  const auto to = y.MutableValues<T>();
  const auto channels_each = static_cast<std::size_t>(conv.in_channels / conv.window.group);
  const std::size_t products = channels_each * static_cast<std::size_t>(problem.kernel);
  const auto outputs_each = static_cast<std::size_t>(conv.out_channels / conv.window.group);
  const auto outputs = static_cast<std::size_t>(conv.out_channels);
  const auto plane = static_cast<std::size_t>(problem.plane);
  std::vector<double> column(static_cast<std::size_t>(conv.in_channels * problem.kernel));
  for (std::size_t n = 0; n < static_cast<std::size_t>(conv.batch); ++n) {
    for (std::size_t at = 0; at < plane; ++at) {
      ReadColumn<T>(problem, inputs, static_cast<std::int64_t>(n), static_cast<std::int64_t>(at),
                    column);
      for (std::size_t m = 0; m < outputs; ++m) {
        const auto read = std::span(column).subspan(m / outputs_each * products, products);
        const auto weights = w.subspan(m * products, products);
        double sum = bias == nullptr ? 0.0 : static_cast<double>(bias->Values<T>()[m]);
        for (std::size_t i = 0; i < products; ++i) sum += read[i] * static_cast<double>(weights[i]);
        to[(n * outputs + m) * plane + at] = static_cast<T>(sum);
      }
    }
  }
}

std::vector<Tensor> EvalDeformConv(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferDeformConv, node, inputs);
  if (outputs[0].size() == 0) return outputs;
  Problem problem{.conv = ConvProblemOf(node, *inputs[kX], *inputs[kW], outputs[0]),
                  .offset_groups = OffsetGroups(node)};
  problem.kernel = ElementCount(problem.conv.window.kernel);
  problem.plane = ElementCount(problem.conv.out);
  WithFloat(node, inputs[kX]->dtype(),
            [&]<class T>() { ConvolveInto<T>(problem, inputs, outputs[0]); });
  return outputs;
}

/// Counts the products with weights and, for each element that is read, 8 flops between pixels.
double DeformConvFlops(const Node& node, std::span<const ValueType> in,
                       std::span<const ValueType> out) {
  const double read = in.size() > kOffset ? ElementsOf(in[kOffset]) / 2.0 : 0.0;
  const auto x = in[kX].shape ? StaticDims(*in[kX].shape) : std::nullopt;
  const double channels = x && x->size() == 4 ? static_cast<double>((*x)[1]) : 0.0;
  const auto groups = static_cast<double>(AttrOr(node, "offset_group", std::int64_t{1}));
  return ConvFlops(node, in, out) + 8.0 * read * channels / std::max(groups, 1.0);
}

}  // namespace

void RegisterDeformConvOps(OpRegistry& ops) {
  const std::vector<std::int64_t> derived;  // by ReadWindow
  ops.Add({.name = "DeformConv",
           .inputs = {3, 5},
           .attrs = {{.name = "dilations", .otherwise = derived},
                     {.name = "group", .otherwise = std::int64_t{1}},
                     {.name = "kernel_shape", .otherwise = derived},
                     {.name = "offset_group", .otherwise = std::int64_t{1}},
                     {.name = "pads", .otherwise = derived},
                     {.name = "strides", .otherwise = derived}},
           .infer = InferDeformConv,
           .eval = ViaF32(EvalDeformConv),
           .flops = DeformConvFlops});
}

}  // namespace msc
