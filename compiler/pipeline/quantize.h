#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/base/within.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/compress/quantize/saturation.h"
#include "compiler/ir/graph.h"
#include "compiler/pipeline/observe.h"
#include "compiler/runtime/executable.h"
#include "compiler/strategy/strategy.h"
#include "compiler/targets/target.h"

namespace msc {

/// How a model is quantized from samples, without labels or training.
struct QuantizeOptions {
  /// "f32": weights alone are quantized. Their bits are those of `scales` and `tensor_scales`.
  std::string activations = "int8";
  std::int64_t bits = 8;  ///< of weights
  CalibrationOptions scales;
  std::string grid = "max";     ///< scales of weights: "max" or "mse"
  std::string per = "channel";  ///< or "tensor": weights that share a scale
  std::int64_t group = 0;  ///< inputs that share a scale, with weights alone quantized; 0 = all
  /// Weights with zero points. Those of int8 layers need `per` "tensor".
  bool affine_weights = false;
  std::string rounding = "nearest";  ///< "nearest", "gptq" or "descent", see WeightRounding
  bool reconstruct = false;          ///< refit weights to the quantized inputs, before rounding
  bool correct_bias = false;
  bool equalize = false;
  bool smooth = false;
  double ridge = 1e-3;
  /// Output positions a sample that a layer is fitted at; 0 = so many that the samples together
  /// give eight for each of the layer's inputs, and 16 at least.
  std::int64_t positions = 0;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> layers;  ///< precision by node name, else int8
  /// Bits by node name, else `bits`; of a layer that `layers` says is f32 the weights alone.
  std::map<std::string, std::int64_t> layer_bits;
  std::map<std::string, CalibrationOptions> tensor_scales;  ///< by name of the value, else `scales`
  bool operator==(const QuantizeOptions&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("activations", self.activations, "what layers read and write",
          Within::OneOf({"int8", "f32"}));
    visit("bits", self.bits, "bits of a weight", Within{2, 8});
    visit("scales", self.scales, "how ranges become scales");
    visit("grid", self.grid, "scales of weights", Within::OneOf({"max", "mse"}));
    visit("per", self.per, "weights that share a scale", Within::OneOf({"channel", "tensor"}));
    visit("group", self.group, "inputs of a channel that share a scale; 0 = all", Within{0, 1e6});
    visit("affine_weights", self.affine_weights, "weights with zero points");
    visit("rounding", self.rounding, "how weights are rounded",
          Within::OneOf({"nearest", "gptq", "descent"}));
    visit("reconstruct", self.reconstruct, "refit weights to the quantized inputs");
    visit("correct_bias", self.correct_bias, "take mean errors out by the biases");
    visit("equalize", self.equalize, "cross-layer equalization of weights");
    visit("smooth", self.smooth, "SmoothQuant with a search of alpha");
    visit("ridge", self.ridge, "how firmly a refit holds on to the weights", Within{1e-9, 1e9});
    visit("positions", self.positions, "output positions a sample; 0 = what a layer needs",
          Within{0, 1e6});
    visit("seed", self.seed, "which positions");
    visit("layers", self.layers, "precision by node name", Within::OneOf({"f32", "bf16", "int8"}));
    visit("layer_bits", self.layer_bits, "bits by node name", Within{2, 8});
    visit("tensor_scales", self.tensor_scales, "how ranges become scales, by name of the value");
  }
};

struct QuantizedLayer {
  std::string name;
  std::string precision;  ///< asked for
  std::int64_t bits = 0;  ///< of the weights; 0 where they are not quantized
  /// Shares of the variance of the layer's outputs that are missed, its inputs being quantized as
  /// decided so far: with weights rounded to the nearest by their largest magnitude, and with those
  /// taken. Absent where nothing was fitted to samples.
  std::optional<double> error_before;
  std::optional<double> error_after;
  std::optional<PairSums> pairs;  ///< of an int8 layer, where its form is known
};

/// A value whose channels were looked at for smoothing.
struct SmoothedValue {
  std::string value;
  std::optional<double> alpha;  ///< absent where no alpha was better than leaving it alone
  double error_before = 0;      ///< sum of ProductError over the layers that read it
  double error_after = 0;
};

struct QuantizedModel {
  Strategy strategy;
  std::vector<QuantizedLayer> layers;  ///< all that could be quantized, in graph order
  std::vector<SmoothedValue> smoothed;
};

/// What is going on, with the share done in [0, 1].
using QuantizeProgress = std::function<void(const std::string&, double)>;

/// Decides scales, weight grids and, where options ask for it, new weights and biases, which the
/// strategy then carries as fitted weights. In this order: equalization, smoothing, calibration,
/// then layer by layer, its inputs quantized as decided so far:
///   reconstruct   weights and bias with which the layer comes closest, over the samples, to what
///   it
///                 computed in f32, by ridge regression (behind a residual, where one is added)
///   grid          scales of the weights; "mse" weighs errors by the inputs' second moments where
///                 these are known
///   rounding      as WeightRounding says
///   correct_bias  the mean that outputs are off by goes to the bias
/// A layer keeps its weights where all that does not help. `base` gives channels and fitted weights
/// to start from; its precisions are replaced. Deterministic. UserError where options name layers
/// that are not there, and as ObserveValues.
[[nodiscard]] QuantizedModel QuantizeModel(const Graph& canonical, const Strategy& base,
                                           const SampleSource& samples,
                                           const QuantizeOptions& options,
                                           const CalibrationRun& run,
                                           const TargetRegistry& registry,
                                           const QuantizeProgress& progress = {});

/// Precisions, by layer, that `target` does not compute by itself: it refuses the layer, or what
/// narrows and widens the values beside it, and "reference" would run those. None of f32, and
/// nothing for "reference". `scales` has every tensor that a layer touches. UserError as Lower.
[[nodiscard]] std::map<std::string, std::vector<Precision>> LackedPrecisions(
    const Graph& canonical, const std::map<std::string, TensorScale>& scales,
    const std::string& target, const TargetRegistry& registry);

/// In what a layer really runs, read from the compiled steps: "int8", or "f32 on reference" where
/// another target than `target` runs it; empty where no step names it.
[[nodiscard]] std::string AchievedPrecision(const Executable& executable, const std::string& target,
                                            const std::string& layer);

}  // namespace msc
