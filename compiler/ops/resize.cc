#include "compiler/ops/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Sources: ONNX operator pages Resize-13 and Resize-19. What came after set 13 are the attributes
// antialias, axes and keep_aspect_ratio_policy, and the coordinates half_pixel_symmetric.

namespace msc {
namespace {

constexpr std::size_t kRoi = 1;
constexpr std::size_t kScales = 2;
constexpr std::size_t kSizes = 3;
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;

std::string WordOf(const Node& node, const char* name, const char* otherwise,
                   std::initializer_list<const char*> allowed) {
  std::string word = AttrOr(node, name, std::string(otherwise));
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
    RejectNode(node, "attribute '" + std::string(name) + "' cannot be '" + word + "'");
  }
  return word;
}

/// Returns the constant floats of an input; nullopt if it is absent, empty or not constant.
std::optional<std::vector<float>> ConstantFloats(const InferInput& in, std::size_t index) {
  RequireType(in, index, {DType::kF32});
  if (index >= in.constants.size() || in.constants[index] == nullptr) return std::nullopt;
  const auto values = in.constants[index]->Values<float>();
  if (values.empty()) return std::nullopt;
  return std::vector<float>(values.begin(), values.end());
}

std::string PolicyOf(const Node& node) {
  return WordOf(node, "keep_aspect_ratio_policy", "stretch",
                {"stretch", "not_larger", "not_smaller"});
}

/// Returns the axes that roi, scales and sizes list, in their order.
std::vector<std::size_t> AxesOf(const Node& node, std::size_t rank) {
  std::vector<std::size_t> axes;
  const auto given = AttrOr(node, "axes", std::vector<std::int64_t>{});
  if (given.empty()) {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  (void)NormalAxes(node, given, rank);  // rejects an axis that is given twice
  for (const std::int64_t axis : given) axes.push_back(NormalAxis(node, axis, rank));
  return axes;
}

/// Returns the one scale of all listed axes if the node keeps the aspect ratio; nullopt if it does
/// not, or if a size of `x` is open.
std::optional<double> CommonScale(const Node& node, const std::vector<std::size_t>& axes,
                                  const Shape& x, std::span<const std::int64_t> sizes) {
  const std::string policy = PolicyOf(node);
  if (policy == "stretch") return std::nullopt;
  std::optional<double> scale;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& dim = x[axes[i]];
    if (!dim.known()) return std::nullopt;
    if (dim.size() == 0) RejectNode(node, "cannot keep the aspect ratio of " + ToString(x));
    const double ratio = static_cast<double>(sizes[i]) / static_cast<double>(dim.size());
    const bool better = policy == "not_larger" ? ratio < scale : ratio > scale;
    if (!scale || better) scale = ratio;
  }
  return scale;
}

/// Returns the size of an axis that is resized by a scale of the node.
Dim Scaled(const Node& node, const Dim& dim, float scale) {
  // The negated comparison also rejects NaN.
  if (!(scale > 0.0F) || std::isinf(scale)) RejectNode(node, "scales must be positive");
  const float grown = std::floor(static_cast<float>(dim.size()) * scale);
  if (grown >= static_cast<float>(kMaxExtent)) RejectNode(node, "its output would be too large");
  // A symbolic size survives a scale of 1; an unknown one is -1 and gives no output size.
  if (scale == 1.0F) return dim;
  return dim.known() ? Dim(static_cast<std::int64_t>(grown)) : Dim();
}

/// Sets the sizes of the listed axes of `y`.
void ApplySizes(const Node& node, const std::vector<std::size_t>& axes,
                std::span<const std::int64_t> sizes, const Shape& x, Shape& y) {
  for (const std::int64_t size : sizes) {
    if (size < 0 || size >= kMaxExtent) RejectNode(node, "a size is out of range");
  }
  const std::optional<double> scale = CommonScale(node, axes, x, sizes);
  const bool stretches = PolicyOf(node) == "stretch";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = y[axes[i]];
    if (stretches) {
      dim = sizes[i];
    } else if (!scale) {
      dim = Dim();
    } else {
      const double grown = std::floor(*scale * static_cast<double>(dim.size()) + 0.5);
      if (grown >= static_cast<double>(kMaxExtent)) {
        RejectNode(node, "its output would be too large");
      }
      dim = static_cast<std::int64_t>(grown);
    }
  }
}

