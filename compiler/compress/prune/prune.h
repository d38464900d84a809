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
  std::size_t out_axis = 0;      ///< of the weights: output channels (of a group in ConvTranspose)
  std::size_t in_axis = 1;       ///< of the weights: input channels, of one group
  ValueId channels = kNoValue;   ///< the output; R of an LSTM, none of whose outputs may be there
  std::size_t channel_axis = 1;  ///< of `channels`: output channels
};
/// In graph order.
[[nodiscard]] std::vector<WeightedLayer> FindWeightedLayers(const Graph& graph);

/// Channels that are chosen among each other: a density refers to a group. A unit is what can only
/// be removed as a whole: a channel, an attention head, the same channel of every branch of a
/// residual sum.
struct PruneGroup {
  std::string name;                 ///< its first layer
  std::vector<std::string> layers;  ///< whose output channels it cuts, in graph order
  std::size_t first_unit = 0;       ///< units are numbered over all groups
  std::size_t units = 0;            ///< >= 2
  std::int64_t unit_channels = 1;   ///< output channels of the first layer that a unit holds
};

/// A layer none of whose output channels can be removed, and why.
struct FixedLayer {
  std::string layer;
  std::string reason;
};

/// What structured pruning can remove from a canonical graph: for every axis of every value, which
/// of its indices go together with which others.
///
/// Exact through elementwise operators with broadcasting, residual sums, Concat, Split, Slice,
/// Gather by constants, Transpose, Reshape and Flatten (also channel shuffles and attention heads),
/// depthwise and grouped convolutions, LSTM, pools and per-channel normalisation. Operators that
/// mix an axis (Softmax, LayerNormalization, means) keep it whole, and so do unknown operators and
/// the model's own inputs and outputs. Of an axis that Reshape splits one factor can be cut: the
/// one that nothing else fixes; heads where the last axis is split, else the larger one.
class PruneSpace {
 public:
  explicit PruneSpace(const Graph& canonical);

  [[nodiscard]] const std::vector<PruneGroup>& groups() const { return groups_; }
  [[nodiscard]] const std::vector<FixedLayer>& fixed() const { return fixed_; }
  [[nodiscard]] std::size_t units() const { return unit_count_; }
  [[nodiscard]] const PruneGroup* Find(std::string_view group) const;  ///< nullptr if unknown
  /// Why a layer has no group of its own name: it is fixed, cut with another, or not there.
  [[nodiscard]] std::string WhyNone(const std::string& layer) const;

  /// Unit of every index along an axis, -1 where the index always stays; empty where all stay.
  [[nodiscard]] const std::vector<std::int32_t>& Units(ValueId value, std::size_t axis) const;
  /// All axes that can be cut, with their units.
  [[nodiscard]] const std::map<std::pair<ValueId, std::size_t>, std::vector<std::int32_t>>& axes()
      const {
    return axes_;
  }
  /// Sizes of a value with symbols counted as 1; nullptr where they are not known before running.
  [[nodiscard]] const Dims* Sizes(ValueId value) const;

 private:
  std::vector<PruneGroup> groups_;
  std::vector<FixedLayer> fixed_;
  std::map<std::pair<ValueId, std::size_t>, std::vector<std::int32_t>> axes_;
  std::map<ValueId, Dims> sizes_;
  std::size_t unit_count_ = 0;
};

/// Whether each unit stays. UserError where the plan names a group that the graph does not have,
/// counts its units otherwise (a plan for another graph), keeps none, or would leave some value
/// without any channel.
[[nodiscard]] std::vector<bool> KeptUnits(const PruneSpace& space, const PrunePlan& plan);

/// Removes what the plan does not keep: weights get smaller shapes, and groups, split sizes, slice
/// bounds and target shapes follow. UserError as KeptUnits, with the graph unchanged. Does nothing
/// for an empty plan.
void ApplyPrunePlan(const PrunePlan& plan, Graph& graph);

/// Same outputs as ApplyPrunePlan with all shapes kept: the weights by which later layers read a
/// removed channel are zero; where they multiply two computed values, a Mul with 0 and 1 stands in
/// front. Equal but for the order in which a kernel adds; zeros themselves add exactly.
void MaskPrunePlan(const PrunePlan& plan, Graph& graph);

/// Multiply-adds of one node that multiplies (Conv, ConvTranspose, Gemm, MatMul, LSTM) with only
/// the kept units there, symbols counted as 1; 0 for other nodes and unknown sizes.
[[nodiscard]] double KeptMacs(const Graph& graph, const PruneSpace& space, NodeId node,
                              const std::vector<bool>& kept);
/// Bytes of all constants with only the kept units there.
[[nodiscard]] double KeptBytes(const Graph& graph, const PruneSpace& space,
                               const std::vector<bool>& kept);

}  // namespace msc
