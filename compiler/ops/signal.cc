#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Discrete Fourier transforms. They compute in f64 and round once. Source: ONNX operator pages
// DFT-17, DFT-20, STFT-17.
//
// A signal has a last axis more, of 1 (real) or 2 (real and imaginary part).

namespace msc {
namespace {

using Complex = std::complex<double>;
using Signal = std::vector<Complex>;

/// A transform needs some tens of bytes for each point, beyond its tensors.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 24;

void CheckLength(const Node& node, std::int64_t length) {
  if (length >= 1 && length <= kMaxLength) return;
  RejectNode(node, "cannot transform a signal of " + std::to_string(length) + " points");
}

/// The discrete Fourier transform of one length.
class Transform {
 public:
  Transform(std::int64_t length, bool inverse) : roots_(static_cast<std::size_t>(length)) {
    const double turn = (inverse ? 2.0 : -2.0) * std::numbers::pi / static_cast<double>(length);
    for (std::size_t k = 0; k < roots_.size(); ++k) {
      roots_[k] = std::polar(1.0, turn * static_cast<double>(k));
    }
  }

  /// Returns sum(x[n] * root^(k n)) for every k. The inverse does not divide by the length.
  [[nodiscard]] Signal operator()(const Signal& x) const {
    Signal y(roots_.size());
    Signal column(roots_.size());
    Run(x, {.offset = 0, .stride = 1, .count = x.size()}, y, 0, column);
    return y;
  }

 private:
  /// Every `stride`-th point of a signal.
  struct Part {
    std::size_t offset = 0;
    std::size_t stride = 1;
    std::size_t count = 0;
  };

  static std::size_t LeastFactor(std::size_t count) {
    for (std::size_t factor = 2; factor * factor <= count; ++factor) {
      if (count % factor == 0) return factor;
    }
    return count;
  }

  /// Transforms a part of `x` into `y` from `at` on, as Cooley and Tukey do: splits it by its least
  /// prime factor, transforms those parts, and combines them. `column` has room for a factor.
  // NOLINTNEXTLINE(misc-no-recursion): each call has half of the points, or fewer
  void Run(const Signal& x, const Part& part, Signal& y, std::size_t at, Signal& column) const {
    if (part.count == 1) {
      y[at] = x[part.offset];
      return;
    }
    const std::size_t factor = LeastFactor(part.count);
    const std::size_t each = part.count / factor;
    for (std::size_t i = 0; i < factor; ++i) {
      const Part inner{
          .offset = part.offset + i * part.stride, .stride = part.stride * factor, .count = each};
      Run(x, inner, y, at + i * each, column);
    }
    for (std::size_t k = 0; k < each; ++k) {
      for (std::size_t i = 0; i < factor; ++i) column[i] = y[at + i * each + k];
      for (std::size_t q = 0; q < factor; ++q) {
        // The root of a part is the stride-th power of that of the whole.
        const std::size_t step = (k + q * each) * part.stride % roots_.size();
        Complex sum = 0.0;
        std::size_t power = 0;
        for (std::size_t i = 0; i < factor; ++i) {
          sum += column[i] * roots_[power];
          power += step;
          if (power >= roots_.size()) power -= roots_.size();
        }
        y[at + k + q * each] = sum;
      }
    }
  }

