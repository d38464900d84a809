#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/base/shape.h"
#include "compiler/ir/graph.h"
#include "compiler/strategy/strategy.h"

namespace msc {

/// A Conv, ConvTranspose, Gemm or MatMul whose second operand is a constant of floats, or an LSTM
/// whose W and R are.
struct WeightedLayer {
  NodeId node = kNoNode;
  ValueId weight = kNoValue;
  std::size_t out_axis = 0;      ///< output channels in the weights; in ConvTranspose of one group
  std::size_t in_axis = 1;       ///< input channels in the weights, of one group
  ValueId channels = kNoValue;   ///< the output; R of an LSTM, whose outputs may all be absent
  std::size_t channel_axis = 1;  ///< axis of output channels in `channels`
};
/// Returns all such layers, in graph order.
[[nodiscard]] std::vector<WeightedLayer> FindWeightedLayers(const Graph& graph);

/// Units that are chosen among each other; a density refers to a group. A unit is the smallest set
/// of channels that can be removed: a channel, an attention head, the same channel of every branch
/// of a residual sum.
struct PruneGroup {
  std::string name;                 ///< name of its first layer
  std::vector<std::string> layers;  ///< layers whose output channels it cuts, in graph order
  std::size_t first_unit = 0;       ///< units are numbered across all groups
  std::size_t units = 0;            ///< >= 2
  std::int64_t unit_channels = 1;   ///< output channels of the first layer in one unit
};

/// The reason of a layer that a quantized model holds as integers.
inline constexpr const char* kIntegerWeights =
    "its weights are stored as integers; prune the f32 model, and quantize it then";
/// A layer none of whose output channels can be removed, and the reason. It may be none of
/// FindWeightedLayers.
struct FixedLayer {
  std::string layer;
  std::string reason;
};

/// What structured pruning can remove from a canonical graph: for every axis of every value, the
/// indices that can only be removed together.
///
/// Exact through elementwise operators with broadcasting, residual sums, Concat, Split, Slice,
/// Gather by constants, Transpose, Reshape and Flatten (also channel shuffles and attention heads),
/// depthwise and grouped convolutions, LSTM, pools and per-channel normalisation. Axes stay whole
/// in operators that mix an axis (Softmax, LayerNormalization, means), in unknown operators, and in
/// the model's inputs and outputs. Of an axis that Reshape splits, one factor can be cut: the one
/// that nothing else fixes; if there is a choice, heads if the last axis is split, else the larger
/// factor.
class PruneSpace {
 public:
  explicit PruneSpace(const Graph& canonical);

  [[nodiscard]] const std::vector<PruneGroup>& groups() const { return groups_; }
  [[nodiscard]] const std::vector<FixedLayer>& fixed() const { return fixed_; }
  [[nodiscard]] std::size_t units() const { return unit_count_; }
  [[nodiscard]] const PruneGroup* Find(std::string_view group) const;  ///< nullptr if unknown
  /// Returns why there is no group named `layer`: it is fixed, cut with another layer, or missing.
  [[nodiscard]] std::string WhyNone(const std::string& layer) const;

  /// Returns the unit of every index along an axis, -1 if the index always stays; empty if all
  /// stay.
  [[nodiscard]] const std::vector<std::int32_t>& Units(ValueId value, std::size_t axis) const;
  /// Returns all axes that can be cut, with their units. Has values that the graph has not, for the
  /// copies of lists that several layers read (unshare.h).
  [[nodiscard]] const std::map<std::pair<ValueId, std::size_t>, std::vector<std::int32_t>>& axes()
      const {
    return axes_;
  }
  /// Returns the sizes of a value with symbols counted as 1; nullptr if they are unknown before
  /// running.
  [[nodiscard]] const Dims* Sizes(ValueId value) const;

  /// Has KeptMacs count at these sizes of the symbols of `canonical`, the graph of the constructor.
  /// What can be cut stays the same. UserError if the graph does not take them.
  void CountAt(const Graph& canonical, const ShapeBindings& sizes);
  /// Returns the sizes at which KeptMacs counts: those of CountAt, else those of Sizes.
  [[nodiscard]] const Dims* CountedSizes(ValueId value) const;

 private:
  std::vector<PruneGroup> groups_;
  std::vector<FixedLayer> fixed_;
  std::map<std::pair<ValueId, std::size_t>, std::vector<std::int32_t>> axes_;
  std::map<ValueId, Dims> sizes_;
  std::map<ValueId, Dims> counted_;
  std::size_t unit_count_ = 0;
};

/// Returns for each unit whether it stays. UserError if the plan names a group that the graph does
/// not have, has another number of units for it (a plan for another graph), keeps none of them, or
/// would leave some value without any channel.
[[nodiscard]] std::vector<bool> KeptUnits(const PruneSpace& space, const PrunePlan& plan);

/// Removes the units that the plan does not keep: weights get smaller shapes; groups, split sizes,
/// slice bounds and target shapes follow. UserError as KeptUnits, with the graph unchanged. Does
/// nothing for an empty plan.
void ApplyPrunePlan(const PrunePlan& plan, Graph& graph);

/// Gives the same outputs as ApplyPrunePlan and keeps all shapes: sets the weights by which later
/// layers read a removed channel to zero; where a layer multiplies two computed values, inserts a
/// Mul with zeros and ones in front. Outputs differ only if a kernel adds in another order; adding
/// zeros is exact.
void MaskPrunePlan(const PrunePlan& plan, Graph& graph);

/// Returns the multiply-adds of a node (Conv, ConvTranspose, Gemm, MatMul, LSTM) if only kept units
/// remain, at PruneSpace::CountedSizes; 0 for other nodes and unknown sizes.
[[nodiscard]] double KeptMacs(const Graph& graph, const PruneSpace& space, NodeId node,
                              const std::vector<bool>& kept);
/// Returns the bytes of all constants if only kept units remain.
[[nodiscard]] double KeptBytes(const Graph& graph, const PruneSpace& space,
                               const std::vector<bool>& kept);

}  // namespace msc
