#pragma once

// Of this folder only: brings xnnpack.h.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <xnnpack.h>

#include "compiler/targets/target.h"

namespace msc::xnnpack {

/// How a value lies in memory: as the graph says, or channels last. The same bytes for all but
/// values of four dimensions with several channels and several positions.
enum class Layout : std::uint8_t { kDense, kChannelsLast };

/// Sets the addresses of an operator: those of the buffers it was added with, in their order.
using Setup = std::function<xnn_status(xnn_operator_t op, std::span<float* const> addresses,
                                       pthreadpool_t threads)>;

/// Owns an operator. Null where the library refused to make it.
using Operator = std::shared_ptr<xnn_operator>;
/// Calls `create(&op)` and takes the operator over.
template <class Create>
[[nodiscard]] Operator Make(const Create& create) {
  xnn_operator_t op = nullptr;
  if (create(&op) != xnn_status_success) return nullptr;
  return {op, [](xnn_operator_t made) { (void)xnn_delete_operator(made); }};
}

/// Lowers the nodes of a region in order, keeping track of where every value is and in which
/// layout. Without a builder it only checks: operators are made and dropped, so a node is supported
/// exactly if lowering it alone succeeds.
class Lowering {
 public:
  Lowering(const Graph& graph, std::span<const NodeId> nodes);
  Lowering(const Region& region, int threads, ExecutableBuilder& builder);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  /// Dims of an f32 tensor with elements; none for other values.
  [[nodiscard]] std::optional<Dims> DimsOf(ValueId value) const;
  /// The values of an f32 constant, in the layout; none where it is no constant.
  [[nodiscard]] std::optional<std::vector<float>> Constant(ValueId value, Layout layout) const;

  /// What an operator of the node is made with: the library's threads wait for the next operator
  /// busily, but leave their cores to others after the last one of a region.
  [[nodiscard]] std::uint32_t Flags(NodeId node) const;

  /// The value in a layout, in memory that may be read a little past its end, as the library does.
  [[nodiscard]] BufferId In(ValueId value, Layout layout);
  /// Where `value` shall be written in a layout.
  [[nodiscard]] BufferId Out(ValueId value, Layout layout);
  /// Memory inside one node, of as many elements as `like`.
  [[nodiscard]] BufferId Scratch(ValueId like);
  /// One call of the library. `buffers` are what `setup` gets; the last one is written.
  void Add(Operator op, Setup setup, std::vector<BufferId> buffers, NodeId node);
  /// `value` in `layout` is the same memory as `of` in `of_layout`.
  void Same(ValueId value, Layout layout, ValueId of, Layout of_layout);
  /// To be called when the step that makes `value` is there: hands it to readers elsewhere.
  void Finish(ValueId value);

 private:
  [[nodiscard]] bool LeavesRegion(ValueId value) const;
  [[nodiscard]] bool Turns(ValueId value, Layout layout) const;
  [[nodiscard]] BufferId NewBuffer(ValueId like);
  void AddTurn(ValueId value, Layout to, BufferId from, BufferId into);

  const Graph& graph_;
  std::map<NodeId, bool> inside_;
  ExecutableBuilder* builder_ = nullptr;
  int threads_ = 1;
  NodeId last_ = kNoNode;
  std::map<std::pair<ValueId, Layout>, BufferId> places_;
};

/// Lowers one node; false where the library cannot do it.
[[nodiscard]] bool LowerNode(Lowering& lowering, NodeId id);

}  // namespace msc::xnnpack
