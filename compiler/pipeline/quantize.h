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
  /// kInt8, or kF32 to quantize only weights. The bits of activations are those of `scales` and
  /// `tensor_scales`.
  Precision activations = Precision::kInt8;
  std::int64_t bits = 8;  ///< bits of weights
  CalibrationOptions scales;
  std::string grid = "max";     ///< scales of weights: "max" or "mse"
  std::string per = "channel";  ///< or "tensor": weights that share a scale
  std::int64_t group = 0;  ///< inputs that share a scale, if only weights are quantized; 0 = all
  /// Whether weights have zero points. For int8 layers this requires `per` = "tensor".
  bool affine_weights = false;
  std::string rounding = "nearest";  ///< "nearest", "gptq" or "descent", see WeightRounding
  bool reconstruct = false;          ///< refit weights to the quantized inputs, before rounding
  bool correct_bias = false;
  bool equalize = false;
  bool smooth = false;
  double ridge = 1e-3;
  /// Output positions per sample that a layer is fitted to; 0 = as many as give eight rows, over
  /// all samples, for each of the layer's inputs, but at least 16.
  std::int64_t positions = 0;
  std::uint64_t seed = 0;
  PrecisionByLayer layers;  ///< `activations` if missing
  /// Bits by node name; `bits` if missing. For a layer that `layers` makes f32, only the weights
  /// have them.
  std::map<std::string, std::int64_t> layer_bits;
  std::map<std::string, CalibrationOptions> tensor_scales;  ///< by value; `scales` if missing
  bool operator==(const QuantizeOptions&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("activations", self.activations, "precision of the values that layers read and write",
          Within::OneOf({"int8", "f32"}));
    visit("bits", self.bits, "bits of a weight", Within{2, 8});
    visit("scales", self.scales, "how scales are chosen from observed values");
    visit("grid", self.grid, "how scales of weights are chosen", Within::OneOf({"max", "mse"}));
    visit("per", self.per, "weights that share a scale", Within::OneOf({"channel", "tensor"}));
    visit("group", self.group, "inputs of a channel that share a scale; 0 = all", Within{0, 1e6});
    visit("affine_weights", self.affine_weights, "use zero points for weights");
    visit("rounding", self.rounding, "how weights are rounded",
          Within::OneOf({"nearest", "gptq", "descent"}));
    visit("reconstruct", self.reconstruct, "refit weights to the quantized inputs");
    visit("correct_bias", self.correct_bias, "correct mean errors by the biases");
    visit("equalize", self.equalize, "cross-layer equalization of weights");
    visit("smooth", self.smooth, "SmoothQuant with a search of alpha");
    visit("ridge", self.ridge,
          "strength with which a refit holds weights near their original values",
          Within{1e-9, 1e9});
    visit("positions", self.positions, "output positions per sample; 0 = as many as a layer needs",
          Within{0, 1e6});
    visit("seed", self.seed, "seed of the choice of positions");
    visit("layers", self.layers, "precision by node name");
    visit("layer_bits", self.layer_bits, "bits by node name", Within{2, 8});
    visit("tensor_scales", self.tensor_scales, "how scales are chosen, by name of the value");
  }
};

/// A layer of a quantized model.
struct QuantizedLayer {
  std::string name;
  Precision precision = Precision::kF32;  ///< requested precision
  std::int64_t bits = 0;                  ///< bits of the weights; 0 if they are not quantized
  /// Remaining shares of the variance of the layer's outputs, with its inputs quantized as decided
  /// so far: with weights rounded to the nearest on scales by their largest magnitude, and with the
  /// chosen weights. Missing if nothing was fitted to samples.
  std::optional<double> error_before;
  std::optional<double> error_after;
  std::optional<PairSums> pairs;  ///< for an int8 layer of known form
};

/// A value whose channels were examined for smoothing.
struct SmoothedValue {
  std::string value;
  std::optional<double> alpha = {};  ///< missing if no alpha reduces the error
  double error_before = 0;           ///< sum of ProductError over the layers that read the value
  double error_after = 0;
};

