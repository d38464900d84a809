#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/within.h"
#include "compiler/strategy/schedule.h"

namespace msc {

/// In what arithmetic a layer runs.
enum class Precision : std::uint8_t { kF32, kBF16, kInt8 };
[[nodiscard]] std::string_view Name(Precision precision);  ///< "f32", "bf16", "int8"
/// UserError listing the words if `name` is none of them.
[[nodiscard]] Precision ParsePrecision(std::string_view name);

/// How one activation tensor becomes integers: q = saturate(round(x / scale) + zero_point), stored
/// in 8 bits whatever `bits` says.
struct TensorScale {
  std::string dtype = "i8";  ///< "i8" or "u8"
  double scale = 1.0;        ///< > 0, exactly a float
  std::int64_t zero_point = 0;
  /// Of the integers, 2 to 8: fewer saturate at 0 and 2^bits - 1 ("u8"), or -2^(bits-1) and
  /// 2^(bits-1) - 1 ("i8"). Left out of the JSON where it is 8.
  std::int64_t bits = 8;
  bool operator==(const TensorScale&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("dtype", self.dtype, "i8 or u8", Within::OneOf({"i8", "u8"}));
    visit("scale", self.scale, "real value of one step", Within{0, 1e30});
    visit("zero_point", self.zero_point, "integer that stands for 0", Within{-128, 255});
    visit("bits", self.bits, "bits of the integers", Within{2, 8});
  }
};

/// The integers that the weights of one layer become: q = clamp(round(w / scale of its output
/// channel), -(2^(bits-1) - 1), 2^(bits-1) - 1), stored as 8-bit integers whatever `bits` says.
/// With zero points clamp(round(w / scale) + zero point, -2^(bits-1), 2^(bits-1) - 1).
struct WeightGrid {
  std::int64_t bits = 8;  ///< 2 to 8
  /// One an output channel, > 0, exactly floats; none: absolute maximum / (2^(bits-1) - 1).
  std::vector<double> scales;
  /// Inputs of a channel that share a scale, of f32 layers alone; 0 = all of them. `scales` then
  /// holds one channel's after the other's. Left out of the JSON where it is 0.
  std::int64_t group = 0;
  /// One a scale; none: symmetric, and left out of the JSON.
  std::vector<std::int64_t> zero_points = {};
  bool operator==(const WeightGrid&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("bits", self.bits, "bits of a weight", Within{2, 8});
    visit("scales", self.scales,
          "real value of one step, by output channel; none = by the largest weights",
          Within{0, 1e30});
    visit("group", self.group, "inputs that share a step; 0 = all of a channel", Within{0, 1e9});
    visit("zero_points", self.zero_points, "integers that stand for 0, by scale; none = 0",
          Within{-128, 127});
  }
};

/// What quantization decided. Layers and tensors by the names of the canonical graph.
struct QuantizePlan {
  std::map<std::string, std::string> layers;       ///< node name -> "f32" | "bf16" | "int8"
  std::map<std::string, TensorScale> activations;  ///< every tensor an int8 layer reads or writes
  /// Weights by node name. An int8 layer that is not here has 8 bits and scales of absolute maximum
  /// / 127. A f32 layer that is here has its weights alone quantized. Left out of the JSON where it
  /// is empty.
  std::map<std::string, WeightGrid> weights;
  /// How ranges of activations were chosen, as CalibrationOptions::method, by layer: of what it
  /// reads, and of what it makes where no listed layer reads that. Layers that are not here are as
  /// whoever calibrates says. `activations` has what came of it. Left out of the JSON where empty.
  std::map<std::string, std::string> ranges = {};
  /// How int8 weights are fitted to samples (FitStrategy): "gptq", "descent" or "reconstruct".
  /// Empty where they are not, and then left out of the JSON.
  std::string rounding = {};
  bool operator==(const QuantizePlan&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("layers", self.layers, "precision by node name");
    visit("activations", self.activations, "scales by tensor name");
    visit("weights", self.weights, "bits and scales of weights by node name");
    visit("ranges", self.ranges, "how ranges were chosen, by node name",
          Within::OneOf({"minmax", "percentile", "entropy", "mse"}));
    visit("rounding", self.rounding, "how weights are fitted to samples; empty = they are not",
          Within::OneOf({"", "gptq", "descent", "reconstruct"}));
  }
};

/// What pruning keeps of one group of channels; see PruneGroup in compress/prune/prune.h.
struct PruneChoice {
  std::int64_t units = 0;          ///< that the group has: guards against a plan for another graph
  std::vector<std::int64_t> keep;  ///< ascending, 0 <= unit < units, not empty
  bool operator==(const PruneChoice&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("units", self.units, "units that the group has", Within{1, 1e9});
    visit("keep", self.keep, "numbers of those that stay, ascending", Within{0, 1e9});
  }
};

/// What pruning decided, by group: the name of its first layer in the canonical graph. Groups that
/// are not named stay whole.
struct PrunePlan {
  std::map<std::string, PruneChoice> groups;
  bool operator==(const PrunePlan&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("groups", self.groups, "units kept, by group");
  }
};

struct FittedWeights;  // compiler/pipeline/fitted.h

/// How what compression left is trained to compute what the whole model does, on the samples of the
/// fit (compiler/pipeline/train.h).
struct TrainPlan {
  std::int64_t epochs = 0;  ///< 0 = it is not
  std::int64_t batch = 32;
  double rate = 1e-3;
  double temperature = 4.0;
  double lp = 0.0;
  std::string schedule = "cosine";
  bool operator==(const TrainPlan&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("epochs", self.epochs, "passes over the samples", Within{0, 100000});
    visit("batch", self.batch, "samples a step", Within{1, 65536});
    visit("rate", self.rate, "learning rate at its highest", Within{0, 1e6});
    visit("temperature", self.temperature, "outputs are divided by it", Within{1e-3, 1e3});
    visit("lp", self.lp, "weight of the outputs' squared distance", Within{0, 1e9});
    visit("schedule", self.schedule, "how the rate goes on after the warm-up",
          Within::OneOf({"constant", "cosine"}));
  }
};

/// What is made from samples: weights that make up for channels that are gone, and scales of
/// activations as they are by then (compiler/pipeline/fit.h); or weights made to be quantized
/// (compiler/pipeline/quantize.h), or trained after all that.
struct FitPlan {
  std::string samples;  ///< FitHash of the samples and of how they are used; empty = none are
  std::string weights;  ///< SHA-256 of the fitted weights; empty while they are still to be made
  TrainPlan train;      ///< left out of the JSON where it has no epochs
  /// The weights themselves where they were read; no part of the JSON.
  std::shared_ptr<const FittedWeights> values;
  /// Equal digests are equal weights.
  bool operator==(const FitPlan& other) const {
    return samples == other.samples && weights == other.weights && train == other.train;
  }
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("samples", self.samples, "hash of the samples and of how they are used");
    visit("weights", self.weights, "SHA-256 of the fitted weights, a file beside this one");
    visit("train", self.train, "how they are trained");
  }
};

