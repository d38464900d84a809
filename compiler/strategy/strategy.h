#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/string_form.h"
#include "compiler/base/within.h"
#include "compiler/strategy/schedule.h"

namespace msc {

/// Arithmetic of a layer.
enum class Precision : std::uint8_t { kF32, kBF16, kInt8 };
[[nodiscard]] std::string_view Name(Precision precision);  ///< "f32", "bf16", "int8"
/// Throws UserError, which lists the names, if `name` is unknown.
[[nodiscard]] Precision ParsePrecision(std::string_view name);

template <>
struct StringForm<Precision> {
  static std::string Write(const Precision& precision) { return std::string(Name(precision)); }
  static Precision Read(const std::string& text) { return ParsePrecision(text); }
};

/// Precisions by the names of layers.
using PrecisionByLayer = std::map<std::string, Precision>;

/// Quantization of one activation tensor: q = saturate(round(x / scale) + zero_point), stored in 8
/// bits even if `bits` is less.
struct TensorScale {
  std::string dtype = "i8";  ///< "i8" or "u8"
  double scale = 1.0;        ///< > 0, exactly representable as f32
  std::int64_t zero_point = 0;
  /// Bits of the integers, 2 to 8. Fewer than 8 bits saturate at 0 and 2^bits - 1 ("u8"), or
  /// -2^(bits-1) and 2^(bits-1) - 1 ("i8"). Omitted from the JSON if 8.
  std::int64_t bits = 8;
  bool operator==(const TensorScale&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("dtype", self.dtype, "i8 or u8", Within::OneOf({"i8", "u8"}));
    visit("scale", self.scale, "real value of one step", Within{0, 1e30});
    visit("zero_point", self.zero_point, "integer that stands for 0", Within{-128, 255});
    visit("bits", self.bits, "bits of the integers", Within{2, 8});
  }
};

/// Quantization of the weights of one layer: q = clamp(round(w / scale of its output channel),
/// -(2^(bits-1) - 1), 2^(bits-1) - 1), stored in 8 bits even if `bits` is less. With zero points, q
/// = clamp(round(w / scale) + zero point, -2^(bits-1), 2^(bits-1) - 1).
struct WeightGrid {
  std::int64_t bits = 8;  ///< 2 to 8
  /// One per output channel, > 0, exactly representable as f32. If empty, the scale of a channel is
  /// its absolute maximum / (2^(bits-1) - 1).
  std::vector<double> scales = {};
  /// Number of inputs of a channel that share a scale, only for f32 layers; 0 = all of them.
  /// `scales` then has the groups of each channel in a row, channel by channel. Omitted from the
  /// JSON if 0.
  std::int64_t group = 0;
  /// One per scale. Empty means symmetric, and is omitted from the JSON.
  std::vector<std::int64_t> zero_points = {};
  bool operator==(const WeightGrid&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("bits", self.bits, "bits of a weight", Within{2, 8});
    visit("scales", self.scales,
          "real value of one step, by output channel; none = by the largest weights",
          Within{0, 1e30});
    visit("group", self.group, "inputs that share a step; 0 = all of a channel", Within{0, 1e9});
    visit("zero_points", self.zero_points, "integers that stand for 0, by scale; none = 0",
          Within{-128, 127});
  }
};

/// Decisions of quantization. Layers and tensors are named as in the canonical graph.
struct QuantizePlan {
  PrecisionByLayer layers;
  std::map<std::string, TensorScale> activations;  ///< every tensor an int8 layer reads or writes
  /// Weights by node name. An int8 layer without an entry has 8 bits and the scales absolute
  /// maximum / 127. An f32 layer with an entry has only its weights quantized. Omitted from the
  /// JSON if empty.
  std::map<std::string, WeightGrid> weights;
  /// Method that chose the ranges of activations, as in CalibrationOptions::method, by layer: for
  /// its inputs, and for its output if no listed layer reads it. Other layers use the method of the
  /// calibration as a whole. `activations` has the result. Omitted from the JSON if empty.
  std::map<std::string, std::string> ranges = {};
  /// Method that fits int8 weights to samples (FitStrategy): "gptq", "descent" or "reconstruct".
  /// Empty if they are not fitted; then omitted from the JSON.
  std::string rounding = {};
  bool operator==(const QuantizePlan&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("layers", self.layers, "precision by node name");
    visit("activations", self.activations, "scales by tensor name");
    visit("weights", self.weights, "bits and scales of weights by node name");
    visit("ranges", self.ranges, "how ranges were chosen, by node name",
          Within::OneOf({"minmax", "percentile", "entropy", "mse"}));
    visit("rounding", self.rounding, "how weights are fitted to samples; empty = they are not",
          Within::OneOf({"", "gptq", "descent", "reconstruct"}));
  }
};

/// Units that pruning keeps of one group of channels; see PruneGroup in compress/prune/prune.h.
struct PruneChoice {
  std::int64_t units = 0;               ///< size of the group; detects a plan for another graph
  std::vector<std::int64_t> keep = {};  ///< ascending, 0 <= unit < units, not empty
  bool operator==(const PruneChoice&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("units", self.units, "units that the group has", Within{1, 1e9});
    visit("keep", self.keep, "numbers of those that stay, ascending", Within{0, 1e9});
  }
};

/// Decisions of pruning, by the name of the group's first layer in the canonical graph. Groups
/// without an entry are not pruned.
struct PrunePlan {
  std::map<std::string, PruneChoice> groups;
  bool operator==(const PrunePlan&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("groups", self.groups, "units kept, by group");
  }
};

struct FittedWeights;  // compiler/pipeline/fitted.h

/// Training of the compressed model (knowledge distillation): it learns the outputs of the original
/// model on the samples of the fit (compiler/pipeline/train.h).
struct TrainPlan {
  std::int64_t epochs = 0;  ///< 0 = no training
  std::int64_t batch = 32;
  double rate = 1e-3;
  double temperature = 4.0;
  double lp = 0.0;
  std::string schedule = "cosine";
  bool operator==(const TrainPlan&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("epochs", self.epochs, "passes over the samples", Within{0, 100000});
    visit("batch", self.batch, "samples per step", Within{1, 65536});
    visit("rate", self.rate, "highest learning rate", Within{0, 1e6});
    visit("temperature", self.temperature, "divisor of the outputs before the softmax",
          Within{1e-3, 1e3});
    visit("lp", self.lp, "weight of the outputs' squared distance", Within{0, 1e9});
    visit("schedule", self.schedule, "course of the learning rate after the warm-up",
          Within::OneOf({"constant", "cosine"}));
  }
};

/// Weights and scales computed from samples: weights that compensate for pruned channels, with
/// scales of the activations after that (compiler/pipeline/fit.h); weights fitted for quantization
/// (compiler/pipeline/quantize.h); or weights trained after these steps.
struct FitPlan {
  std::string samples;  ///< FitHash of the samples and their use; empty = no samples
  std::string weights;  ///< SHA-256 of the fitted weights; empty until they are computed
  TrainPlan train;      ///< omitted from the JSON if it has no epochs
  /// The fitted weights, if loaded; not part of the JSON.
  std::shared_ptr<const FittedWeights> values;
  /// Compares weights by their digest.
  bool operator==(const FitPlan& other) const {
    return samples == other.samples && weights == other.weights && train == other.train;
  }
  static void Fields(auto& self, auto& visit) {
    visit("samples", self.samples, "hash of the samples and of how they are used");
    visit("weights", self.weights, "SHA-256 of the fitted weights, a file beside this one");
    visit("train", self.train, "recipe of their training");
  }
};

/// Nodes that one target computes as a single piece.
struct PartitionRegion {
  std::vector<std::string> nodes = {};  ///< names, in any order
  std::string target;                   ///< target spec: "onednn", "blas:library=xsmm"
  std::optional<double> micros = {};    ///< measured time when the plan was made; informative only
  bool operator==(const PartitionRegion&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("nodes", self.nodes, "node names");
    visit("target", self.target, "target that runs them");
    visit("micros", self.micros, "measured cost in microseconds when the plan was made; no effect",
          Within{0, 1e9});
  }
};

/// Shapes of the inputs of the graph that a strategy was made for, as "[N,3,64,64]". They only help
/// to tell why its hash is another one, so they take no part in comparisons.
struct InputShapes {
  std::map<std::string, std::string> of_input;
  bool operator==(const InputShapes& /*other*/) const { return true; }
};

/// All decisions about a model: the result of a search, the input of an export, and everything that
/// a replay needs. New parts are added as fields that are empty by default, so that old files stay
/// readable.
struct Strategy {
  std::string format = "msc-strategy-1";
  std::string model_hash;  ///< GraphHash of the canonical graph; empty = any model, key absent
  InputShapes inputs;  ///< in files of SaveStrategy; key absent if empty; not part of StrategyHash
  std::string target = "onednn";
  PrunePlan prune;  ///< applied first
  FitPlan fit;      ///< applied second; omitted from the JSON if empty
  QuantizePlan quantize;
  /// Regions that targets other than `target` compute; see pipeline/regions.h. Nodes are named as
  /// in the canonical graph with bound sizes. Omitted from the JSON if empty.
  std::vector<PartitionRegion> partition;
  /// Schedules that differ from the target's default, by node name; see pipeline/schedule.h.
  /// Omitted from the JSON if empty.
  std::map<std::string, KernelSchedule> schedules;
  bool operator==(const Strategy&) const = default;
  static void Fields(auto& self, auto& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-strategy-1"}));
    visit("model_hash", self.model_hash, "hash of the graph the names refer to");
    visit("inputs", self.inputs.of_input, "shapes of the inputs of that graph; informative only");
    visit("target", self.target, "target that runs the graph, or the nodes outside of all regions");
    visit("prune", self.prune, "channels that stay");
    visit("fit", self.fit, "fitted weights");
    visit("quantize", self.quantize, "precision of every layer");
    visit("partition", self.partition, "regions that other targets run");
    visit("schedules", self.schedules, "how kernels are written, by node name");
  }
};

/// Assigns the whole model to `target`: removes the partition, and the schedules if they were
/// chosen for another target.
void RunAllOn(const std::string& target, Strategy& strategy);

[[nodiscard]] std::string ToJson(const Strategy& strategy, int indent = -1);
/// Throws UserError, which names `what` and the invalid key.
[[nodiscard]] Strategy StrategyFromJson(std::string_view text, const std::string& what);
/// Returns the SHA-256 of the canonical JSON without `inputs`: equal strategies have equal hashes.
[[nodiscard]] std::string StrategyHash(const Strategy& strategy);

}  // namespace msc