/// Result of QuantizeModel.
struct QuantizedModel {
  Strategy strategy;
  std::vector<QuantizedLayer> layers = {};  ///< all layers that can be quantized, in graph order
  std::vector<SmoothedValue> smoothed = {};
};

/// Called with the name of the current stage and the fraction done, in [0, 1].
using QuantizeProgress = std::function<void(const std::string&, double)>;

/// Quantizes a model in one or several ways after observing it once on samples: chooses scales,
/// weight grids and, if options request it, new weights and biases, which the strategy contains as
/// fitted weights. The stages are equalization, smoothing, calibration, and then, layer by layer,
/// with inputs quantized as decided so far:
///   reconstruct   weights and bias that bring the layer closest, over the samples, to what it
///                 computed in f32, by ridge regression (behind the residual, if one is added)
///   grid          scales of the weights; "mse" weighs errors by the inputs' second moments if
///                 these are known
///   rounding      see WeightRounding
///   correct_bias  adds the mean error of the outputs to the bias
/// A layer whose error these do not reduce keeps its weights. `base` gives channels and fitted
/// weights to start from; its precisions are replaced. Deterministic. Memory does not depend on the
/// number of samples.
class Quantizer {
 public:
  /// Runs the stages up to calibration, for all options that agree with `options` in `equalize` and
  /// `smooth`. All references outlive the object. UserError as ObserveValues, and if the model has
  /// no layer to quantize.
  Quantizer(const Graph& canonical, const Strategy& base, const SampleSource& samples,
            const QuantizeOptions& options, const CalibrationRun& run,
            const TargetRegistry& registry, const QuantizeProgress& progress = {});
  /// Runs the other stages. Without methods that fit weights to samples, only one batch of samples
  /// is run, for QuantizedLayer::pairs. UserError if options name unknown layers or values.
  [[nodiscard]] QuantizedModel Quantize(const QuantizeOptions& options,
                                        const QuantizeProgress& progress = {}) const;
  /// Returns the strategy of Quantize(options), without running that batch.
  [[nodiscard]] Strategy Plan(const QuantizeOptions& options,
                              const QuantizeProgress& progress = {}) const;

 private:
  [[nodiscard]] QuantizedModel Decide(const QuantizeOptions& options, Graph& graph,
                                      const QuantizeProgress& progress) const;

  const Graph& canonical_;
  const Strategy& base_;
  const SampleSource& samples_;
  CalibrationRun run_;
  const TargetRegistry& registry_;
  bool equalize_;
  bool smooth_;
  std::vector<SmoothedValue> smoothed_;
  Graph graph_;  ///< with the channels and weights of base, equalized and smoothed
  std::optional<Calibrator> calibrator_;
};

/// Quantizes a model in one way: Quantizer with Quantize. UserError as both.
[[nodiscard]] QuantizedModel QuantizeModel(const Graph& canonical, const Strategy& base,
                                           const SampleSource& samples,
                                           const QuantizeOptions& options,
                                           const CalibrationRun& run,
                                           const TargetRegistry& registry,
                                           const QuantizeProgress& progress = {});

/// Returns, by layer, the precisions that `target` does not compute itself: it rejects the layer,
/// or the nodes that narrow and widen the values beside it, so that others would run them.
/// Never contains f32; empty for "reference". `scales` must have every tensor that a layer reads or
/// writes. UserError as Lower.
[[nodiscard]] std::map<std::string, std::vector<Precision>> FindUnsupportedPrecisions(
    const Graph& canonical, const std::map<std::string, TensorScale>& scales,
    const std::string& target, const TargetRegistry& registry);

/// Returns the precision in which a layer really runs, read from the compiled steps: "int8", or
/// "f32 on reference" if another target than `target` runs it; empty if no step names the layer.
[[nodiscard]] std::string AchievedPrecision(const Executable& executable, const std::string& target,
                                            const std::string& layer);

}  // namespace msc
