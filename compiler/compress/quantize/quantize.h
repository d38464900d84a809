#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// A layer of a canonical graph whose precision can be chosen: a Conv, Gemm or MatMul with constant
/// weights.
struct QuantizableLayer {
  std::string name;  ///< node name
  std::string op;
  std::string input;   ///< name of the activation that it reads
  std::string output;  ///< name of the value that leaves its fused group (after activation and add)
  std::string residual;  ///< name of the other operand of a fused residual Add; may be empty
  /// Name of what a Conv makes in front of a residual Add, or of an activation other than Relu and
  /// Clip; else empty. Our targets do not round this value, but other runtimes do (reader.h).
  std::string inner = {};
  std::vector<Precision> allowed;  ///< contains kF32; in the order of the enum
};
/// Returns all layers of `graph` whose precision can be chosen.
[[nodiscard]] std::vector<QuantizableLayer> FindQuantizableLayers(const Graph& graph);

/// Returns those of `scales` that a plan with these precisions (by layer name) needs: the scales of
/// what its int8 layers read, write and add, and of their inner values.
[[nodiscard]] std::map<std::string, TensorScale> ScalesNeeded(
    std::span<const QuantizableLayer> layers, const PrecisionByLayer& precisions,
    const std::map<std::string, TensorScale>& scales);

/// Counts of |x| in equal bins over [0, limit]. When a larger value comes, the limit doubles and
/// bins are merged in pairs, so memory does not grow with the number of batches. The limit is a
/// power of two, so the result does not depend on the order or grouping of values. Minimum and
/// maximum are exact. Values that are not finite are counted separately; they make
/// Calibrator::Scales fail with a clear message.
class StreamingHistogram {
 public:
  /// `bins` is a power of two, at least 2.
  explicit StreamingHistogram(std::size_t bins = 2048);
  void Add(std::span<const float> values);
  [[nodiscard]] float min() const noexcept { return min_; }  ///< 0 if there is no finite value
  [[nodiscard]] float max() const noexcept { return max_; }  ///< 0 if there is no finite value
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }  ///< finite values
  [[nodiscard]] std::uint64_t not_finite() const noexcept { return not_finite_; }
  [[nodiscard]] std::size_t bins() const noexcept { return bins_.size(); }
  /// Returns the number of values in each bin. Bin i counts |x| in (i * width, (i + 1) * width],
  /// and bin 0 also 0.
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return bins_; }
  [[nodiscard]] std::uint64_t zeros() const noexcept { return zeros_; }  ///< exact zeros
  [[nodiscard]] double bin_width() const noexcept;  ///< 0 while all values are 0
  /// Returns the smallest upper edge t of a bin such that at least `fraction` of the values have
  /// |x| <= t; 0 if all values are 0. `fraction` is in (0, 1]; at least one value must have been
  /// added.
  [[nodiscard]] float Percentile(double fraction) const;
  /// Adds all values of `other`; the result is the same as adding them one by one. Both must have
  /// equally many bins.
  void Merge(const StreamingHistogram& other);

 private:
  void Grow(double magnitude);

  std::vector<std::uint64_t> bins_;
  double limit_ = 0.0;
  float min_ = 0.0F;
  float max_ = 0.0F;
  std::uint64_t count_ = 0;
  std::uint64_t zeros_ = 0;
  std::uint64_t not_finite_ = 0;
};

/// How observed values become scales.
struct CalibrationOptions {
  std::string method = "percentile";  ///< "minmax", "percentile", "entropy" or "mse"
  double percentile = 99.99;          ///< percentage of |x| that is kept, for "percentile"
  bool affine = false;                ///< u8 with a zero point if values have both signs
  /// With `affine`: the least gain in fineness of the steps for which a value gets a zero point. A
  /// gain above 1 also leaves out values that no layer reads.
  double affine_gain = 1;
  std::int64_t bits = 8;  ///< width of the integers, 2 to 8
  bool operator==(const CalibrationOptions&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("method", self.method, "how a scale is chosen from observed values",
          Within::OneOf({"minmax", "percentile", "entropy", "mse"}));
    visit("percentile", self.percentile,
          "percentage of absolute values that the range keeps, for method percentile",
          Within{50, 100});
    visit("affine", self.affine, "use a zero point if values have both signs");
    visit("affine_gain", self.affine_gain,
          "with affine, above 1: only values that layers read, whose steps become so much finer",
          Within{1, 2});
    visit("bits", self.bits, "bits of an activation; fewer than 8 are stored in 8", Within{2, 8});
  }
};

