#pragma once

// Internal to this folder: includes dnnl.hpp through desc.h.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ops/fused.h"
#include "compiler/targets/onednn/bound_primitive.h"
#include "compiler/targets/onednn/desc.h"
#include "compiler/targets/target.h"

namespace msc::onednn {

/// Returns the primitive descriptor that `make` makes, or nullopt if the library has no such
/// primitive. `make` may throw dnnl::error; errors other than missing support, such as lack of
/// memory, propagate.
template <class Make>
[[nodiscard]] auto TryMake(const Make& make) -> std::optional<decltype(make())> {
  try {
    return make();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) {
      return std::nullopt;
    }
    throw;
  }
}

/// Returns whether the implementation is a plain loop nest, orders of magnitude slower than others.
[[nodiscard]] bool IsSlow(const dnnl::primitive_desc_base& pd);

/// Returns a descriptor for the first layout with a fast implementation, or else for the first
/// layout with any implementation.
template <class Layout, class Make>
[[nodiscard]] auto FirstFast(const std::vector<Layout>& layouts, const Make& make)
    -> std::optional<decltype(make(layouts.front()))> {
  std::optional<decltype(make(layouts.front()))> slow;
  for (const Layout& layout : layouts) {
    auto pd = TryMake([&] { return make(layout); });
    if (pd && !IsSlow(*pd)) return pd;
    if (pd && !slow) slow = std::move(pd);
  }
  return slow;
}

/// What a step computes, for profiles.
struct StepLabel {
  std::string name;
  std::vector<std::string> nodes = {};
  std::string precision = {};
};

/// Lowers the nodes of one region in order. Tracks the buffer and layouts of every value, adds
/// reorders where a primitive needs another layout, and packs constants.
///
/// Without a builder it only checks: the same code runs and makes nothing. So a node is supported
/// exactly if lowering it alone succeeds.
class Lowering {
 public:
  Lowering(const Graph& graph, std::span<const NodeId> nodes, const dnnl::engine& engine);
  /// Makes a lowering that adds steps to `builder`, which run on `options.threads` threads.
  Lowering(const Region& region, const dnnl::engine& engine, const TargetOptions& options,
           ExecutableBuilder& builder);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const Node& node(NodeId id) const { return graph_.node(id); }
  [[nodiscard]] const dnnl::engine& engine() const { return engine_; }

