#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/prune/axes.h"
#include "compiler/ir/graph.h"

namespace msc {

/// The range that Slice takes along one axis.
struct SliceCut {
  std::int64_t first = 0;  ///< 0 <= first <= size
  std::int64_t end = 0;    ///< first <= end <= size if step > 0; -1 <= end <= first if step < 0
  std::int64_t step = 1;   ///< not 0
};
/// Returns the indices that it takes, in its order.
[[nodiscard]] std::vector<std::int64_t> PicksOf(const SliceCut& cut);
/// Returns the ranges of the axes that a Slice node names, with negative and too large bounds
/// resolved; nullopt if bounds are not constant. `dims` are the sizes of its data.
[[nodiscard]] std::optional<std::map<std::size_t, SliceCut>> ReadSlice(const Graph& graph,
                                                                       const Node& node,
                                                                       const Dims& dims);
/// Returns the sizes of the parts that a Split node makes, also of those that are absent from its
/// outputs; nullopt if they are not constant. `size` is that of the axis it splits.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ReadSplit(const Graph& graph,
                                                                 const Node& node,
                                                                 std::int64_t size);
/// Returns the axes of size 1.
[[nodiscard]] std::vector<std::int64_t> AxesOfOne(const Dims& dims);
/// Returns the integers of a constant of any length; nullopt if `value` is none.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ConstantList(const Graph& graph,
                                                                    ValueId value);

/// Returns the entries of a target shape, those that are computed as nullopt: a constant list, or a
/// Concat of constant lists and computed lists of one entry; nullopt for other values.
[[nodiscard]] std::optional<std::vector<std::optional<std::int64_t>>> ReadTarget(const Graph& graph,
                                                                                 ValueId value);

/// The axes of one node's inputs and outputs, for the rules in relations.cc. Adds the node's name
/// to reasons.
class NodeAxes {
 public:
  NodeAxes(const Graph& graph, NodeId id, GraphAxes& axes);

  [[nodiscard]] const Node& node() const { return node_; }
  /// Returns the number of inputs up to the last one that is present. Inputs in between are absent
  /// only for Clip, Resize and Pad, whose rules read input 0 only, and for LSTM, whose rule checks.
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] bool Has(std::size_t input) const;
  /// Returns whether the sizes of all inputs and outputs are known.
  [[nodiscard]] bool Known() const;
  [[nodiscard]] std::size_t InRank(std::size_t input) const;
  /// Returns whether a size of an input is known only when the model runs.
  [[nodiscard]] bool IsOpen(std::size_t input) const;
  /// Returns the axes of input 0 of size 1.
  [[nodiscard]] std::vector<std::int64_t> AxesOfOneEntry() const;
  [[nodiscard]] std::size_t OutRank(std::size_t output = 0) const;
  [[nodiscard]] Axis In(std::size_t input, std::size_t axis) const;
  [[nodiscard]] Axis Out(std::size_t axis, std::size_t output = 0) const;
  /// Returns the attribute "axis", relative to input 0, as 0..rank-1.
  [[nodiscard]] std::size_t AxisAttr(std::int64_t otherwise) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> Ints(std::size_t input) const;
  [[nodiscard]] std::optional<std::map<std::size_t, SliceCut>> ReadSlice() const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ReadSplit(std::size_t axis) const;
  /// Returns the nodes that read output 0; nullopt if it is an output of the model.
  [[nodiscard]] std::optional<std::vector<const Node*>> Readers() const;
  /// Returns the entries that a reader takes of output 0, a list: the constant picks of a Gather or
  /// Slice; nullopt if it may take any.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> EntriesTakenBy(const Node& reader) const;
  /// Reads the target shape of a Reshape.
  [[nodiscard]] std::optional<std::vector<std::optional<std::int64_t>>> ReadTarget() const;
  /// For a Pad node: returns whether it adds or cuts off entries along an axis, or may do so.
  [[nodiscard]] bool MovesByPadding(std::size_t axis) const;

  [[nodiscard]] Axis AddAxis(std::int64_t size);
  void Unite(Axis a, Axis b);
  /// States that `part` is indices `offset`... of `whole`.
  void UnitePart(Axis part, Axis whole, std::uint32_t offset);
  /// States that index i of `list` is index picks[i] of `whole`, counted from the end if negative.
  /// Fixes both if one does not exist: nothing has checked constants that come from a file.
  void UnitePicks(Axis list, Axis whole, const std::vector<std::int64_t>& picks);
  void AddProduct(Axis whole, const std::vector<Axis>& factors, AxisClasses::Prefer prefer);
  void Fix(Axis axis, const std::string& why);
  void FixIn(std::size_t input, const std::string& why);
  void FixOut(std::size_t output, const std::string& why);
  /// Fixes every axis of every input (captures, too) and output.
  void FixAll(const std::string& why);

 private:
  void FixValue(ValueId value, const std::string& why);
  [[nodiscard]] std::string Reason(const std::string& why) const;

  const Graph& graph_;
  const Node& node_;
  GraphAxes& axes_;
  std::size_t inputs_ = 0;
  std::size_t outputs_ = 0;
};

}  // namespace msc