std::vector<ValueType> InferResize(const InferInput& in) {
  const Node& node = *in.node;
  const std::string mode = WordOf(node, "mode", "nearest", {"nearest", "linear", "cubic"});
  WordOf(node, "nearest_mode", "round_prefer_floor",
         {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  WordOf(node, "coordinate_transformation_mode", "half_pixel",
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
          "tf_crop_and_resize"});
  (void)PolicyOf(node);
  if (mode == "nearest" && AttrOr(node, "antialias", std::int64_t{0}) != 0) {
    RejectNode(node, "antialias does not go with mode 'nearest'");
  }
  RequireType(in, kSizes, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const auto scales = ConstantFloats(in, kScales);
  const auto sizes = ConstantInts(in, kSizes);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  const std::vector<std::size_t> axes = AxesOf(node, x->size());
  Shape y = *x;
  if (scales && scales->size() == axes.size()) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      y[axes[i]] = Scaled(node, y[axes[i]], (*scales)[i]);
    }
  } else if (sizes && sizes->size() == axes.size()) {
    ApplySizes(node, axes, *sizes, *x, y);
  } else if (scales || (sizes && !sizes->empty())) {
    RejectNode(node, "needs one scale or size an axis of " + ToString(*x));
  } else {
    for (const std::size_t axis : axes) y[axis] = Dim();
  }
  return OneOutput(TypeOf(in, 0), std::move(y));
}

struct AxisMap {
  std::int64_t in = 0;
  std::int64_t out = 0;
  double scale = 1.0;
  double roi_start = 0.0;
  double roi_end = 1.0;
};

double SourcePosition(const std::string& mode, const AxisMap& axis, std::int64_t at) {
  const auto x = static_cast<double>(at);
  const auto in = static_cast<double>(axis.in);
  const auto out = static_cast<double>(axis.out);
  if (mode == "asymmetric") return x / axis.scale;
  // An output of one entry has no second corner: dividing by out - 1 would be 0 / 0.
  if (mode == "align_corners") return axis.out == 1 ? 0.0 : x * (in - 1.0) / (out - 1.0);
  if (mode == "tf_crop_and_resize") {
    if (axis.out == 1) return 0.5 * (axis.roi_start + axis.roi_end) * (in - 1.0);
    return axis.roi_start * (in - 1.0) +
           x * (axis.roi_end - axis.roi_start) * (in - 1.0) / (out - 1.0);
  }
  if (mode == "pytorch_half_pixel" && axis.out == 1) return 0.0;
  if (mode == "half_pixel_symmetric") {
    // The size that the scale gives, before rounding, has its center at the input's center.
    const double exact = axis.scale * in;
    return in / 2.0 * (1.0 - out / exact) + (x + 0.5) / axis.scale - 0.5;
  }
  // Coordinates are those of the centers of the entries, 0.5 behind their beginnings.
  return (x + 0.5) / axis.scale - 0.5;
}

