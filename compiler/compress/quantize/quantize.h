#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// One layer whose precision can be chosen, in a canonical graph. A layer is a Conv, Gemm or MatMul
/// with constant weights.
struct QuantizableLayer {
  std::string name;  ///< node name
  std::string op;
  std::string input;     ///< name of the activation it reads
  std::string output;    ///< name of the value that leaves its fused group (after activation, add)
  std::string residual;  ///< name of the other operand of a fused residual Add, or empty
  std::vector<Precision> allowed;  ///< always holds kF32; in the enum's order
};
[[nodiscard]] std::vector<QuantizableLayer> FindQuantizableLayers(const Graph& graph);

/// Of `scales`, those that a plan needs with these precisions (by layer name): of what its int8
/// layers read, write and add.
[[nodiscard]] std::map<std::string, TensorScale> ScalesNeeded(
    std::span<const QuantizableLayer> layers, const std::map<std::string, std::string>& precisions,
    const std::map<std::string, TensorScale>& scales);

/// Counts of |x| in equal bins over [0, limit]; the limit doubles, merging bins two by two, when a
/// larger value comes, so memory stays constant however many batches are seen. The limit is a power
/// of two, so that neither order nor grouping of the values matters. Also exact minimum and
/// maximum. Not finite values are counted apart and make Calibrator::Scales fail with a clear
/// message.
class StreamingHistogram {
 public:
  /// `bins` is a power of two, at least 2.
  explicit StreamingHistogram(std::size_t bins = 2048);
  void Add(std::span<const float> values);
  [[nodiscard]] float min() const noexcept { return min_; }  ///< 0 if there was no finite value
  [[nodiscard]] float max() const noexcept { return max_; }  ///< 0 if there was no finite value
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }  ///< finite values
  [[nodiscard]] std::uint64_t not_finite() const noexcept { return not_finite_; }
  [[nodiscard]] std::size_t bins() const noexcept { return bins_.size(); }
  /// Values in each bin: bin i has those with |x| in (i * width, (i + 1) * width], bin 0 also 0.
  [[nodiscard]] std::span<const std::uint64_t> counts() const noexcept { return bins_; }
  [[nodiscard]] std::uint64_t zeros() const noexcept { return zeros_; }  ///< exact ones
  [[nodiscard]] double bin_width() const noexcept;  ///< 0 while all values are 0
  /// Smallest upper edge t of a bin with at least `fraction` of the values having |x| <= t; 0 if
  /// all values are 0. `fraction` in (0, 1]; at least one value was added.
  [[nodiscard]] float Percentile(double fraction) const;
  /// Same result as adding everything to one. Both have equally many bins.
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

struct CalibrationOptions {
  std::string method = "percentile";  ///< "minmax", "percentile", "entropy" or "mse"
  double percentile = 99.99;          ///< in percent, of |x|; for "percentile"
  bool affine = false;                ///< u8 with a zero point where values have both signs
  std::int64_t bits = 8;              ///< of the integers, 2 to 8
  bool operator==(const CalibrationOptions&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("method", self.method, "how a range becomes a scale",
          Within::OneOf({"minmax", "percentile", "entropy", "mse"}));
    visit("percentile", self.percentile, "share of |x| kept, in percent", Within{50, 100});
    visit("affine", self.affine, "a zero point where values have both signs");
    visit("bits", self.bits, "bits of an activation; fewer than 8 are stored in 8", Within{2, 8});
  }
};

/// The largest |x| that integers of `steps` steps on each side of 0 (127 or 255) are to hold;
/// larger values saturate. 0 if all values are 0, else positive and at most the largest |x| seen.
///   minmax      all of it
///   percentile  as many values as asked for
///   entropy     the range whose quantized distribution tells least apart from the one seen
///               (Kullback-Leibler; Migacz 2017, "8-bit inference with TensorRT")
///   mse         least mean of (x - quantized x)^2, values taken as even within a bin
/// Zeros are exact under every range and hence of no account for the last two.
[[nodiscard]] float ChooseRange(const StreamingHistogram& histogram,
                                const CalibrationOptions& options, int steps);

