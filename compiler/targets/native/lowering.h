#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/kernel/program.h"
#include "compiler/targets/native/kernel_writer.h"
#include "compiler/targets/native/schedule.h"
#include "compiler/targets/native/view.h"

namespace msc::native {

/// What a kernel computes, for profiles.
struct Label {
  std::string name;
  std::vector<std::string> nodes;
  std::string precision;
};

/// The state of lowering one region: where every value is, and the program made so far.
class Lowering {
 public:
  /// `nodes` in topological order. With `check_only` constants are not packed: the program has
  /// their sizes alone and cannot run.
  Lowering(const Graph& graph, std::span<const NodeId> nodes, const VectorUnit& unit,
           bool check_only);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const Node& node(NodeId id) const { return graph_.node(id); }
  [[nodiscard]] const VectorUnit& unit() const { return unit_; }
  [[nodiscard]] const kernel::Program& program() const { return program_; }
  [[nodiscard]] kernel::Program Take() && { return std::move(program_); }

  [[nodiscard]] bool Inside(NodeId id) const { return inside_.contains(id); }
  /// Whether the caller or a node outside the region reads it: it must become dense.
  [[nodiscard]] bool LeavesRegion(ValueId value) const;
  /// Concrete dims of a value.
  [[nodiscard]] Dims DimsOf(ValueId value) const;

  /// Where a value is now; constants and values from outside are dense.
  [[nodiscard]] View Where(ValueId value);
  /// A view of the value with neighbours along `axis` side by side and a halo around. Adds a copy
  /// unless there is one.
  [[nodiscard]] View WhereUnit(ValueId value, std::size_t axis, const Halo& halo);
  /// The value row-major without gaps.
  [[nodiscard]] View WhereDense(ValueId value);
  /// From now on the value is dense: a copy is made unless it is, or one is there.
  void MakeDense(ValueId value) { Put(value, WhereDense(value)); }
  /// Memory for a value about to be written, axes in `order` from outermost to innermost, or where
  /// it was planned to be. Its halo is written by a call of its own.
  [[nodiscard]] View Out(ValueId value, std::span<const std::size_t> order);
  /// The value is this view of memory that is written already.
  void Alias(ValueId value, View view);
  /// To be called when the calls that make the value are there: copies it to where others read it.
  void Finish(ValueId value);

  /// What readers inside the region want around a value.
  void WantHalo(ValueId value, const Halo& halo);
  /// Makes `value` a part of `whole`, which was planned before or will be made by Out.
  void Plan(ValueId value, ValueId whole, std::size_t axis, std::int64_t begin);
  [[nodiscard]] bool Planned(ValueId value) const { return parts_.contains(value); }
  /// Forgets where `value`, which nothing wrote yet, was to be: Out places it as if nobody had
  /// wishes.
  void PlaceAnew(ValueId value);
  /// Where a value is, if it is anywhere yet.
  [[nodiscard]] const View* Placed(ValueId value) const;
  /// Values that lie in a buffer, or in a part of it.
  [[nodiscard]] std::vector<ValueId> ValuesIn(std::size_t buffer) const;
  /// Whether nobody wants `value`, which nothing wrote yet, elsewhere than in the place of a value
  /// of its own dims: private memory, with the halo that readers want.
  [[nodiscard]] bool MayLieAt(ValueId value, const View& view) const;
  /// Whether some elements behind the end of a view of bytes may be read too, whatever they are.
  [[nodiscard]] bool HasSlack(const View& view) const;

  /// A constant of `count` elements; `make` fills it unless only checking.
  [[nodiscard]] View Constant(DType dtype, std::int64_t count,
                              const std::function<void(Tensor&)>& make);
  /// Memory inside one call, as many bytes for each thread.
  [[nodiscard]] View Scratch(DType dtype, std::int64_t count);
  [[nodiscard]] KernelWriter Writer(const std::string& name) const { return {name, program_}; }
  void AddCall(KernelWriter&& writer, Body body, double flops, Label label);
  /// Copies elements; dims are equal.
  void AddCopy(const View& from, const View& to, Label label);
  [[nodiscard]] Label LabelOf(std::span<const NodeId> nodes, std::string precision) const;

 private:
  struct Part {
    ValueId whole;
    std::size_t axis;
    std::int64_t begin;
  };
  [[nodiscard]] std::size_t AddBuffer(kernel::ProgramBuffer buffer);
  [[nodiscard]] View NewPrivate(DType dtype, const Dims& dims, std::span<const std::size_t> order,
                                const Halo& halo);
  void FillHalo(const View& view, const std::string& name);
  void Put(ValueId value, View view);

  const Graph& graph_;
  const VectorUnit unit_;
  const bool check_only_;
  std::set<NodeId> inside_;
  kernel::Program program_;
  std::map<ValueId, View> views_;
  std::map<std::size_t, std::vector<ValueId>> placed_in_;  ///< by buffer; some have moved away
  std::map<ValueId, std::vector<View>> copies_;            ///< further views of the same values
  std::map<ValueId, Halo> halos_;
  std::map<ValueId, Part> parts_;
};

}  // namespace msc::native
