#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compress/prune/axes.h"
#include "compiler/ir/graph.h"

namespace msc {

/// What Slice does along one axis.
struct SliceCut {
  std::int64_t first = 0;  ///< 0 <= first <= size
  std::int64_t end = 0;    ///< first <= end <= size where step is 1
  std::int64_t step = 1;
};
/// The axes that a Slice node names, with negative and overlong bounds resolved; nullopt where they
/// are not constants. `dims` are those of its data.
[[nodiscard]] std::optional<std::map<std::size_t, SliceCut>> ReadSlice(const Graph& graph,
                                                                       const Node& node,
                                                                       const Dims& dims);
/// The integers of a constant of any length; nullopt if `value` is none.
[[nodiscard]] std::optional<std::vector<std::int64_t>> ConstantList(const Graph& graph,
                                                                    ValueId value);

/// The axes of one node's inputs and outputs, for the rules in relations.cc. Absent outputs count
/// as not there; reasons are completed with the node's name.
class NodeAxes {
 public:
  NodeAxes(const Graph& graph, NodeId id, GraphAxes& axes);

  [[nodiscard]] const Node& node() const { return node_; }
  /// Inputs up to the last one that is present. No rule has an absent one in between but Clip,
  /// Resize and Pad, which look at input 0 alone, and LSTM, which asks.
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] bool Has(std::size_t input) const;
  /// Whether the sizes of all inputs and outputs are known.
  [[nodiscard]] bool Known() const;
  [[nodiscard]] std::size_t InRank(std::size_t input) const;
  [[nodiscard]] std::size_t OutRank(std::size_t output = 0) const;
  [[nodiscard]] Axis In(std::size_t input, std::size_t axis) const;
  [[nodiscard]] Axis Out(std::size_t axis, std::size_t output = 0) const;
  /// Attribute "axis" of input 0 as 0..rank-1.
  [[nodiscard]] std::size_t AxisAttr(std::int64_t otherwise) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> Ints(std::size_t input) const;
  [[nodiscard]] std::optional<std::map<std::size_t, SliceCut>> ReadSlice() const;
  /// Of a Pad node: whether entries are added or cut off along an axis, or it is not known.
  [[nodiscard]] bool MovesByPadding(std::size_t axis) const;

  [[nodiscard]] Axis AddAxis(std::int64_t size);
  void Unite(Axis a, Axis b);
  /// `part` is indices `offset`... of `whole`.
  void UnitePart(Axis part, Axis whole, std::uint32_t offset);
  /// Index i of `list` is index picks[i] of `whole`.
  void UnitePicks(Axis list, Axis whole, const std::vector<std::int64_t>& picks);
  void AddProduct(Axis whole, const std::vector<Axis>& factors, AxisClasses::Prefer prefer);
  void Fix(Axis axis, const std::string& why);
  void FixIn(std::size_t input, const std::string& why);
  void FixOut(std::size_t output, const std::string& why);
  /// Every axis of every input (captures too) and output.
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