double RoundAs(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  // A tie, x.5, rounds up by floor(x + 0.5) and down by ceil(x - 0.5).
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

/// Input elements that an output position reads; as ResizeTaps, of any number.
struct Taps {
  std::vector<std::int64_t> index;
  std::vector<double> weight;
  bool outside = false;
};

class Resampler {
 public:
  explicit Resampler(const Node& node)
      : mode_(AttrOr(node, "mode", std::string("nearest"))),
        nearest_(AttrOr(node, "nearest_mode", std::string("round_prefer_floor"))),
        place_(AttrOr(node, "coordinate_transformation_mode", std::string("half_pixel"))),
        a_(static_cast<double>(AttrOr(node, "cubic_coeff_a", -0.75F))),
        excludes_(AttrOr(node, "exclude_outside", std::int64_t{0}) != 0),
        antialias_(AttrOr(node, "antialias", std::int64_t{0}) != 0) {}

  [[nodiscard]] bool crops() const { return place_ == "tf_crop_and_resize"; }

  [[nodiscard]] Taps TapsOf(const AxisMap& axis, std::int64_t at) const {
    const double x = SourcePosition(place_, axis, at);
    Taps taps;
    // The negated comparison also holds for NaN. What is outside is not read: its position comes
    // from a tensor, and may be too large for an index.
    if (crops() && !(x >= 0.0 && x <= static_cast<double>(axis.in - 1))) {
      return {.index = {0}, .weight = {0.0}, .outside = true};
    }
    const auto clamp = [&](double index) {
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(index), 0, axis.in - 1);
    };
    if (mode_ == "nearest") return {.index = {clamp(RoundAs(nearest_, x))}, .weight = {1.0}};
    // Linear reads the entries around x, cubic one more on both sides.
    const double radius = mode_ == "linear" ? 1.0 : 2.0;
    const double shrink = antialias_ ? std::min(axis.scale, 1.0) : 1.0;
    double first = std::floor(x) - radius + 1.0;
    double last = std::floor(x) + radius;
    if (antialias_) {
      // The filter is as much wider as the output is smaller.
      first = std::floor(x - radius / shrink);
      last = std::ceil(x + radius / shrink);
    }
    double sum = 0.0;
    const auto count = static_cast<std::int64_t>(last - first) + 1;
    for (std::int64_t i = 0; i < count; ++i) {
      const double index = first + static_cast<double>(i);
      const bool inside = index >= 0.0 && index < static_cast<double>(axis.in);
      const double distance = std::abs(x - index) * shrink;
      double weight = mode_ == "linear" ? std::max(1.0 - distance, 0.0) : CubicWeight(a_, distance);
      if (excludes_ && !inside) weight = 0.0;
      // Resize-13 repeats the border entry outside, unless exclude_outside makes its weight 0.
      taps.index.push_back(clamp(index));
      taps.weight.push_back(weight);
      sum += weight;
    }
    // The weights that remain are scaled to the sum 1.
    if ((excludes_ || antialias_) && sum != 0.0) {
      for (double& weight : taps.weight) weight /= sum;
    }
    return taps;
  }

 private:
  std::string mode_;
  std::string nearest_;
  std::string place_;
  double a_;
  bool excludes_;
  bool antialias_;
};

/// Intermediate result of a resize.
struct Field {
  std::vector<double> values;
  std::vector<bool> outside;  ///< empty if no element is outside
};

/// Resamples one axis of a dense tensor; `outer` and `inner` are the element counts of the axes
/// before and behind it.
Field ResampleAxis(const Resampler& resampler, const AxisMap& axis, const Field& from,
                   std::size_t outer, std::size_t inner) {
  const auto in = static_cast<std::size_t>(axis.in);
  const auto out = static_cast<std::size_t>(axis.out);
  Field to;
  to.values.resize(outer * out * inner);
  if (resampler.crops()) to.outside.resize(to.values.size());
  for (std::size_t at = 0; at < out; ++at) {
    const Taps taps = resampler.TapsOf(axis, static_cast<std::int64_t>(at));
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        double sum = 0.0;
        bool outside = taps.outside;
        for (std::size_t t = 0; t < taps.index.size(); ++t) {
          const std::size_t source = (o * in + static_cast<std::size_t>(taps.index[t])) * inner + i;
          sum += taps.weight[t] * from.values[source];
          // An output is outside if its position is outside along any axis.
          outside = outside || (!from.outside.empty() && from.outside[source]);
        }
        const std::size_t target = (o * out + at) * inner + i;
        to.values[target] = sum;
        if (resampler.crops()) to.outside[target] = outside;
      }
    }
  }
  return to;
}

/// Returns how each axis is resized; nothing for the axes that the node does not list.
std::vector<std::optional<AxisMap>> AxisMapsOf(const Node& node, EvalInputs inputs,
                                               const Dims& out) {
  const Dims& in = inputs[0]->dims();
  const Tensor* scales = InputAt(inputs, kScales);
  const Tensor* sizes = InputAt(inputs, kSizes);
  const Tensor* roi = InputAt(inputs, kRoi);
  const std::vector<std::size_t> axes = AxesOf(node, in.size());
  const auto listed = static_cast<std::int64_t>(axes.size());
  const bool scaled = scales != nullptr && scales->size() == listed;
  std::optional<double> common;
  if (!scaled && sizes != nullptr && sizes->size() == listed) {
    common = CommonScale(node, axes, ToShape(in), sizes->Values<std::int64_t>());
  }
  std::vector<std::optional<AxisMap>> maps(in.size());
  for (std::int64_t i = 0; i < listed; ++i) {
    const std::size_t axis = axes[static_cast<std::size_t>(i)];
    AxisMap map{.in = in[axis], .out = out[axis]};
    map.scale = static_cast<double>(map.out) / static_cast<double>(map.in);
    // Resize-13 uses the given scale, not out / in, which the rounding of `out` has changed.
    if (scaled) map.scale = NumberAt(*scales, i);
    if (common) map.scale = *common;
    if (roi != nullptr && roi->size() == 2 * listed) {
      map.roi_start = NumberAt(*roi, i);
      map.roi_end = NumberAt(*roi, listed + i);
    }
    maps[axis] = map;
  }
  return maps;
}