  /// Returns whether the caller or a node outside the region reads `value`, so that it must become
  /// dense.
  [[nodiscard]] bool LeavesRegion(ValueId value) const;
  /// Returns the current layout of `value`, whose type DenseDescOf must know.
  [[nodiscard]] Desc Here(ValueId value);
  /// Returns a buffer with `value` in layout `wanted`, whose type is that of `value` or the other
  /// one of bf16 and f32. Adds a reorder if no such buffer exists; packs constants at compile time.
  [[nodiscard]] BufferId In(ValueId value, const Desc& wanted);
  /// Returns a constant packed as `wanted`. `source` describes its elements and may be a transposed
  /// or grouped view.
  [[nodiscard]] BufferId PackedConstant(ValueId value, const Desc& source, const Desc& wanted);
  /// Returns weights in the layout that a primitive asks for: PackedConstant for a constant, else
  /// like In (then `source` is the whole dense value, grouped at most).
  [[nodiscard]] BufferId Weights(ValueId value, const Desc& source, const Desc& wanted);
  /// Adds a constant made at compile time.
  [[nodiscard]] BufferId NewConstant(const Dims& dims, std::span<const float> values);
  /// Adds a constant made at compile time, packed as `wanted`.
  [[nodiscard]] BufferId NewConstant(const Dims& dims, std::span<const float> values,
                                     const Desc& wanted);
  /// Returns the buffer to which a primitive writes `value` in layout `made`.
  [[nodiscard]] BufferId Out(ValueId value, const Desc& made);
  /// Like Out, but in the memory of `victim`, which holds `made.get_size()` bytes that no later
  /// step reads.
  [[nodiscard]] BufferId OutOver(ValueId value, const Desc& made, BufferId victim);
  /// Declares that `value` is the memory of `of` from byte `offset` on, with layout `desc`.
  void Same(ValueId value, ValueId of, const Desc& desc, std::size_t offset = 0);
  /// Makes `value`, which has memory of its own in layout `desc`, a part of `whole`, so that the
  /// step that computes `value` writes there. Returns false if that is impossible. If `value` has
  /// other readers, `whole` is never overwritten.
  [[nodiscard]] bool PlaceInside(ValueId value, const Desc& desc, ValueId whole,
                                 std::size_t offset);
  /// Returns `desc` if it has the dims of `value`. Otherwise `desc` must be dense, and the result
  /// is the dense desc with those dims.
  [[nodiscard]] Desc AsValue(ValueId value, const Desc& desc) const;
  /// Returns the buffer of `value` in layout `wanted` if `at` is its last reader and reads it once,
  /// so that its memory may be overwritten.
  [[nodiscard]] std::optional<BufferId> Dying(ValueId value, NodeId at, const Desc& wanted);
  /// Copies `value` to where readers outside the region expect it. Call it after the step that
  /// computes `value`.
  void Finish(ValueId value);
  /// Returns a temporary buffer for use within one node.
  [[nodiscard]] BufferId Scratch(const Desc& desc);
  /// Adds a copy or conversion between buffers; `attr` holds scales and zero points. Adds two steps
  /// where oneDNN computes wrong results with one.
  [[nodiscard]] bool AddReorder(const Argument& from, const Argument& to,
                                const dnnl::primitive_attr& attr, const StepLabel& label);
  /// Adds one step. `arguments` lists sources and destinations by DNNL_ARG index; this function
  /// adds the scratch space.
  template <class Primitive>
  void AddPrimitive(const typename Primitive::primitive_desc& pd, std::vector<Argument> arguments,
                    const StepLabel& label) {
    if (builder_ == nullptr) return;
    const Desc scratch = pd.scratchpad_desc();
    if (scratch.get_size() > 0) {
      arguments.push_back({DNNL_ARG_SCRATCHPAD, scratch, Scratch(scratch)});
    }
    AddStep(Primitive(pd), arguments, label);
  }
  /// Returns the first reader of `value` in this region whose operator is in `ops`, or kNoNode.
  [[nodiscard]] NodeId ReaderAmong(ValueId value, std::span<const std::string_view> ops) const;

  /// Returns the only reader of `value` if it is in this region and `value` does not leave the
  /// region, else kNoNode.
  [[nodiscard]] NodeId OnlyReader(ValueId value) const;
  /// Marks a node that the step of another node computes, so that it is not lowered itself.
  void Absorb(NodeId id) { absorbed_.insert(id); }
  [[nodiscard]] bool IsAbsorbed(NodeId id) const { return absorbed_.contains(id); }

  /// Returns attributes of a primitive whose caller provides the scratch space.
  [[nodiscard]] static dnnl::primitive_attr NewAttr();
  [[nodiscard]] StepLabel LabelOf(NodeId id, Elem elem) const;

 private:
  struct Copy {
    Desc desc;
    BufferId buffer{};
  };
  struct Place {
    std::vector<Copy> copies;
    bool foreign = false;  // owned or visible elsewhere: must not be overwritten
  };
  [[nodiscard]] Place& At(ValueId value);
  [[nodiscard]] BufferId Pack(const Tensor& tensor, const Desc& source, const Desc& wanted);
  void AddStep(dnnl::primitive primitive, const std::vector<Argument>& arguments,
               const StepLabel& label);

  const Graph& graph_;
  dnnl::engine engine_;
  std::shared_ptr<const dnnl::stream> stream_;
  ExecutableBuilder* builder_ = nullptr;
  int threads_ = 1;
  std::map<NodeId, std::size_t> position_;
  std::map<ValueId, Place> places_;
  std::set<NodeId> absorbed_;
};

/// Lowers one node. Returns false if the library cannot compute it; the region then fails to build.
[[nodiscard]] bool LowerNode(Lowering& lowering, NodeId id);

}  // namespace msc::onednn
