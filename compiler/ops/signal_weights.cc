#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/eval.h"
#include "compiler/ops/register.h"

// Weights for signals and their spectra. They compute in f64 and round once. Source: ONNX operator
// pages BlackmanWindow-17, HammingWindow-17, HannWindow-17, MelWeightMatrix-17.

namespace msc {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;

DType OutputType(const Node& node) {
  const std::int64_t code = AttrOr(node, "output_datatype", std::int64_t{1});
  if (code > 0 && code <= static_cast<std::int64_t>(DType::kBF16)) {
    const auto dtype = static_cast<DType>(code);
    if (IsFloat(dtype) || IsInteger(dtype)) return dtype;
  }
  RejectNode(node, "attribute 'output_datatype' cannot be " + std::to_string(code));
}

/// Returns the size that a constant input gives; unknown if it is not constant.
Dim SizeOf(const InferInput& in, std::size_t index, std::int64_t least) {
  RequireType(in, index, {DType::kI32, DType::kI64});
  const auto size = ConstantInt(in, index);
  if (!size) return {};
  if (*size < least || *size > kMaxElements) {
    RejectNode(*in.node, "input " + std::to_string(index) + " cannot be " + std::to_string(*size));
  }
  return *size;
}

/// Returns a tensor of the type and shape of `like` of weight(i) for every element, each of 0 to 1.
template <class Weight>
Tensor Filled(const Node& node, Tensor like, const Weight& weight) {
  const DType dtype = like.dtype();
  const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
  Tensor y = narrow ? Tensor(DType::kF32, like.dims()) : std::move(like);
  WithNumber(node, y.dtype(), [&]<class T>() {
    const auto to = y.MutableValues<T>();
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = static_cast<T>(weight(static_cast<std::int64_t>(i)));
    }
  });
  return narrow ? FromF32(y, dtype) : y;
}

/// A sum of cosines: mean - first * cos(x) + second * cos(2 x).
struct Cosines {
  double mean = 0.0;
  double first = 0.0;
  double second = 0.0;
};

Cosines CosinesOf(const Node& node) {
  if (node.Is("HannWindow")) return {.mean = 0.5, .first = 0.5};
  // ONNX has the exact fractions, where others have 0.54 and 0.46.
  if (node.Is("HammingWindow")) return {.mean = 25.0 / 46.0, .first = 21.0 / 46.0};
  return {.mean = 0.42, .first = 0.5, .second = 0.08};
}

std::vector<ValueType> InferWindow(const InferInput& in) {
  const DType dtype = OutputType(*in.node);
  return OneOutput(dtype, Shape{SizeOf(in, 0, 0)});
}

std::vector<Tensor> EvalWindow(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferWindow, node, inputs);
  const Cosines cosines = CosinesOf(node);
  const bool periodic = AttrOr(node, "periodic", std::int64_t{1}) != 0;
  const std::int64_t turns = outputs[0].size() - (periodic ? 0 : 1);
  outputs[0] = Filled(node, std::move(outputs[0]), [&](std::int64_t i) {
    // A symmetric window of one point is its middle, as in NumPy; the formula would give 0 / 0.
    if (turns == 0) return 1.0;
    const double x = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(turns);
    return cosines.mean - cosines.first * std::cos(x) + cosines.second * std::cos(2.0 * x);
  });
  return outputs;
}

// MelWeightMatrix (bins, DFT length, sample rate, lowest Hz, highest Hz) -> [length / 2 + 1, bins]

enum MelInput : std::size_t { kBins, kLength, kRate, kLowest, kHighest };

std::vector<ValueType> InferMel(const InferInput& in) {
  const Node& node = *in.node;
  const DType dtype = OutputType(node);
  const Dim bins = SizeOf(in, kBins, 0);
  const Dim length = SizeOf(in, kLength, 1);
  (void)SizeOf(in, kRate, 1);
  for (const std::size_t i : {kLowest, kHighest}) {
    RequireType(in, i, {DType::kF32, DType::kF64, DType::kF16, DType::kBF16});
  }
  const Shape y = {length.known() ? Dim(length.size() / 2 + 1) : Dim(), bins};
  (void)ProductOf(node, y, 0, 2);
  return OneOutput(dtype, y);
}

