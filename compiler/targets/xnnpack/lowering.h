#pragma once

// Internal to this folder: includes xnnpack.h.

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

/// The memory layout of a value: dense as in the graph, or channels last. The two differ only for
/// values of four dimensions with several channels and several positions.
enum class Layout : std::uint8_t { kDense, kChannelsLast };

/// Sets the buffer addresses of an operator, in the order in which Lowering::Add got the buffers.
using Setup = std::function<xnn_status(xnn_operator_t op, std::span<float* const> addresses,
                                       pthreadpool_t threads)>;

/// Owns an operator; null if the library could not create it.
using Operator = std::shared_ptr<xnn_operator>;
/// Calls `create(&op)` and takes ownership of the operator.
template <class Create>
[[nodiscard]] Operator MakeOperator(const Create& create) {
  xnn_operator_t op = nullptr;
  if (create(&op) != xnn_status_success) return nullptr;
  return {op, [](xnn_operator_t made) { (void)xnn_delete_operator(made); }};
}

/// Lowers the nodes of a region in order and tracks the buffer and layout of every value. Without a
/// builder it only checks: it creates and drops operators, so a node is supported exactly if
/// lowering it alone succeeds.
class Lowering {
 public:
  Lowering(const Graph& graph, std::span<const NodeId> nodes);
  Lowering(const Region& region, int threads, ExecutableBuilder& builder);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  /// Returns the dims of an f32 tensor with elements; nullopt for other values.
  [[nodiscard]] std::optional<Dims> DimsOf(ValueId value) const;
  /// Returns the values of an f32 constant in `layout`; nullopt for other values.
  [[nodiscard]] std::optional<std::vector<float>> Constant(ValueId value, Layout layout) const;

  /// Returns the flags to create an operator of the node with. The library's threads wait for the
  /// next operator in a busy loop, but yield their cores after the last operator of a region.
  [[nodiscard]] std::uint32_t Flags(NodeId node) const;

  /// Returns a buffer with the value in `layout`, which is padded because the library reads a
  /// little past its end.
  [[nodiscard]] BufferId In(ValueId value, Layout layout);
  /// Returns a buffer for the caller to write `value` in `layout` to.
  [[nodiscard]] BufferId Out(ValueId value, Layout layout);
  /// Returns a temporary buffer with as many elements as `like`.
  [[nodiscard]] BufferId Scratch(ValueId like);
  /// Adds one library call. `setup` gets the addresses of `buffers`, the last of which is written.
  void Add(Operator op, Setup setup, std::vector<BufferId> buffers, NodeId node);
  /// Declares that `value` in `layout` is the same memory as `of` in `of_layout`.
  void Same(ValueId value, Layout layout, ValueId of, Layout of_layout);
  /// Makes `value` available outside the region. Call it after the step that computes `value`.
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

/// Lowers one node. Returns false if the library cannot compute it.
[[nodiscard]] bool LowerNode(Lowering& lowering, NodeId id);

}  // namespace msc::xnnpack
