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
  std::int64_t end = 0;    ///< first <= end <= size if step is 1
  std::int64_t step = 1;
};
/// Returns the ranges of the axes that a Slice node names, with negative and too large bounds
/// resolved; nullopt if bounds are not constant. `dims` are the sizes of its data.
[[nodiscard]] std::optional<std::map<std::size_t, SliceCut>> ReadSlice(const Graph& graph,
                                                                       const Node& node,
                                                                       const Dims& dims);
/// Returns the integers of a constant of any length; nullopt if `value` is none.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ConstantList(const Graph& graph,
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
  [[nodiscard]] std::size_t OutRank(std::size_t output = 0) const;
  [[nodiscard]] Axis In(std::size_t input, std::size_t axis) const;
  [[nodiscard]] Axis Out(std::size_t axis, std::size_t output = 0) const;
  /// Returns the attribute "axis", relative to input 0, as 0..rank-1.
  [[nodiscard]] std::size_t AxisAttr(std::int64_t otherwise) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> Ints(std::size_t input) const;
  [[nodiscard]] std::optional<std::map<std::size_t, SliceCut>> ReadSlice() const;
  /// For a Pad node: returns whether it adds or cuts off entries along an axis, or may do so.
  [[nodiscard]] bool MovesByPadding(std::size_t axis) const;

  [[nodiscard]] Axis AddAxis(std::int64_t size);
  void Unite(Axis a, Axis b);
  /// States that `part` is indices `offset`... of `whole`.
  void UnitePart(Axis part, Axis whole, std::uint32_t offset);
  /// States that index i of `list` is index picks[i] of `whole`.
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