/// Nodes that one target computes, as one piece.
struct PartitionRegion {
  std::vector<std::string> nodes;     ///< names, in no particular order
  std::string target;                 ///< a spec: "onednn", "blas:library=xsmm"
  std::optional<double> micros = {};  ///< what it took where the plan was made; decides nothing
  bool operator==(const PartitionRegion&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("nodes", self.nodes, "node names");
    visit("target", self.target, "who runs them");
    visit("micros", self.micros,
          "what they took when the plan was made, in microseconds; decides "
          "nothing",
          Within{0, 1e9});
  }
};

/// Every decision taken about a model: what a search finds, what is exported, all that a replay
/// needs. Later tools add their parts as fields of their own, each empty by default, so that old
/// files stay readable.
struct Strategy {
  std::string format = "msc-strategy-1";
  std::string model_hash;  ///< GraphHash of the canonical graph; empty = any: no key in its JSON
  std::string target = "onednn";
  PrunePlan prune;  ///< applied first
  FitPlan fit;      ///< applied next. Left out of the JSON where it is empty
  QuantizePlan quantize;
  /// Who runs what, where it is not all `target`: see pipeline/regions.h. Nodes by their names in
  /// the canonical graph, with its sizes bound. Left out of the JSON where it is empty.
  std::vector<PartitionRegion> partition;
  /// How kernels are written that are not as their target would, by node name: see
  /// pipeline/schedule.h. Left out of the JSON where it is empty.
  std::map<std::string, KernelSchedule> schedules;
  bool operator==(const Strategy&) const = default;
  template <class Self, class Visit>
  static void Fields(Self& self, Visit& visit) {
    visit("format", self.format, "version of this file's form", Within::OneOf({"msc-strategy-1"}));
    visit("model_hash", self.model_hash, "hash of the graph the names refer to");
    visit("target", self.target, "target that runs the graph, or what the partition leaves of it");
    visit("prune", self.prune, "channels that stay");
    visit("fit", self.fit, "weights fitted to what pruning took away");
    visit("quantize", self.quantize, "precision of every layer");
    visit("partition", self.partition, "regions that targets of their own run");
    visit("schedules", self.schedules, "how kernels are written, by node name");
  }
};

/// The strategy with all of the model on `target`: without a partition, and without schedules where
/// those were chosen for another.
void RunAllOn(const std::string& target, Strategy& strategy);

[[nodiscard]] std::string ToJson(const Strategy& strategy, int indent = -1);
/// UserError naming `what` and the key at fault.
[[nodiscard]] Strategy StrategyFromJson(std::string_view text, const std::string& what);
/// SHA-256 of the canonical JSON: equal strategies have equal hashes.
[[nodiscard]] std::string StrategyHash(const Strategy& strategy);

}  // namespace msc
