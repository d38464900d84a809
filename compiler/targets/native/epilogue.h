#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "compiler/ops/fused.h"
#include "compiler/targets/native/loop_nest.h"
#include "compiler/targets/native/lowering.h"

namespace msc::native {

/// Nodes computed by one kernel: the anchor does the work, every later one is elementwise and takes
/// the value of the one before as the input named by `flow`, while it is still in registers.
struct Group {
  NodeId anchor = kNoNode;
  struct Follower {
    NodeId node = kNoNode;
    std::size_t flow = 0;
  };
  std::vector<Follower> followers;
  /// None, or one of elementwise nodes alone, which makes what the anchor has as input 0: computed
  /// while that is read, never in memory as a whole.
  std::vector<Group> prologue = {};

  /// In an order in which they can be computed.
  [[nodiscard]] std::vector<NodeId> nodes() const;
};
/// The value a group makes.
[[nodiscard]] ValueId ResultOf(const Graph& graph, const Group& group);

/// What happens to a result between the registers of the anchor's kernel and memory: the epilogue
/// of a fused operator (scale, bias, residual, activation, rounding), then the followers, then the
/// store.
class Epilogue {
 public:
  /// Operands that do not have neighbours along `axis` side by side are copied now, by calls before
  /// the kernel's. `out` is where the result goes.
  Epilogue(Lowering& lowering, const Group& group, View out, std::size_t axis)
      : Epilogue(lowering, group, std::move(out), axis, axis) {}
  /// The same where what a fused operator has for each channel changes along another axis.
  Epilogue(Lowering& lowering, const Group& group, View out, std::size_t axis,
           std::size_t channels);

  /// Nothing but the store, of values of `graph`.
  Epilogue(const Graph& graph, View out) : graph_(graph), views_{std::move(out)} {}

  [[nodiscard]] const View& out() const { return views_.front(); }
  /// What 1 of the value of a pool must be worth.
  [[nodiscard]] double unit() const { return unit_; }
  /// Replaces every view by what `map` makes of it; false, and nothing changed, where it gives
  /// nothing for one of them.
  [[nodiscard]] bool Remap(const std::function<std::optional<View>(const View&)>& map);
  /// All views: the result's first.
  [[nodiscard]] const std::vector<View>& views() const { return views_; }
  void SetViews(std::vector<View> views) { views_ = std::move(views); }

  /// What is made of `value`, what the anchor computed at `place`: f32, or i32 for sums of products
  /// of codes, or codes of its result as they are. Statements for what is used twice go to `body`.
  [[nodiscard]] Expr ValueOf(KernelWriter& writer, const Place& place, Expr value,
                             Body& body) const;
  /// Appends the statements that take it to memory.
  void Store(KernelWriter& writer, const Place& place, Expr value, Body& body) const;

 private:
  struct Step {
    NodeId node = kNoNode;
    std::size_t flow = 0;
    std::vector<std::size_t> operands;  ///< into views_, one an operand of the node; 0 at `flow`
  };
  void AddFused(Lowering& lowering, const Node& node, std::size_t axis, std::size_t channels);
  void AddScales(Lowering& lowering, const Node& node, std::size_t channels);
  [[nodiscard]] Expr Finished(KernelWriter& writer, const Place& place, Expr value,
                              Body& body) const;

  const Graph& graph_;
  std::vector<View> views_;
  // Of a fused anchor; views_ positions, 0 where there is none.
  FusedAttrs fused_;
  bool is_fused_ = false;
  DType made_ = DType::kF32;  ///< by an anchor that is not fused
  double unit_ = 1;           ///< what 1 is worth between the sum and memory
  std::size_t scale_ = 0;     ///< what a sum is worth, in units
  std::size_t bias_ = 0;      ///< in units
  std::size_t residual_ = 0;
  std::size_t slope_ = 0;
  std::vector<Step> steps_;
};

/// A group of elementwise nodes, wherever a kernel wants one of its values.
class Chain {
 public:
  /// As an Epilogue; `out` may have no memory where only At is used.
  Chain(Lowering& lowering, const Group& group, View out, std::size_t axis);

  [[nodiscard]] const View& out() const { return epilogue_.out(); }
  /// As Epilogue::Remap.
  [[nodiscard]] bool Remap(const std::function<std::optional<View>(const View&)>& map);
  /// All views: the result's first.
  [[nodiscard]] std::vector<View> views() const;
  void SetViews(std::vector<View> views);

  [[nodiscard]] Expr At(KernelWriter& writer, const Place& place, Body& body) const;
  void Store(KernelWriter& writer, const Place& place, Body& body) const;

 private:
  const Graph& graph_;
  NodeId anchor_;
  Epilogue epilogue_;
  std::vector<View> operands_;  ///< of the anchor
};

}  // namespace msc::native