/// Gathers ranges of chosen tensors of a graph over batches and turns them into scales.
class Calibrator {
 public:
  /// Tensors: inputs, outputs and residuals of all quantizable layers.
  explicit Calibrator(const Graph& graph);
  /// Names to observe, in graph order.
  [[nodiscard]] const std::vector<std::string>& tensors() const noexcept { return names_; }
  /// UserError if `tensor` is not one of tensors().
  void Observe(std::string_view tensor, std::span<const float> values);
  /// Scale of every tensor: u8 with zero point 0 where no value was negative, else symmetric i8, or
  /// u8 from the least to the largest value within the range if affine ones are asked for.
  /// One range is shared along MaxPool, Concat, Reshape and other operators that only move values,
  /// so that no requantization appears there. Scales are normal floats; a tensor of zeros gets 1.
  /// UserError naming a tensor that was never observed or held values that are not finite.
  [[nodiscard]] std::map<std::string, TensorScale> Scales(const CalibrationOptions& options) const;
  /// The same, but for values (by name) with options of their own. UserError naming one that was
  /// not observed.
  [[nodiscard]] std::map<std::string, TensorScale> Scales(
      const CalibrationOptions& options,
      const std::map<std::string, CalibrationOptions>& others) const;
  /// Memory that the counts take: the same however many batches were seen.
  [[nodiscard]] std::size_t bytes() const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, StreamingHistogram, std::less<>> histograms_;
  std::map<std::string, std::string, std::less<>> range_of_;  ///< group that shares a range
};

/// By which method values are scaled, by name, where layers say it (QuantizePlan::ranges): by that
/// of the first layer, in graph order, that reads a value, else of the one that writes or adds it.
/// Values that share a range share the method of the first of them that has one. Layers that the
/// graph does not have are passed over.
[[nodiscard]] std::map<std::string, std::string> RangeMethods(
    const Graph& graph, const std::map<std::string, std::string>& ranges);

/// Runs `graph` with the named values as outputs besides its own, giving what Calibrator needs.
/// The graph itself is copied; bindings and compilation are the caller's.
[[nodiscard]] Graph WithOutputs(const Graph& graph, std::span<const std::string> tensors);

/// Applies a plan to a canonical graph: int8 layers get QuantizeLinear/DequantizeLinear around
/// their activations and per-channel i8 weights behind DequantizeLinear (axis = output channel,
/// symmetric, half to even, on the plan's grid or else within [-127, 127]); their bias becomes i32
/// at scale x_scale * w_scale[c], which is raised where it would leave 31 bits. bf16 layers get
/// Cast pairs on input and weights. f32 layers with a grid get i8 weights behind DequantizeLinear
/// alone. A layer's output is stored narrow, for all readers, where one of them can use that: a
/// layer of the same precision, also behind pools, Add and operators that only move values. It
/// stays f32 where it is a graph output or nobody can. Layers not in the plan stay f32. The result
/// is what is exported as QDQ and what the targets fold into integer kernels. An activation of
/// fewer than 8 bits is cut by a Clip in front of its QuantizeLinear, so that the 8-bit integers
/// stay within what so many bits hold. Weights with zero points are i8, too. UserError naming
/// layers or tensors that do not exist, scales that are missing or unusable, and grids that do not
/// fit the weights, or have several zero points for an int8 layer; the graph is then as it was.
void ApplyQuantizePlan(const QuantizePlan& plan, Graph& graph);

/// max|w| / 127, or the largest level of so many bits, per output channel (axis 0 of Conv, of Gemm
/// with transB = 1; else axis 1); a channel of zeros gets scale 1. Never subnormal. `weights` are
/// f32; UserError if not finite.
[[nodiscard]] std::vector<float> WeightScales(const Tensor& weights, std::size_t channel_axis,
                                              int bits = 8);

}  // namespace msc