/// Returns the range: the largest |x| that integers with `steps` steps on each side of 0 (127 or
/// 255) represent; larger values saturate. 0 if all values are 0, else positive and at most the
/// largest |x| observed.
///   minmax      the largest |x|
///   percentile  the smallest range that keeps options.percentile of the values
///   entropy     the range whose quantized distribution diverges least from the observed one
///               (Kullback-Leibler; Migacz 2017, "8-bit inference with TensorRT")
///   mse         the range with the least mean of (x - quantized x)^2, if values are spread evenly
///               over their bins
/// Zeros are exact under every range, so the last two ignore them.
[[nodiscard]] float ChooseRange(const StreamingHistogram& histogram,
                                const CalibrationOptions& options, int steps);

/// Collects ranges of tensors of a graph over batches and turns them into scales.
class Calibrator {
 public:
  /// Collects the inputs, outputs, residuals and inner values of all quantizable layers.
  explicit Calibrator(const Graph& graph);
  /// Returns the names of tensors to observe, in graph order.
  [[nodiscard]] const std::vector<std::string>& tensors() const noexcept { return names_; }
  /// Adds values of `tensor`. UserError if it is not one of tensors().
  void Observe(std::string_view tensor, std::span<const float> values);
  /// Returns the scale of every tensor: u8 with zero point 0 if no value was negative; else
  /// symmetric i8, or, with options.affine, u8 from the least to the largest value within the
  /// range, if its steps are finer by options.affine_gain. Tensors share one range along MaxPool,
  /// Concat, Reshape and other operators that only move values, so that no requantization is needed
  /// there. Inner values of layers, which only other runtimes round, have 8 bits and a zero point
  /// whatever the options say. Scales are normal floats; a tensor of zeros gets 1. UserError if a
  /// tensor was never observed or had values that are not finite; it names the tensor.
  [[nodiscard]] std::map<std::string, TensorScale> Scales(const CalibrationOptions& options) const;
  /// Works as Scales(options), but values in `others` (by name) have options of their own.
  /// UserError if such a value was not observed; it names the value.
  [[nodiscard]] std::map<std::string, TensorScale> Scales(
      const CalibrationOptions& options,
      const std::map<std::string, CalibrationOptions>& others) const;
  /// Returns the memory of the counts in bytes, which does not depend on the number of batches.
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, StreamingHistogram, std::less<>> histograms_;
  std::map<std::string, std::string, std::less<>> range_of_;  ///< group that shares a range
  std::set<std::string, std::less<>> read_;                   ///< values that layers read
  std::set<std::string, std::less<>> inner_;                  ///< inner values of layers
};

/// Returns the range method of each value, by name, if layers choose methods
/// (QuantizePlan::ranges). The first layer, in graph order, that reads a value decides, else the
/// one that writes it, else the one that adds it. Values that share a range have the method of the
/// first of them that has one. Layers that are missing from the graph are ignored.
[[nodiscard]] std::map<std::string, std::string> RangeMethods(
    const Graph& graph, const std::map<std::string, std::string>& ranges);

/// Returns a copy of `graph` that has the named values as additional outputs, for Calibrator.
/// UserError if there is no such value.
[[nodiscard]] Graph WithOutputs(const Graph& graph, std::span<const std::string> tensors);

/// Applies a plan to a canonical graph.
/// - int8 layers get QuantizeLinear/DequantizeLinear around their activations, and per-channel i8
///   weights behind DequantizeLinear (axis = output channel, half to even, on the plan's grid or
///   else symmetric within [-127, 127]). Their bias becomes i32 at scale x_scale * w_scale[c];
///   w_scale[c] is raised if the bias would not fit 31 bits.
/// - bf16 layers get Cast pairs on input and weights.
/// - f32 layers with a grid get i8 weights behind DequantizeLinear, and nothing else.
/// - Layers that are missing from the plan stay f32.
///
/// A layer's output is stored narrow, for all readers, if one of them can use that: a layer of the
/// same precision, directly or behind pools, Add and operators that only move values. It stays f32
/// if it is a graph output or no reader can use it. An activation of fewer than 8 bits gets a Clip
/// in front of its QuantizeLinear, which limits the 8-bit integers to the levels of the smaller
/// width. Weights with zero points are i8, too. The result is what is exported as Q/DQ model, and
/// what targets fold into integer kernels.
///
/// UserError, with `graph` unchanged, if layers or tensors do not exist, scales are missing or
/// unusable, or grids do not fit the weights or have several zero points for an int8 layer; it
/// names the layer or tensor.
void ApplyQuantizePlan(const QuantizePlan& plan, Graph& graph);

/// Returns the scale of each output channel (axis 0 of Conv and of Gemm with transB = 1; else axis
/// 1): max|w| / LargestLevel(bits), where LargestLevel(8) is 127. A channel of zeros gets 1. Never
/// subnormal. `weights` are f32; UserError if they are not finite.
[[nodiscard]] std::vector<float> WeightScales(const Tensor& weights, std::size_t channel_axis,
                                              int bits = 8);

}  // namespace msc