double FrequencyAt(const Node& node, const Tensor& tensor) {
  if (tensor.size() != 1) RejectNode(node, "the lowest and highest frequency must be numbers");
  const double frequency = NumberAt(tensor, 0);
  if (!(frequency >= 0.0 && std::isfinite(frequency))) {
    RejectNode(node, "cannot take a frequency of " + std::to_string(frequency));
  }
  return frequency;
}

double MelOf(double frequency) {
  return 2595.0 * std::log1p(frequency / 700.0) / std::numbers::ln10;
}

/// The rows of the edges between triangles, which are equally far on the mel scale.
class MelEdges {
 public:
  MelEdges(const Node& node, EvalInputs inputs)
      : lowest_(MelOf(FrequencyAt(node, *inputs[kLowest]))),
        length_(NumberAt(*inputs[kLength], 0)),
        rate_(NumberAt(*inputs[kRate], 0)) {
    const double highest = MelOf(FrequencyAt(node, *inputs[kHighest]));
    if (highest < lowest_) RejectNode(node, "the highest frequency is below the lowest");
    // ONNX divides by the number of edges, not by that of the steps between them.
    step_ = (highest - lowest_) / (NumberAt(*inputs[kBins], 0) + 2.0);
  }

  [[nodiscard]] double At(std::int64_t edge) const {
    const double mel = lowest_ + static_cast<double>(edge) * step_;
    const double frequency = 700.0 * std::expm1(mel / 2595.0 * std::numbers::ln10);
    const double scaled = (length_ + 1.0) * frequency;
    // Rounds down exactly: the quotient alone may be rounded up to a whole number.
    return std::round((scaled - std::fmod(scaled, rate_)) / rate_);
  }

 private:
  double lowest_;
  double length_;
  double rate_;
  double step_ = 0.0;
};

std::vector<Tensor> EvalMel(const Node& node, EvalInputs inputs) {
  std::vector<Tensor> outputs = NewOutputs(InferMel, node, inputs);
  const MelEdges edges(node, inputs);
  const auto rows = static_cast<double>(outputs[0].dims()[0]);
  const std::int64_t bins = outputs[0].dims()[1];
  if (bins > 0 && !(edges.At(bins) < rows && edges.At(bins + 1) <= rows)) {
    RejectNode(node, "the highest frequency is beyond the spectrum");
  }
  outputs[0] = Filled(node, std::move(outputs[0]), [&](std::int64_t i) {
    const std::int64_t bin = i % bins;
    const std::int64_t index = i / bins;
    const auto row = static_cast<double>(index);
    const double middle = edges.At(bin + 1);
    if (row == middle) return 1.0;
    // A triangle rises from the edge before its middle and falls to the edge behind it.
    const double foot = edges.At(row < middle ? bin : bin + 2);
    return foot == middle ? 0.0 : std::fmax((row - foot) / (middle - foot), 0.0);
  });
  return outputs;
}

}  // namespace

void RegisterSignalWeightOps(OpRegistry& ops) {
  const AttrSpec dtype{.name = "output_datatype", .otherwise = std::int64_t{1}};
  for (const char* name : {"HannWindow", "HammingWindow", "BlackmanWindow"}) {
    ops.Add({.name = name,
             .inputs = {1, 1},
             .attrs = {dtype, {.name = "periodic", .otherwise = std::int64_t{1}}},
             .infer = InferWindow,
             .eval = EvalWindow});
  }
  ops.Add({.name = "MelWeightMatrix",
           .inputs = {5, 5},
           .attrs = {dtype},
           .infer = InferMel,
           .eval = EvalMel});
}

}  // namespace msc
