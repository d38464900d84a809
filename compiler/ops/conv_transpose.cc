#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "compiler/ops/conv_kernel.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"
#include "compiler/ops/window_infer.h"

// Source: ONNX operator page ConvTranspose-11. X [N,C,in...], W [C,M/group,kernel...], Y
// [N,M,out...].

namespace msc {
namespace {

using Ints = std::vector<std::int64_t>;

// Attributes stay below 2^31, so that the product of two of them fits in an i64.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

Dims SpatialOf(const Shape& shape) {
  Dims sizes;
  for (std::size_t i = 2; i < shape.size(); ++i) sizes.push_back(shape[i].size());
  return sizes;
}

Ints ListOf(const Node& node, const char* name, std::size_t count) {
  Ints list = AttrOr(node, name, Ints{});
  const bool fits = (list.empty() || list.size() == count) &&
                    std::all_of(list.begin(), list.end(), [](std::int64_t entry) {
                      return entry >= 0 && entry < kMaxExtent;
                    });
  if (!fits) RejectNode(node, "attribute '" + std::string(name) + "' does not fit the input");
  return list;
}

/// Window with resolved pads, and the spatial sizes of Y; -1 if a size of X is unknown.
struct Transposed {
  Window window;
  Dims out;
};

Transposed Resolve(const Node& node, const Dims& x_spatial, const Dims& w_kernel) {
  const std::size_t rank = x_spatial.size();
  // ConvTranspose derives the pads of auto_pad from the size of Y, not of X as ReadWindow does.
  Node plain = node;
  plain.attrs.erase("auto_pad");
  Transposed result{.window = ReadWindow(plain, x_spatial, w_kernel), .out = Dims(rank, -1)};
  const std::string mode = AttrOr(node, "auto_pad", std::string("NOTSET"));
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    RejectNode(node, "attribute 'auto_pad' cannot be '" + mode + "'");
  }
  const Ints extra = ListOf(node, "output_padding", rank);
  const Ints wanted = ListOf(node, "output_shape", rank);
  Window& window = result.window;
  for (std::size_t i = 0; i < rank; ++i) {
    if (mode == "VALID") window.pads_begin[i] = window.pads_end[i] = 0;
    if (x_spatial[i] < 0) {
      if (!wanted.empty()) result.out[i] = wanted[i];
      continue;
    }
    // ConvTranspose-11 defines this size of the output before the removal of pads.
    const std::int64_t full = window.strides[i] * (x_spatial[i] - 1) +
                              (extra.empty() ? 0 : extra[i]) +
                              (window.kernel[i] - 1) * window.dilations[i] + 1;
    const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (!wanted.empty() || same) {
      result.out[i] = wanted.empty() ? x_spatial[i] * window.strides[i] : wanted[i];
      // An output that exceeds `full` needs no pads; its last entries receive no product.
      const std::int64_t total = std::max<std::int64_t>(full - result.out[i], 0);
      // ConvTranspose-11 puts the larger half of an odd total at the end only under SAME_UPPER, so
      // a given output_shape with auto_pad NOTSET puts it at the beginning.
      window.pads_begin[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.pads_end[i] = total - window.pads_begin[i];
    } else {
      result.out[i] = full - window.pads_begin[i] - window.pads_end[i];
    }
    if (result.out[i] < 1 || result.out[i] >= kMaxExtent) {
      RejectNode(node, "its output would have a size of " + std::to_string(result.out[i]));
    }
  }
  return result;
}

std::vector<ValueType> InferConvTranspose(const InferInput& in) {
  const Node& node = *in.node;
  RequireType(in, 0, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  const DType dtype = RequireSameType(in, 0, 1);
  if (HasInput(in, 2)) RequireSameType(in, 0, 2);
  const Shape* x = ShapeOf(in, 0);
  const Shape* w = ShapeOf(in, 1);
  if (x == nullptr || w == nullptr) return OneOutput(dtype, std::nullopt);
  if (x->size() < 3 || x->size() > 5 || w->size() != x->size()) {
    RejectNode(node, "X " + ToString(*x) + " and W " + ToString(*w) +
                         " must have 3 to 5 dimensions, equally many");
  }
  if ((*x)[1].known() && (*w)[0].known() && (*x)[1].size() != (*w)[0].size()) {
    RejectNode(node, "X " + ToString(*x) + " and W " + ToString(*w) + " differ in channels");
  }
  const std::int64_t group = AttrOr(node, "group", std::int64_t{1});
  if (group < 1 || ((*w)[0].known() && (*w)[0].size() % group != 0)) {
    RejectNode(node,
               "W " + ToString(*w) + " cannot be split in " + std::to_string(group) + " groups");
  }
  Shape y{(*x)[0], ProductOf(node, {(*w)[1], Dim(group)}, 0, 2)};
  const Dims kernel = SpatialOf(*w);
  const bool open = std::any_of(kernel.begin(), kernel.end(), [](std::int64_t k) { return k < 0; });
  if (open && AttrOr(node, "kernel_shape", Ints{}).empty()) {
    y.resize(x->size());
    return OneOutput(dtype, std::move(y));
  }
  if (const Shape* bias = ShapeOf(in, 2); bias != nullptr) {
    if (bias->size() != 1) RejectNode(node, "the bias must be a list, not " + ToString(*bias));
    y[1] = MergeDims(node, y[1], bias->front());
  }
  for (const std::int64_t size : Resolve(node, SpatialOf(*x), kernel).out) {
    y.push_back(size < 0 ? Dim() : Dim(size));
  }
  return OneOutput(dtype, std::move(y));
}

/// Adds the columns [channels * taps, input positions] to the output planes (col2im).
template <class T>
void ScatterColumns(const Transposed& form, const Dims& in, std::int64_t channels, const T* columns,
                    T* y) {
  const std::size_t rank = in.size();
  const Dims kernel_strides = StridesOf(form.window.kernel);
  const Dims in_strides = StridesOf(in);
  const Dims out_strides = StridesOf(form.out);
  const std::int64_t taps = ElementCount(form.window.kernel);
  const std::int64_t positions = ElementCount(in);
  const std::int64_t plane = ElementCount(form.out);
  for (std::int64_t row = 0; row < channels * taps; ++row) {
    T* to = y + row / taps * plane;
    for (std::int64_t at = 0; at < positions; ++at, ++columns) {
      // The target is an offset in the output plane, or -1 for a place that the pads cut off.
      std::int64_t target = 0;
      for (std::size_t i = 0; i < rank && target >= 0; ++i) {
        const std::int64_t tap = row % taps / kernel_strides[i] % form.window.kernel[i];
        const std::int64_t place = at / in_strides[i] % in[i] * form.window.strides[i] +
                                   tap * form.window.dilations[i] - form.window.pads_begin[i];
        const bool inside = place >= 0 && place < form.out[i];
        target = inside ? target + place * out_strides[i] : -1;
      }
      if (target >= 0) to[target] += *columns;
    }
  }
}

template <class T>
void ConvTransposeInto(const Node& node, EvalInputs inputs, Tensor& y) {
  const Dims& x_dims = inputs[0]->dims();
  const Dims& w_dims = inputs[1]->dims();
  const Dims in(x_dims.begin() + 2, x_dims.end());
  const Transposed form = Resolve(node, in, Dims(w_dims.begin() + 2, w_dims.end()));
  const std::int64_t group = form.window.group;
  const std::int64_t channels = x_dims[1] / group;
  const MatMulProblem problem{
      .m = w_dims[1] * ElementCount(form.window.kernel), .k = channels, .n = ElementCount(in)};
  const std::int64_t plane = ElementCount(form.out);
  std::vector<T> columns(static_cast<std::size_t>(problem.m * problem.n));
  std::vector<T> weights(static_cast<std::size_t>(problem.m * problem.k));
  T* to = y.MutableValues<T>().data();
  for (std::int64_t i = 0; i < x_dims[0] * group; ++i) {
    // W has the channels of X as rows, but the product needs them as columns.
    const T* w = inputs[1]->Values<T>().data() + i % group * problem.m * problem.k;
    for (std::int64_t m = 0; m < problem.m; ++m) {
      for (std::int64_t k = 0; k < problem.k; ++k) {
        weights[static_cast<std::size_t>(m * problem.k + k)] = w[k * problem.m + m];
      }
    }
    MultiplyMatrices(problem, weights.data(),
                     inputs[0]->Values<T>().data() + i * problem.k * problem.n, columns.data());
    ScatterColumns(form, in, w_dims[1], columns.data(), to + i * w_dims[1] * plane);
  }
  const Tensor* bias = InputAt(inputs, 2);
  if (bias == nullptr) return;
  const auto b = bias->Values<T>();
  for (std::int64_t i = 0; i < y.size(); ++i) {
    to[i] += b[static_cast<std::size_t>(i / plane) % b.size()];
  }
}

std::vector<Tensor> EvalConvTranspose(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferConvTranspose, node, inputs);
  if (outputs[0].size() == 0) return outputs;
  WithFloat(node, inputs[0]->dtype(),
            [&]<class T>() { ConvTransposeInto<T>(node, inputs, outputs[0]); });
  return outputs;
}

double ConvTransposeFlops(const Node& /*node*/, std::span<const ValueType> in,
                          std::span<const ValueType> out) {
  const auto w = in[1].shape ? StaticDims(*in[1].shape) : std::nullopt;
  if (!w || w->size() < 3) return 0.0;
  // Every element of X is multiplied by all weights of its input channel.
  const auto each = static_cast<double>(ElementCount(Dims(w->begin() + 1, w->end())));
  return 2.0 * ElementsOf(in[0]) * each + (in.size() > 2 ? ElementsOf(out[0]) : 0.0);
}

}  // namespace

void RegisterConvTransposeOps(OpRegistry& ops) {
  std::vector<AttrSpec> attrs = WindowAttrs(WindowKind::kConv);
  attrs.push_back({.name = "output_padding", .otherwise = Ints{}});
  attrs.push_back({.name = "output_shape", .otherwise = Ints{}});
  ops.Add({.name = "ConvTranspose",
           .inputs = {2, 3},
           .attrs = std::move(attrs),
           .infer = InferConvTranspose,
           .eval = ViaF32(EvalConvTranspose),
           .flops = ConvTransposeFlops});
}

}  // namespace msc
