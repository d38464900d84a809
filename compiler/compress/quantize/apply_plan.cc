#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/compress/quantize/storage.h"
#include "compiler/compress/quantize/weights.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

[[noreturn]] void Reject(const std::string& what) {
  throw UserError("quantize plan: " + what);
}

/// The range of the integers of an activation.
struct Levels {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
Levels LevelsOf(const TensorScale& scale) {
  const std::int64_t count = std::int64_t{1} << scale.bits;
  const std::int64_t least = scale.dtype == "u8" ? 0 : -count / 2;
  return {least, least + count - 1};
}

void CheckScale(const std::string& name, const TensorScale& scale) {
  const bool normal = scale.scale >= std::numeric_limits<float>::min() &&
                      scale.scale <= std::numeric_limits<float>::max() &&
                      static_cast<double>(static_cast<float>(scale.scale)) == scale.scale;
  if (!normal) Reject("the scale of tensor '" + name + "' must be a positive normal 32-bit float");
  const bool is_u8 = scale.dtype == "u8";
  if (!is_u8 && scale.dtype != "i8") {
    Reject("the type of tensor '" + name + "' must be i8 or u8, not '" + scale.dtype + "'");
  }
  if (scale.bits < 2 || scale.bits > 8) Reject("tensor '" + name + "' must have 2 to 8 bits");
  const Levels levels = LevelsOf(scale);
  if (scale.zero_point < levels.least || scale.zero_point > levels.most) {
    Reject("the zero point of tensor '" + name + "' must be between " +
           std::to_string(levels.least) + " and " + std::to_string(levels.most) + ", not " +
           std::to_string(scale.zero_point));
  }
}

class PlanApplier {
 public:
  PlanApplier(const QuantizePlan& plan, Graph& graph)
      : plan_(plan), graph_(graph), chains_(FloatLayerChains(graph)) {}

  void Run() {
    CheckTensors();
    ReadPrecisions();
    if (precisions_.empty() && plan_.weights.empty()) return;
    StoreOutputs();
    for (const LayerChain& chain : chains_) NarrowLayer(chain);
    RemoveDeadCode(graph_);
  }

 private:
  using Stored = std::pair<ValueId, Precision>;

  void CheckTensors() const {
    for (const auto& [name, scale] : plan_.activations) {
      if (graph_.FindValue(name) == kNoValue) Reject("the graph has no tensor '" + name + "'");
      CheckScale(name, scale);
    }
  }

  void ReadPrecisions() {
    std::set<std::string> known;
    for (const LayerChain& chain : chains_) known.insert(graph_.node(chain.producer).name);
    for (const auto& [name, precision] : plan_.layers) {
      if (!known.contains(name)) {
        Reject("the graph has no layer '" + name + "' whose precision can be chosen");
      }
      if (precision != Precision::kF32) precisions_.emplace(graph_.FindNode(name), precision);
    }
    for (const auto& [name, grid] : plan_.weights) {
      if (!known.contains(name)) {
        Reject("the graph has no layer '" + name + "' whose weights have a grid");
      }
      const auto precision = precisions_.find(graph_.FindNode(name));
      if (precision == precisions_.end()) continue;
      if (precision->second == Precision::kBF16) {
        Reject("layer '" + name + "' is bf16, so its weights cannot have a grid");
      }
      if (grid.group > 0) {
        Reject("layer '" + name + "' is int8, whose weights have one scale a channel, not groups");
      }
      const auto& zeros = grid.zero_points;
      if (std::adjacent_find(zeros.begin(), zeros.end(), std::not_equal_to<>()) != zeros.end()) {
        Reject("layer '" + name + "' is int8, whose weights have one zero point, not several");
      }
    }
  }

  void StoreOutputs() {
    std::set<ValueId> scaled;
    for (const auto& [name, scale] : plan_.activations) scaled.insert(graph_.FindValue(name));
    // Count every layer output as scaled, so that a missing scale of an int8 layer is found and
    // rejected below.
    for (const LayerChain& chain : chains_) scaled.insert(chain.output);
    const StoragePlan storage = PlanStorage(graph_, chains_, precisions_, scaled);
    for (const auto& [value, precision] : storage.stored) {
      const std::vector<Use> readers = graph_.uses(value);
      const ValueId wide = Wide(value, precision);
      for (const Use& use : readers) graph_.SetInput(use.node, use.index, wide);
    }
  }

  void NarrowLayer(const LayerChain& chain) {
    const auto precision = precisions_.find(chain.producer);
    const auto listed = plan_.weights.find(graph_.node(chain.producer).name);
    const WeightGrid* grid = listed == plan_.weights.end() ? nullptr : &listed->second;
    if (precision == precisions_.end()) {
      if (grid != nullptr) (void)QuantizeWeights(graph_, chain, grid);
      return;
    }
    const ValueId x = graph_.node(chain.producer).inputs[0];
    graph_.SetInput(chain.producer, 0, Wide(x, precision->second));
    if (chain.residual_add != kNoNode) {
      // If the residual has a narrow copy, read that one: it is smaller than the f32 value.
      const ValueId residual = graph_.node(chain.residual_add).inputs[chain.residual_input];
      const auto copy = wide_.find({residual, precision->second});
      if (copy != wide_.end()) {
        graph_.SetInput(chain.residual_add, chain.residual_input, copy->second);
      }
    }
    if (precision->second == Precision::kBF16) {
      NarrowWeights(graph_, chain);
    } else {
      const auto x_scale = static_cast<float>(ScaleOf(x).scale);
      const std::vector<float> least = LeastWeightScales(graph_, chain, x_scale);
      QuantizeBias(graph_, chain, x_scale, QuantizeWeights(graph_, chain, grid, least));
    }
  }

