
#include "compiler/compress/prune/linear_form.h"

#include <algorithm>

#include "compiler/base/error.h"
#include "compiler/base/rng.h"
#include "compiler/ops/fused.h"

namespace msc {
namespace {

std::int64_t Product(const Dims& dims, std::size_t begin, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t i = begin; i < std::min(end, dims.size()); ++i) product *= dims[i];
  return product;
}

/// Returns the number of output positions of one sample: spatial ones of a Conv, rows of the
/// others.
std::int64_t PositionsOf(const Node& node, const Dims& y) {
  return node.op == "Conv" ? Product(y, 2, y.size()) : Product(y, 1, y.size() - 1);
}

/// Copies the inputs under the kernel at one output position; 0 outside of the image.
void CopyPatch(const Window& window, const Dims& x, const Dims& y, const float* image,
               std::int64_t position, float* to) {
  const std::size_t rank = window.kernel.size();
  Dims at(rank);
  for (std::size_t axis = rank; axis > 0; --axis) {
    at[axis - 1] = position % y[axis + 1];
    position /= y[axis + 1];
  }
  const std::int64_t taps = Product(window.kernel, 0, rank);
  const std::int64_t plane = Product(x, 2, x.size());
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    std::int64_t rest = tap;
    std::int64_t from = 0;
    std::int64_t stride = 1;
    bool inside = true;
    for (std::size_t axis = rank; axis > 0; --axis) {
      const std::size_t i = axis - 1;
      const std::int64_t place = at[i] * window.strides[i] +
                                 rest % window.kernel[i] * window.dilations[i] -
                                 window.pads_begin[i];
      rest /= window.kernel[i];
      inside = inside && place >= 0 && place < x[i + 2];
      from += place * stride;
      stride *= x[i + 2];
    }
    // Padding takes part in the moments as zeros, as the layer computes with it.
    for (std::int64_t channel = 0; channel < x[1]; ++channel) {
      to[channel * taps + tap] = inside ? image[channel * plane + from] : 0.0F;
    }
  }
}

}  // namespace

std::optional<LinearForm> ReadLinearForm(const Graph& graph, const WeightedLayer& layer) {
  const Node& node = graph.node(layer.node);
  const Tensor& weights = *graph.constant(layer.weight);
  if (weights.dtype() != DType::kF32 || weights.size() == 0) return std::nullopt;
  const Dims& dims = weights.dims();
  LinearForm form;
  if (node.op == "Conv") {
    form.groups = AttrOr(node, "group", std::int64_t{1});
    form.taps = Product(dims, 2, dims.size());
    form.inputs = dims[1] * form.taps;
    form.outputs = dims[0] / form.groups;
    return form;
  }
  if (node.op != "Gemm" && node.op != "MatMul") return std::nullopt;
  const bool plain = AttrOr(node, "alpha", 1.0F) == 1.0F && AttrOr(node, "beta", 1.0F) == 1.0F &&
                     AttrOr(node, "transA", std::int64_t{0}) == 0;
  if (!plain) return std::nullopt;
  form.inputs = dims[layer.in_axis];
  form.outputs = dims[layer.out_axis];
  return form;
}

std::vector<float> ReadRows(const Graph& graph, const WeightedLayer& layer,
                            const LinearForm& form) {
  const auto values = graph.constant(layer.weight)->Values<float>();
  std::vector<float> rows(values.begin(), values.end());
  if (layer.out_axis == 0) return rows;
  for (std::int64_t o = 0; o < form.outputs; ++o) {
    for (std::int64_t i = 0; i < form.inputs; ++i) {
      rows[static_cast<std::size_t>(o * form.inputs + i)] =
          values[static_cast<std::size_t>(i * form.outputs + o)];
    }
  }
  return rows;
}

Tensor WriteRows(const Graph& graph, const WeightedLayer& layer, const LinearForm& form,
                 std::span<const float> rows) {
  Tensor weights(DType::kF32, graph.constant(layer.weight)->dims());
  const auto values = weights.MutableValues<float>();
  Check(rows.size() == values.size(), "as many weights as before");
  std::copy(rows.begin(), rows.end(), values.begin());
  if (layer.out_axis == 0) return weights;
  for (std::int64_t o = 0; o < form.outputs; ++o) {
    for (std::int64_t i = 0; i < form.inputs; ++i) {
      values[static_cast<std::size_t>(i * form.outputs + o)] =
          rows[static_cast<std::size_t>(o * form.inputs + i)];
    }
  }
  return weights;
}

std::vector<std::int64_t> PickPositions(const Node& node, const Dims& y, std::int64_t most,
                                        std::uint64_t seed) {
  const std::int64_t positions = PositionsOf(node, y);
  std::vector<std::int64_t> picked;
  Rng rng(seed);
  // The output of a model without an axis of samples may be a list, which is one row.
  const std::int64_t samples = y.size() == 1 ? 1 : y.at(0);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    if (positions <= most) {
      for (std::int64_t i = 0; i < positions; ++i) picked.push_back(sample * positions + i);
      continue;
    }
    // Drawing with replacement is unbiased, and needs no memory of what was drawn.
    for (std::int64_t i = 0; i < most; ++i) {
      picked.push_back(sample * positions +
                       static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(positions))));
    }
  }
  return picked;
}

std::vector<float> InputRows(const Graph& graph, const WeightedLayer& layer, const Tensor& x,
                             const Dims& y, std::span<const std::int64_t> positions) {
  const Node& node = graph.node(layer.node);
  const auto values = x.Values<float>();
  const Dims& dims = x.dims();
  if (node.op != "Conv") {
    const auto width = static_cast<std::size_t>(dims.back());
    std::vector<float> rows(positions.size() * width);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      std::copy_n(values.begin() + positions[i] * dims.back(), width,
                  rows.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
    return rows;
  }
  const Dims& kernel = graph.constant(layer.weight)->dims();
  const Window window =
      ReadWindow(node, Dims(dims.begin() + 2, dims.end()), Dims(kernel.begin() + 2, kernel.end()));
  const std::int64_t plane = PositionsOf(node, y);
  const auto width =
      static_cast<std::size_t>(dims[1] * Product(window.kernel, 0, window.kernel.size()));
  std::vector<float> rows(positions.size() * width);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const std::int64_t sample = positions[i] / plane;
    CopyPatch(window, dims, y, values.data() + sample * Product(dims, 1, dims.size()),
              positions[i] % plane, rows.data() + i * width);
  }
  return rows;
}

std::vector<float> OutputRows(const Node& node, const Tensor& y,
                              std::span<const std::int64_t> positions) {
  const auto values = y.Values<float>();
  const Dims& dims = y.dims();
  const bool conv = node.op == "Conv";
  const std::int64_t channels = conv ? dims[1] : dims.back();
  const std::int64_t plane = PositionsOf(node, dims);
  std::vector<float> rows;
  rows.reserve(positions.size() * static_cast<std::size_t>(channels));
  for (const std::int64_t position : positions) {
    const std::int64_t first =
        conv ? position / plane * channels * plane + position % plane : position * channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      rows.push_back(values[static_cast<std::size_t>(first + c * (conv ? plane : 1))]);
    }
  }
  return rows;
}

}  // namespace msc
