#pragma once

// Of this folder only: brings dnnl.hpp (by desc.h).

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

/// Makes a primitive descriptor, or nothing where the library has no such primitive. `make` may
/// throw dnnl::error; one that is not about support (no memory, say) goes on.
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

/// Whether the implementation is a plain loop nest, orders of magnitude slower than the others.
[[nodiscard]] bool IsSlow(const dnnl::primitive_desc_base& pd);

/// Makes a descriptor for the first layout with a fast implementation, else for the first that has
/// one at all.
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
  std::vector<std::string> nodes;
  std::string precision;
};

/// Lowers the nodes of one region, in order: keeps track of where every value is and in which
/// layouts, adds reorders where a primitive wants another one, packs constants.
///
/// Without a builder it only checks: the same code runs, nothing is made. So a node is supported
/// exactly if lowering it alone succeeds.
class Lowering {
 public:
  Lowering(const Graph& graph, std::span<const NodeId> nodes, const dnnl::engine& engine);
  /// Adds steps to `builder` that run with `options.threads` threads.
  Lowering(const Region& region, const dnnl::engine& engine, const TargetOptions& options,
           ExecutableBuilder& builder);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const Node& node(NodeId id) const { return graph_.node(id); }
  [[nodiscard]] const dnnl::engine& engine() const { return engine_; }

  /// Whether the caller or a node outside the region reads it: it must become dense.
  [[nodiscard]] bool LeavesRegion(ValueId value) const;
  /// The layout a value is in now. It must be one DenseDescOf knows.
  [[nodiscard]] Desc Here(ValueId value);
  /// The value in layout `wanted` (same or another element type of equal meaning: bf16 and f32).
  /// Adds a reorder unless it is there already; constants are packed now.
  [[nodiscard]] BufferId In(ValueId value, const Desc& wanted);
  /// A constant whose elements are seen as `source` (a transposed or grouped view), packed as
  /// `wanted`.
  [[nodiscard]] BufferId PackedConstant(ValueId value, const Desc& source, const Desc& wanted);
  /// Weights in the layout a primitive asks for: PackedConstant, or In for a value that is no
  /// constant (then `source` is the whole dense value, grouped at most).
  [[nodiscard]] BufferId Weights(ValueId value, const Desc& source, const Desc& wanted);
  /// A constant made while compiling.
  [[nodiscard]] BufferId NewConstant(const Dims& dims, std::span<const float> values);
  /// The same, packed as `wanted`.
  [[nodiscard]] BufferId NewConstant(const Dims& dims, std::span<const float> values,
                                     const Desc& wanted);
  /// Where a primitive that gives `value` in layout `made` shall write.
  [[nodiscard]] BufferId Out(ValueId value, const Desc& made);
  /// As Out, over the memory of `victim`, which holds `made.get_size()` bytes and dies here.
  [[nodiscard]] BufferId OutOver(ValueId value, const Desc& made, BufferId victim);
  /// `value` is the same bytes as `of` from byte `offset` on, seen as `desc`.
  void Same(ValueId value, ValueId of, const Desc& desc, std::size_t offset = 0);
  /// Makes `value`, which is in memory of its own in layout `desc`, a part of `whole`, so that the
  /// step that made it wrote there. False where that cannot be. The whole is not overwritten as
  /// long as the part has other readers.
  [[nodiscard]] bool PlaceInside(ValueId value, const Desc& desc, ValueId whole,
                                 std::size_t offset);
  /// `desc` where it has the dims of `value`; else it is dense and so is the result, in those dims.
  [[nodiscard]] Desc AsValue(ValueId value, const Desc& desc) const;
  /// Where `value` is in layout `wanted`, if nothing reads it after `at` and `at` reads it once:
  /// then its memory may be overwritten.
  [[nodiscard]] std::optional<BufferId> Dying(ValueId value, NodeId at, const Desc& wanted);
  /// To be called when the step that makes `value` is there: copies it to where others read it.
  void Finish(ValueId value);
  /// A buffer inside one node.
  [[nodiscard]] BufferId Scratch(const Desc& desc);
  /// A copy or conversion between buffers, with scales and zero points in `attr`. Two steps where
  /// the library cannot be trusted with one.
  [[nodiscard]] bool AddReorder(const Argument& from, const Argument& to,
                                const dnnl::primitive_attr& attr, const StepLabel& label);
  /// One step. Sources and destinations by their DNNL_ARG index; scratch space is added here.
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
  /// The first reader of `value` in this region that is one of the operators, or kNoNode.
  [[nodiscard]] NodeId ReaderAmong(ValueId value, std::span<const std::string_view> ops) const;

  /// The only reader of `value`, if it is in this region and nobody else sees the value.
  [[nodiscard]] NodeId OnlyReader(ValueId value) const;
  /// The step of another node computes this one: it is passed over when its turn comes.
  void Absorb(NodeId id) { absorbed_.insert(id); }
  [[nodiscard]] bool IsAbsorbed(NodeId id) const { return absorbed_.contains(id); }

  /// An attribute set with scratch space given by the caller.
  [[nodiscard]] static dnnl::primitive_attr NewAttr();
  [[nodiscard]] StepLabel LabelOf(NodeId id, Elem elem) const;

 private:
  struct Copy {
    Desc desc;
    BufferId buffer{};
  };
  struct Place {
    std::vector<Copy> copies;
    bool foreign = false;  // memory that others own or see: never overwritten
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

/// Lowers one node; false where the library cannot do it (then nothing was added).
[[nodiscard]] bool LowerNode(Lowering& lowering, NodeId id);

}  // namespace msc::onednn
