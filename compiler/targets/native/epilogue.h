#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ops/fused.h"
#include "compiler/targets/native/loop_nest.h"
#include "compiler/targets/native/lowering.h"

namespace msc::native {

/// Nodes that one kernel computes. The anchor does the main work. Each follower is elementwise and
/// takes the value of the previous node, still in registers, as its input `flow`.
struct Group {
  NodeId anchor = kNoNode;
  struct Follower {
    NodeId node = kNoNode;
    std::size_t flow = 0;
  };
  std::vector<Follower> followers = {};
  /// Empty, or one group of elementwise nodes that computes input 0 of the anchor while the anchor
  /// reads it, so that the input is never in memory as a whole.
  std::vector<Group> prologue = {};

  /// Returns all nodes in an order in which they can be computed.
  [[nodiscard]] std::vector<NodeId> nodes() const;
};
/// Returns the value that a group computes.
[[nodiscard]] ValueId ResultOf(const Graph& graph, const Group& group);

/// The path of a result from the registers of the anchor's kernel to memory: the epilogue of a
/// fused operator (scale, bias, residual, activation, rounding), then the followers, then the
/// store.
class Epilogue {
 public:
  /// `out` is the destination of the result. Copies operands whose neighbours along `axis` are not
  /// adjacent, by calls before the kernel's.
  Epilogue(Lowering& lowering, const Group& group, View out, std::size_t axis)
      : Epilogue(lowering, group, std::move(out), axis, axis) {}
  /// `channels` is the axis along which a fused operator's per-channel parameters vary, if it is
  /// not `axis`.
  Epilogue(Lowering& lowering, const Group& group, View out, std::size_t axis,
           std::size_t channels);

  /// Stores values of `graph` and does nothing else.
  Epilogue(const Graph& graph, View out) : graph_(graph), views_{std::move(out)} {}

  [[nodiscard]] const View& out() const { return views_.front(); }
  /// Returns the unit of the values that a pool must pass: 1 stands for this real number.
  [[nodiscard]] double unit() const { return unit_; }
  /// Replaces every view by `map` of it. Returns false and changes nothing if `map` returns nullopt
  /// for one of them.
  [[nodiscard]] bool Remap(const std::function<std::optional<View>(const View&)>& map);
  /// Returns all views; the first is the result.
  [[nodiscard]] const std::vector<View>& views() const { return views_; }
  void SetViews(std::vector<View> views) { views_ = std::move(views); }

  /// Returns the final value for `value`, which the anchor computed at `place`: f32, an i32 sum of
  /// products of codes, or finished codes. Appends definitions of values that are used twice to
  /// `body`.
  [[nodiscard]] Expr ValueOf(KernelWriter& writer, const Place& place, Expr value,
                             Body& body) const;
  /// Appends the statements that store the final value.
  void Store(KernelWriter& writer, const Place& place, Expr value, Body& body) const;

 private:
  struct Step {
    NodeId node = kNoNode;
    std::size_t flow = 0;
    /// Positions in views_, one per operand of the node; 0 at `flow`.
    std::vector<std::size_t> operands = {};
  };
  void AddFused(Lowering& lowering, const Node& node, std::size_t axis, std::size_t channels);
  void AddScales(Lowering& lowering, const Node& node, std::size_t channels);
  [[nodiscard]] Expr Finished(KernelWriter& writer, const Place& place, Expr value,
                              Body& body) const;

  const Graph& graph_;
  std::vector<View> views_;
  // For a fused anchor: positions in views_; 0 if absent.
  FusedAttrs fused_;
  bool is_fused_ = false;
  DType made_ = DType::kF32;  ///< type of the result of an anchor that is not fused
  double unit_ = 1;           ///< real number that 1 stands for between sum and memory
  std::size_t scale_ = 0;     ///< real value of 1 in a sum, in units
  std::size_t bias_ = 0;      ///< in units
  std::size_t residual_ = 0;
  std::size_t slope_ = 0;
  std::vector<Step> steps_;
};

/// A group of elementwise nodes that a kernel evaluates wherever it needs one of its values.
class Chain {
 public:
  /// Like an Epilogue; `out` needs no memory if only At is used.
  Chain(Lowering& lowering, const Group& group, View out, std::size_t axis);

  [[nodiscard]] const View& out() const { return epilogue_.out(); }
  /// Like Epilogue::Remap.
  [[nodiscard]] bool Remap(const std::function<std::optional<View>(const View&)>& map);
  /// Returns all views; the first is the result.
  [[nodiscard]] std::vector<View> views() const;
  void SetViews(std::vector<View> views);

  [[nodiscard]] Expr At(KernelWriter& writer, const Place& place, Body& body) const;
  void Store(KernelWriter& writer, const Place& place, Body& body) const;

 private:
  const Graph& graph_;
  NodeId anchor_;
  Epilogue epilogue_;
  std::vector<View> operands_;  ///< operands of the anchor
};

}  // namespace msc::native
