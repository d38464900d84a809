#include "compiler/ops/resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Source: ONNX operator page Resize-13.

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

std::vector<ValueType> InferResize(const InferInput& in) {
  const Node& node = *in.node;
  WordOf(node, "mode", "nearest", {"nearest", "linear", "cubic"});
  WordOf(node, "nearest_mode", "round_prefer_floor",
         {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  WordOf(node, "coordinate_transformation_mode", "half_pixel",
         {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"});
  RequireType(in, kSizes, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  const auto scales = ConstantFloats(in, kScales);
  const auto sizes = ConstantInts(in, kSizes);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  Shape y(x->size());
  if (scales && scales->size() == x->size()) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const float scale = (*scales)[i];
      // The negated comparison also rejects NaN.
      if (!(scale > 0.0F) || std::isinf(scale)) RejectNode(node, "scales must be positive");
      const std::int64_t size = (*x)[i].size();
      const float grown = std::floor(static_cast<float>(size) * scale);
      if (grown >= static_cast<float>(kMaxExtent))
        RejectNode(node, "its output would be too large");
      // A symbolic size survives a scale of 1; an unknown `size` is -1 and gives no output size.
      if (scale == 1.0F) {
        y[i] = (*x)[i];
      } else if (size >= 0) {
        y[i] = static_cast<std::int64_t>(grown);
      }
    }
  } else if (sizes && sizes->size() == x->size()) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      if ((*sizes)[i] < 0 || (*sizes)[i] >= kMaxExtent) RejectNode(node, "a size is out of range");
      y[i] = (*sizes)[i];
    }
  } else if (scales || (sizes && !sizes->empty())) {
    RejectNode(node, "needs one scale or size an axis of " + ToString(*x));
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
  // Coordinates are those of the centers of the entries, 0.5 behind their beginnings.
  return (x + 0.5) / axis.scale - 0.5;
}

double RoundAs(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  // A tie, x.5, rounds up by floor(x + 0.5) and down by ceil(x - 0.5).
  return mode == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

/// Returns the cubic convolution kernel of Keys (1981) with parameter `a`.
double Cubic(double a, double distance) {
  const double d = std::abs(distance);
  if (d <= 1.0) return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
  if (d < 2.0) return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
  return 0.0;
}

class Resampler {
 public:
  explicit Resampler(const Node& node)
      : mode_(AttrOr(node, "mode", std::string("nearest"))),
        nearest_(AttrOr(node, "nearest_mode", std::string("round_prefer_floor"))),
        place_(AttrOr(node, "coordinate_transformation_mode", std::string("half_pixel"))),
        a_(static_cast<double>(AttrOr(node, "cubic_coeff_a", -0.75F))),
        excludes_(AttrOr(node, "exclude_outside", std::int64_t{0}) != 0) {}

  [[nodiscard]] bool crops() const { return place_ == "tf_crop_and_resize"; }

  [[nodiscard]] ResizeTaps TapsOf(const AxisMap& axis, std::int64_t at) const {
    const double x = SourcePosition(place_, axis, at);
    ResizeTaps taps;
    taps.outside = crops() && (x < 0.0 || x > static_cast<double>(axis.in - 1));
    const auto clamp = [&](double index) {
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(index), 0, axis.in - 1);
    };
    if (mode_ == "nearest") {
      taps.index[0] = clamp(RoundAs(nearest_, x));
      taps.weight[0] = 1.0;
      taps.count = 1;
      return taps;
    }
    const double base = std::floor(x);
    // Linear reads the entries around x, cubic one more on both sides.
    const int first = mode_ == "linear" ? 0 : -1;
    taps.count = mode_ == "linear" ? 2 : 4;
    double sum = 0.0;
    for (std::size_t i = 0; i < taps.count; ++i) {
      const double index = base + first + static_cast<double>(i);
      const bool inside = index >= 0.0 && index < static_cast<double>(axis.in);
      // Resize-13 repeats the border entry outside, unless exclude_outside makes its weight 0.
      taps.index[i] = clamp(index);
      taps.weight[i] = mode_ == "linear" ? 1.0 - std::abs(x - index) : Cubic(a_, x - index);
      if (excludes_ && !inside) taps.weight[i] = 0.0;
      sum += taps.weight[i];
    }
    // Resize-13: the weights that remain are scaled to the sum 1.
    if (excludes_ && sum != 0.0) {
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
    const ResizeTaps taps = resampler.TapsOf(axis, static_cast<std::int64_t>(at));
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        double sum = 0.0;
        bool outside = taps.outside;
        for (std::size_t t = 0; t < taps.count; ++t) {
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

std::vector<Tensor> EvalResize(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferResize, node, inputs);
  const Tensor& x = *inputs[0];
  Tensor& y = outputs[0];
  if (y.size() == 0) return outputs;
  if (x.size() == 0) RejectNode(node, "cannot resize the empty tensor " + ToString(x.dims()));
  const Resampler resampler(node);
  const Tensor* scales = InputAt(inputs, kScales);
  const Tensor* roi = InputAt(inputs, kRoi);
  const auto rank = static_cast<std::int64_t>(x.dims().size());
  // The axes are resampled one after another: the weight of an input is the product of its weights
  // along the axes. Values stay in double and round once, at the end.
  Field field;
  for (std::int64_t i = 0; i < x.size(); ++i) field.values.push_back(NumberAt(x, i));
  std::size_t outer = 1;
  for (std::int64_t i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(i);
    AxisMap axis{.in = x.dims()[at], .out = y.dims()[at]};
    axis.scale = static_cast<double>(axis.out) / static_cast<double>(axis.in);
    // Resize-13 uses the given scale, not out / in, which the rounding of `out` has changed.
    if (scales != nullptr && scales->size() == rank) axis.scale = NumberAt(*scales, i);
    if (roi != nullptr && roi->size() == 2 * rank) {
      axis.roi_start = NumberAt(*roi, i);
      axis.roi_end = NumberAt(*roi, rank + i);
    }
    // Only a crop moves the entries of an axis that keeps its size at scale 1.
    if (axis.in != axis.out || axis.scale != 1.0 || resampler.crops()) {
      const std::size_t inner = field.values.size() / (outer * static_cast<std::size_t>(axis.in));
      field = ResampleAxis(resampler, axis, field, outer, inner);
    }
    outer *= static_cast<std::size_t>(axis.out);
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

std::vector<ResizeTaps> ResizeTapsOf(const Node& node, std::int64_t in, std::int64_t out,
                                     double scale) {
  const Resampler resampler(node);
  Check(!resampler.crops(), "a crop has taps outside");
  const AxisMap axis{.in = in, .out = out, .scale = scale};
  std::vector<ResizeTaps> taps;
  for (std::int64_t at = 0; at < out; ++at) taps.push_back(resampler.TapsOf(axis, at));
  return taps;
}

void RegisterResizeOps(OpRegistry& ops) {
  ops.Add(
      {.name = "Resize",
       .inputs = {1, 4},
       .attrs = {{.name = "coordinate_transformation_mode", .otherwise = std::string("half_pixel")},
                 {.name = "cubic_coeff_a", .otherwise = -0.75F},
                 {.name = "exclude_outside", .otherwise = std::int64_t{0}},
                 {.name = "extrapolation_value", .otherwise = 0.0F},
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