std::vector<Tensor> EvalResize(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferResize, node, inputs);
  const Tensor& x = *inputs[0];
  Tensor& y = outputs[0];
  if (y.size() == 0) return outputs;
  if (x.size() == 0) RejectNode(node, "cannot resize the empty tensor " + ToString(x.dims()));
  const Resampler resampler(node);
  // The axes are resampled one after another: the weight of an input is the product of its weights
  // along the axes. Values stay in double and round once, at the end.
  Field field;
  for (std::int64_t i = 0; i < x.size(); ++i) field.values.push_back(NumberAt(x, i));
  std::size_t outer = 1;
  const auto maps = AxisMapsOf(node, inputs, y.dims());
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::optional<AxisMap>& axis = maps[i];
    // Only a crop moves the entries of an axis that keeps its size at scale 1.
    if (axis && (axis->in != axis->out || axis->scale != 1.0 || resampler.crops())) {
      const std::size_t inner = field.values.size() / (outer * static_cast<std::size_t>(axis->in));
      field = ResampleAxis(resampler, *axis, field, outer, inner);
    }
    outer *= static_cast<std::size_t>(y.dims()[i]);
  }
  const auto beyond = static_cast<double>(AttrOr(node, "extrapolation_value", 0.0F));
  WithNumber(node, x.dtype(), [&]<class T>() {
    const auto to = y.template MutableValues<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = static_cast<T>(!field.outside.empty() && field.outside[i] ? beyond : field.values[i]);
    }
  });
  return outputs;
}

}  // namespace

bool IsPlainResize(const Node& node) {
  return AttrOr(node, "antialias", std::int64_t{0}) == 0 &&
         AttrOr(node, "axes", std::vector<std::int64_t>{}).empty() &&
         AttrOr(node, "keep_aspect_ratio_policy", std::string("stretch")) == "stretch";
}

double CubicWeight(double a, double distance) {
  const double d = std::abs(distance);
  if (d <= 1.0) return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
  if (d < 2.0) return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
  return 0.0;
}

std::vector<ResizeTaps> ResizeTapsOf(const Node& node, std::int64_t in, std::int64_t out,
                                     double scale) {
  const Resampler resampler(node);
  Check(!resampler.crops() && IsPlainResize(node), "a Resize has few taps, all inside");
  const AxisMap axis{.in = in, .out = out, .scale = scale};
  std::vector<ResizeTaps> taps;
  for (std::int64_t at = 0; at < out; ++at) {
    const Taps made = resampler.TapsOf(axis, at);
    ResizeTaps& kept = taps.emplace_back();
    kept.count = made.index.size();
    std::copy(made.index.begin(), made.index.end(), kept.index.begin());
    std::copy(made.weight.begin(), made.weight.end(), kept.weight.begin());
  }
  return taps;
}

void RegisterResizeOps(OpRegistry& ops) {
  ops.Add(
      {.name = "Resize",
       .inputs = {1, 4},
       .attrs = {{.name = "antialias", .otherwise = std::int64_t{0}},
                 {.name = "axes", .otherwise = std::vector<std::int64_t>{}},
                 {.name = "coordinate_transformation_mode", .otherwise = std::string("half_pixel")},
                 {.name = "cubic_coeff_a", .otherwise = -0.75F},
                 {.name = "exclude_outside", .otherwise = std::int64_t{0}},
                 {.name = "extrapolation_value", .otherwise = 0.0F},
                 {.name = "keep_aspect_ratio_policy", .otherwise = std::string("stretch")},
                 {.name = "mode", .otherwise = std::string("nearest")},
                 {.name = "nearest_mode", .otherwise = std::string("round_prefer_floor")}},
       .infer = InferResize,
       .eval = ViaF32(EvalResize),
       .flops = [](const Node& node, std::span<const ValueType> /*in*/,
                   std::span<const ValueType> out) {
         const std::string mode = AttrOr(node, "mode", std::string("nearest"));
         // Images are resized along two axes: 2 * 2 or 4 * 4 taps, each with a product and a sum.
         const double taps = mode == "nearest" ? 0.0 : mode == "linear" ? 8.0 : 32.0;
         return taps * ElementsOf(out[0]);
       }});
}

}  // namespace msc
