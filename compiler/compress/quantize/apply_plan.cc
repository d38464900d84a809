#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/base/error.h"
#include "compiler/compress/quantize/qdq.h"
#include "compiler/compress/quantize/quantize.h"
#include "compiler/compress/quantize/storage.h"
#include "compiler/compress/quantize/weights.h"
#include "compiler/passes/passes.h"

namespace msc {
namespace {

[[noreturn]] void Reject(const std::string& what) {
  throw UserError("quantize plan: " + what);
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

void CheckTensors(const QuantizePlan& plan, const Graph& graph) {
  for (const auto& [name, scale] : plan.activations) {
    if (graph.FindValue(name) == kNoValue) Reject("the graph has no tensor '" + name + "'");
    CheckScale(name, scale);
  }
}

LayerPrecisions ReadPrecisions(const QuantizePlan& plan, const Graph& graph,
                               const std::vector<LayerChain>& chains) {
  LayerPrecisions precisions;
  std::set<std::string> known;
  for (const LayerChain& chain : chains) known.insert(graph.node(chain.producer).name);
  for (const auto& [name, precision] : plan.layers) {
    if (!known.contains(name)) {
      Reject("the graph has no layer '" + name + "' whose precision can be chosen");
    }
    if (precision != Precision::kF32) precisions.emplace(graph.FindNode(name), precision);
  }
  for (const auto& [name, grid] : plan.weights) {
    if (!known.contains(name)) {
      Reject("the graph has no layer '" + name + "' whose weights have a grid");
    }
    const auto precision = precisions.find(graph.FindNode(name));
    if (precision == precisions.end()) continue;
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
  return precisions;
}

ValueId AddCasts(ValueId value, Graph& graph) {
  const std::string stem = graph.value(value).name;
  const auto cast = [&](ValueId from, const char* suffix, DType to) {
    return AddBehind(stem + suffix, "Cast", {from}, to, graph,
                     {{"to", static_cast<std::int64_t>(to)}});
  };
  return cast(cast(value, "_bf16", DType::kBF16), "_f32", DType::kF32);
}

/// The f32 values that come from narrowing values of a graph and widening them again.
class WideCopies {
 public:
  WideCopies(const std::map<std::string, TensorScale>& scales, Graph& graph)
      : scales_(scales), graph_(graph) {}

  /// Returns the copy of `value`. Adds the nodes if they do not exist yet.
  ValueId Get(ValueId value, Precision precision) {
    const auto same = narrow_.find(value);
    if (same != narrow_.end() && same->second.second == precision) return value;
    if (const auto known = Find(value, precision)) return *known;
    const ValueId wide = precision == Precision::kBF16
                             ? AddCasts(value, graph_)
                             : AddQuantization(value, ScaleOf(value), graph_);
    wide_.emplace(Stored{value, precision}, wide);
    narrow_.emplace(wide, Stored{Original(value), precision});
    return wide;
  }

  [[nodiscard]] std::optional<ValueId> Find(ValueId value, Precision precision) const {
    const auto known = wide_.find({value, precision});
    return known == wide_.end() ? std::nullopt : std::optional(known->second);
  }

  /// Returns the scale of what `value` is a copy of.
  [[nodiscard]] const TensorScale& ScaleOf(ValueId value) const {
    const std::string& name = graph_.value(Original(value)).name;
    const auto it = scales_.find(name);
    if (it == scales_.end()) {
      Reject("tensor '" + name + "' has no scale, but an int8 layer reads or writes it");
    }
    return it->second;
  }

 private:
  using Stored = std::pair<ValueId, Precision>;

  [[nodiscard]] ValueId Original(ValueId value) const {
    const auto it = narrow_.find(value);
    return it == narrow_.end() ? value : it->second.first;
  }

  const std::map<std::string, TensorScale>& scales_;
  Graph& graph_;
  std::map<Stored, ValueId> wide_;    ///< value and precision -> f32 value behind the narrow one
  std::map<ValueId, Stored> narrow_;  ///< the inverse of wide_
};

/// Lets all readers of what is stored narrow read its copy.
void StoreOutputs(const QuantizePlan& plan, const std::vector<LayerChain>& chains,
                  const LayerPrecisions& precisions, Graph& graph, WideCopies& copies) {
  std::set<ValueId> scaled;
  for (const auto& [name, scale] : plan.activations) scaled.insert(graph.FindValue(name));
  // Count every layer output as scaled, so that a missing scale of an int8 layer is found and
  // rejected below.
  for (const LayerChain& chain : chains) scaled.insert(chain.output);
  const StoragePlan storage = PlanStorage(graph, chains, precisions, scaled);
  for (const auto& [value, precision] : storage.stored) {
    const std::vector<Use> readers = graph.uses(value);
    const ValueId wide = copies.Get(value, precision);
    for (const Use& use : readers) graph.SetInput(use.node, use.index, wide);
  }
}

void NarrowLayer(const QuantizePlan& plan, const LayerChain& chain,
                 const LayerPrecisions& precisions, Graph& graph, WideCopies& copies) {
  const auto precision = precisions.find(chain.producer);
  const auto listed = plan.weights.find(graph.node(chain.producer).name);
  const WeightGrid* grid = listed == plan.weights.end() ? nullptr : &listed->second;
  if (precision == precisions.end()) {
    if (grid != nullptr) (void)QuantizeWeights(graph, chain, grid);
    return;
  }
  const ValueId x = graph.node(chain.producer).inputs[0];
  graph.SetInput(chain.producer, 0, copies.Get(x, precision->second));
  if (chain.residual_add != kNoNode) {
    // If the residual has a narrow copy, read that one: it is smaller than the f32 value.
    const ValueId residual = graph.node(chain.residual_add).inputs[chain.residual_input];
    if (const auto copy = copies.Find(residual, precision->second)) {
      graph.SetInput(chain.residual_add, chain.residual_input, *copy);
    }
  }
  if (precision->second == Precision::kBF16) {
    NarrowWeights(graph, chain);
  } else {
    const auto x_scale = static_cast<float>(copies.ScaleOf(x).scale);
    const std::vector<float> least = LeastWeightScales(graph, chain, x_scale);
    QuantizeBias(graph, chain, x_scale, QuantizeWeights(graph, chain, grid, least));
  }
}

}  // namespace

void ApplyQuantizePlan(const QuantizePlan& plan, Graph& graph) {
  CheckTensors(plan, graph);
  const std::vector<LayerChain> chains = FloatLayerChains(graph);
  const LayerPrecisions precisions = ReadPrecisions(plan, graph, chains);
  if (precisions.empty() && plan.weights.empty()) return;
  Graph applied = graph;  // if the plan is rejected, `graph` stays unchanged
  WideCopies copies(plan.activations, applied);
  StoreOutputs(plan, chains, precisions, applied, copies);
  for (const LayerChain& chain : chains) NarrowLayer(plan, chain, precisions, applied, copies);
  RemoveDeadCode(applied);
  graph = std::move(applied);
}

}  // namespace msc