  Signal roots_;
};

/// Counts 5 n log2(n) flops for n points along an axis of the output.
double TransformFlops(const ValueType& out, std::size_t axis) {
  const auto dims = out.shape ? StaticDims(*out.shape) : std::nullopt;
  if (!dims) return 0.0;
  const auto points = static_cast<double>((*dims)[axis]);
  return points < 2.0 ? 0.0 : 2.5 * ElementsOf(out) * std::log2(points);
}

bool IsSet(const Node& node, const char* attr, std::int64_t otherwise) {
  return AttrOr(node, attr, otherwise) != 0;
}

/// Rejects a signal whose last axis is neither 1 nor 2, or not `wanted` if that is not 0.
void CheckParts(const Node& node, const Shape& x, std::int64_t wanted) {
  const Dim& parts = x.back();
  if (!parts.known()) return;
  const std::int64_t size = parts.size();
  if (size < 1 || size > 2) RejectNode(node, "the last axis of " + ToString(x) + " must be 1 or 2");
  if (wanted != 0 && size != wanted) {
    RejectNode(node, "needs a signal of " + std::string(wanted == 1 ? "real" : "complex") +
                         " numbers if onesided is 1");
  }
}

void RequireFloat(const InferInput& in, std::size_t index) {
  RequireType(in, index, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
}

// DFT (signal, length?, axis?). The importer makes a constant axis the attribute of DFT-17; DFT-20
// has the input alone, and another default.

/// Returns the axis of the transform; nothing if it is an input that is not constant.
std::optional<std::size_t> SignalAxis(const InferInput& in, std::size_t rank) {
  const Node& node = *in.node;
  std::int64_t given = AttrOr(node, "axis", std::int64_t{1});
  if (HasInput(in, 2)) {
    const auto constant = ConstantInt(in, 2);
    if (!constant) return std::nullopt;
    given = *constant;
  }
  const std::size_t axis = NormalAxis(node, given, rank);
  if (axis + 1 == rank) RejectNode(node, "the last axis holds the parts of a number");
  return axis;
}

/// Returns the number of points of a transform.
Dim LengthOf(const InferInput& in, const Dim& size) {
  const Node& node = *in.node;
  Dim length = size;
  if (HasInput(in, 1)) {
    const auto given = ConstantInt(in, 1);
    if (given) CheckLength(node, *given);
    length = given ? Dim(*given) : Dim();
  } else if (IsSet(node, "inverse", 0) && IsSet(node, "onesided", 0)) {
    length = size.known() ? Dim(std::max<std::int64_t>(2 * (size.size() - 1), 0)) : Dim();
  }
  if (length.known()) CheckLength(node, length.size());
  return length;
}

std::vector<ValueType> InferDft(const InferInput& in) {
  const Node& node = *in.node;
  RequireFloat(in, 0);
  RequireType(in, 1, {DType::kI32, DType::kI64});
  RequireType(in, 2, {DType::kI64});
  const Shape* x = ShapeOf(in, 0);
  if (x == nullptr) return OneOutput(TypeOf(in, 0), std::nullopt);
  RequireRank(in, 0, 2);
  const bool inverse = IsSet(node, "inverse", 0);
  const bool onesided = IsSet(node, "onesided", 0);
  CheckParts(node, *x, !onesided ? 0 : inverse ? 2 : 1);
  const auto axis = SignalAxis(in, x->size());
  Shape y = axis ? *x : Shape(x->size());
  if (axis) {
    const Dim length = LengthOf(in, (*x)[*axis]);
    y[*axis] = length;
    if (onesided && !inverse) y[*axis] = length.known() ? Dim(length.size() / 2 + 1) : Dim();
  }
  y.back() = onesided && inverse ? 1 : 2;
  return OneOutput(TypeOf(in, 0), std::move(y));
}

/// Fills in the other half of a spectrum, which mirrors this one if the signal is real.
void Mirror(Signal& spectrum) {
  const std::size_t length = spectrum.size();
  for (std::size_t k = 0; k <= length / 2; ++k) {
    const std::size_t mirrored = (length - k) % length;
    if (mirrored == k) {
      spectrum[k] = spectrum[k].real();
    } else {
      spectrum[mirrored] = std::conj(spectrum[k]);
    }
  }
}

std::vector<Tensor> EvalDft(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferDft, node, inputs);
  const Dims& x_dims = inputs[0]->dims();
  const Dims& y_dims = outputs[0].dims();
  const InferInput in = InferInputOf(node, inputs);
  const std::size_t axis = *SignalAxis(in, x_dims.size());
  const bool inverse = IsSet(node, "inverse", 0);
  const bool mirrored = inverse && IsSet(node, "onesided", 0);
  const std::int64_t length = LengthOf(in, Dim(x_dims[axis])).size();
  const std::int64_t kept = std::min(x_dims[axis], mirrored ? length / 2 + 1 : length);
  const std::int64_t parts = x_dims.back();
  const std::int64_t y_parts = y_dims.back();
  const std::int64_t inner = StridesOf(x_dims)[axis] / parts;
  const std::int64_t signals = outputs[0].size() / (y_dims[axis] * y_parts);
  const Transform transform(length, inverse);
  const double scale = inverse ? 1.0 / static_cast<double>(length) : 1.0;
  WithFloat(node, inputs[0]->dtype(), [&]<class T>() {
    const T* x = inputs[0]->Values<T>().data();
    T* y = outputs[0].template MutableValues<T>().data();
    for (std::int64_t i = 0; i < signals; ++i) {
      const std::int64_t outer = i / inner;
      Signal signal(static_cast<std::size_t>(length));
      for (std::int64_t n = 0; n < kept; ++n) {
        const T* at = x + ((outer * x_dims[axis] + n) * inner + i % inner) * parts;
        signal[static_cast<std::size_t>(n)] = {static_cast<double>(at[0]),
                                               parts == 2 ? static_cast<double>(at[1]) : 0.0};
      }
      if (mirrored) Mirror(signal);
      signal = transform(signal);
      for (std::int64_t k = 0; k < y_dims[axis]; ++k) {
        const Complex value = scale * signal[static_cast<std::size_t>(k)];
        T* at = y + ((outer * y_dims[axis] + k) * inner + i % inner) * y_parts;
        at[0] = static_cast<T>(value.real());
        if (y_parts == 2) at[1] = static_cast<T>(value.imag());
      }
    }
  });
  return outputs;
}

double DftFlops(const Node& node, std::span<const ValueType> /*in*/,
                std::span<const ValueType> out) {
  if (!out[0].shape || node.HasInput(2)) return 0.0;
  const std::size_t rank = out[0].shape->size();
  return TransformFlops(out[0], NormalAxis(node, AttrOr(node, "axis", std::int64_t{1}), rank));
}

// STFT (signal [batch, points, parts], step, window?, length?) -> [batch, frames, bins, 2]

enum StftInput : std::size_t { kSignal, kStep, kWindow, kLength };

Dim FrameLength(const InferInput& in, const Shape& signal) {
  const Node& node = *in.node;
  Dim length;
  if (HasInput(in, kLength)) {
    if (const auto given = ConstantInt(in, kLength)) {
      CheckLength(node, *given);
      length = *given;
    }
  } else if (!HasInput(in, kWindow)) {
    length = signal[1];
  }
  if (const Shape* window = ShapeOf(in, kWindow); window != nullptr) {
    if (window->size() != 1) RejectNode(node, "the window must be a list");
    length = MergeDims(node, length, window->front());
  }
  if (length.known()) CheckLength(node, length.size());
  return length;
}

std::vector<ValueType> InferStft(const InferInput& in) {
  const Node& node = *in.node;
  RequireFloat(in, kSignal);
  RequireType(in, kStep, {DType::kI32, DType::kI64});
  RequireType(in, kLength, {DType::kI32, DType::kI64});
  if (HasInput(in, kWindow)) RequireSameType(in, kSignal, kWindow);
  const bool onesided = IsSet(node, "onesided", 1);
  const auto step = ConstantInt(in, kStep);
  if (step && *step < 1) RejectNode(node, "cannot step " + std::to_string(*step) + " points");
  const Shape* x = ShapeOf(in, kSignal);
  if (x == nullptr) return OneOutput(TypeOf(in, kSignal), Shape{Dim(), Dim(), Dim(), Dim(2)});
  if (x->size() != 3) RejectNode(node, "needs a signal of 3 dimensions, not " + ToString(*x));
  CheckParts(node, *x, onesided ? 1 : 0);
  const Dim length = FrameLength(in, *x);
  Dim frames;
  if ((*x)[1].known() && length.known()) {
    const std::int64_t rest = (*x)[1].size() - length.size();
    if (rest < 0) RejectNode(node, "a frame is longer than the signal " + ToString(*x));
    if (step) frames = rest / *step + 1;
  }
  Dim bins = length;
  if (onesided) bins = length.known() ? Dim(length.size() / 2 + 1) : Dim();
  return OneOutput(TypeOf(in, kSignal), Shape{x->front(), frames, bins, 2});
}

std::vector<Tensor> EvalStft(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferStft, node, inputs);
  const InferInput in = InferInputOf(node, inputs);
  const Dims& dims = inputs[kSignal]->dims();
  const Tensor* window = InputAt(inputs, kWindow);
  const std::int64_t length = FrameLength(in, ToShape(dims)).size();
  const std::int64_t step = *ConstantInt(in, kStep);
  const std::int64_t parts = dims[2];
  const std::int64_t frames = outputs[0].dims()[1];
  const std::int64_t bins = outputs[0].dims()[2];
  const Transform transform(length, false);
  WithFloat(node, inputs[kSignal]->dtype(), [&]<class T>() {
    const T* x = inputs[kSignal]->Values<T>().data();
    const T* weights = window == nullptr ? nullptr : window->Values<T>().data();
    T* y = outputs[0].template MutableValues<T>().data();
    for (std::int64_t i = 0; i < dims[0] * frames; ++i) {
      const T* from = x + (i / frames * dims[1] + i % frames * step) * parts;
      Signal frame(static_cast<std::size_t>(length));
      for (std::int64_t n = 0; n < length; ++n) {
        const Complex value = {static_cast<double>(from[n * parts]),
                               parts == 2 ? static_cast<double>(from[n * parts + 1]) : 0.0};
        const double weight = weights == nullptr ? 1.0 : static_cast<double>(weights[n]);
        frame[static_cast<std::size_t>(n)] = weight * value;
      }
      frame = transform(frame);
      for (std::int64_t k = 0; k < bins; ++k) {
        const Complex value = frame[static_cast<std::size_t>(k)];
        T* at = y + (i * bins + k) * 2;
        at[0] = static_cast<T>(value.real());
        at[1] = static_cast<T>(value.imag());
      }
    }
  });
  return outputs;
}

double StftFlops(const Node& /*node*/, std::span<const ValueType> /*in*/,
                 std::span<const ValueType> out) {
  return TransformFlops(out[0], 2);
}

}  // namespace

void RegisterSignalOps(OpRegistry& ops) {
  ops.Add({.name = "DFT",
           .inputs = {1, 3},
           .attrs = {{.name = "axis", .otherwise = std::int64_t{1}},
                     {.name = "inverse", .otherwise = std::int64_t{0}},
                     {.name = "onesided", .otherwise = std::int64_t{0}}},
           .infer = InferDft,
           .eval = ViaF32(EvalDft),
           .flops = DftFlops});
  ops.Add({.name = "STFT",
           .inputs = {2, 4},
           .attrs = {{.name = "onesided", .otherwise = std::int64_t{1}}},
           .infer = InferStft,
           .eval = ViaF32(EvalStft),
           .flops = StftFlops});
}

}  // namespace msc