  // Returns the f32 value that `value` becomes by narrowing to `precision` and widening again. Adds
  // the nodes if they do not exist yet.
  ValueId Wide(ValueId value, Precision precision) {
    const auto same = narrow_.find(value);
    if (same != narrow_.end() && same->second.second == precision) return value;
    const auto known = wide_.find({value, precision});
    if (known != wide_.end()) return known->second;
    const ValueId wide =
        precision == Precision::kBF16 ? AddCasts(value) : AddQuantization(value, ScaleOf(value));
    wide_.emplace(Stored{value, precision}, wide);
    narrow_.emplace(wide, Stored{Original(value), precision});
    return wide;
  }

  [[nodiscard]] ValueId Original(ValueId value) const {
    const auto it = narrow_.find(value);
    return it == narrow_.end() ? value : it->second.first;
  }

  [[nodiscard]] const TensorScale& ScaleOf(ValueId value) const {
    const std::string& name = graph_.value(Original(value)).name;
    const auto it = plan_.activations.find(name);
    if (it == plan_.activations.end()) {
      Reject("tensor '" + name + "' has no scale, but an int8 layer reads or writes it");
    }
    return it->second;
  }

  // Returns the node behind the producer of `value`: nodes are inserted there, so that every reader
  // can be redirected.
  [[nodiscard]] NodeId PlaceAfter(ValueId value) const {
    const auto& order = graph_.order();
    const auto producer = std::find(order.begin(), order.end(), graph_.producer(value));
    const auto next = producer == order.end() ? order.begin() : producer + 1;
    return next == order.end() ? kNoNode : *next;
  }

  ValueId AddNode(ValueId after, Node node, DType dtype) {
    ValueType type = graph_.type(after);
    type.dtype = dtype;
    const ValueId made = graph_.AddValue(graph_.FreeValueName(node.name), std::move(type));
    node.name = graph_.FreeNodeName(node.name);
    node.outputs = {made};
    graph_.AddNode(std::move(node), PlaceAfter(after));
    return made;
  }

  ValueId AddQuantization(ValueId value, const TensorScale& scale) {
    const std::string stem = graph_.value(value).name;
    const DType dtype = scale.dtype == "u8" ? DType::kU8 : DType::kI8;
    Tensor step(DType::kF32, {});
    step.MutableValues<float>().front() = static_cast<float>(scale.scale);
    Tensor zero(dtype, {});
    if (dtype == DType::kU8) {
      zero.MutableValues<std::uint8_t>().front() = static_cast<std::uint8_t>(scale.zero_point);
    } else {
      zero.MutableValues<std::int8_t>().front() = static_cast<std::int8_t>(scale.zero_point);
    }
    const ValueId s = AddNamedConstant(graph_, stem, "_scale", std::move(step));
    const ValueId z = AddNamedConstant(graph_, stem, "_zero_point", std::move(zero));
    const ValueId cut = scale.bits == 8 ? value : AddClip(value, scale);
    const ValueId q =
        AddNode(cut, Layer(stem + "_quantized", "QuantizeLinear", {cut, s, z}), dtype);
    return AddNode(q, Layer(stem + "_dequantized", "DequantizeLinear", {q, s, z}), DType::kF32);
  }

  /// Clips `value` to the levels of `scale`: QuantizeLinear itself saturates only at 8 bits.
  ValueId AddClip(ValueId value, const TensorScale& scale) {
    const std::string stem = graph_.value(value).name;
    const Levels levels = LevelsOf(scale);
    const auto bound = [&](std::int64_t level, const char* suffix) {
      Tensor tensor(DType::kF32, {});
      tensor.MutableValues<float>().front() =
          static_cast<float>(level - scale.zero_point) * static_cast<float>(scale.scale);
      return AddNamedConstant(graph_, stem, suffix, std::move(tensor));
    };
    const ValueId least = bound(levels.least, "_least");
    const ValueId most = bound(levels.most, "_most");
    return AddNode(value, Layer(stem + "_cut", "Clip", {value, least, most}), DType::kF32);
  }

  ValueId AddCasts(ValueId value) {
    const std::string stem = graph_.value(value).name;
    Node narrow = Layer(stem + "_bf16", "Cast", {value});
    narrow.attrs = {{"to", static_cast<std::int64_t>(DType::kBF16)}};
    const ValueId q = AddNode(value, std::move(narrow), DType::kBF16);
    Node wide = Layer(stem + "_f32", "Cast", {q});
    wide.attrs = {{"to", static_cast<std::int64_t>(DType::kF32)}};
    return AddNode(q, std::move(wide), DType::kF32);
  }

  static Node Layer(std::string name, std::string op, std::vector<ValueId> inputs) {
    return {.name = std::move(name),
            .op = std::move(op),
            .domain = "",
            .inputs = std::move(inputs),
            .outputs = {},
            .captures = {},
            .attrs = {}};
  }

  const QuantizePlan& plan_;
  Graph& graph_;
  std::vector<LayerChain> chains_;
  LayerPrecisions precisions_;
  std::map<Stored, ValueId> wide_;    ///< value and precision -> f32 value behind the narrow one
  std::map<ValueId, Stored> narrow_;  ///< the inverse of wide_
};

}  // namespace

void ApplyQuantizePlan(const QuantizePlan& plan, Graph& graph) {
  Graph applied = graph;  // if the plan is rejected, `graph` stays unchanged
  PlanApplier(plan, applied).Run();
  graph = std::move(applied);
}

}  // namespace msc
