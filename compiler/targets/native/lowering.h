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
  std::string name = {};
  std::vector<std::string> nodes = {};
  std::string precision = {};
};

/// The state of lowering one region: the location of every value and the program so far.
class Lowering {
 public:
  /// `nodes` must be in topological order. Kernels suit `threads`, and any other number can run
  /// them. With `check_only`, constants are not packed: the program has only their sizes and cannot
  /// run.
  Lowering(const Graph& graph, std::span<const NodeId> nodes, const VectorUnit& unit, int threads,
           bool check_only);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const Node& node(NodeId id) const { return graph_.node(id); }
  [[nodiscard]] const VectorUnit& unit() const { return unit_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] const kernel::Program& program() const { return program_; }
  [[nodiscard]] kernel::Program Take() && { return std::move(program_); }

  [[nodiscard]] bool Inside(NodeId id) const { return inside_.contains(id); }
  /// Returns whether the caller or a node outside the region reads `value`, so that it must become
  /// dense.
  [[nodiscard]] bool LeavesRegion(ValueId value) const;
  /// Returns the concrete dims of a value.
  [[nodiscard]] Dims DimsOf(ValueId value) const;

  /// Returns the current view of a value. Constants and values from outside the region are dense.
  [[nodiscard]] View Where(ValueId value);
  /// Returns a view of the value with adjacent neighbours along `axis` and at least the given halo.
  /// Adds a copy if no such view exists.
  [[nodiscard]] View WhereUnit(ValueId value, std::size_t axis, const Halo& halo);
  /// Returns a row-major view of the value without gaps. Adds a copy if no such view exists.
  [[nodiscard]] View WhereDense(ValueId value);
  /// Makes WhereDense the current view of the value.
  void MakeDense(ValueId value) { Put(value, WhereDense(value)); }
  /// Returns memory for a value that is about to be written: its planned place, or new memory with
  /// axes in `order` from outermost to innermost. A separate call fills its halo.
  [[nodiscard]] View Out(ValueId value, std::span<const std::size_t> order);
  /// Declares that the value is this view of memory that is already written.
  void Alias(ValueId value, View view);
  /// Copies a value that leaves the region to where outside readers expect it. Call it after the
  /// calls that compute the value.
  void Finish(ValueId value);

  /// Requests a halo around a value for readers inside the region.
  void WantHalo(ValueId value, const Halo& halo);
  /// Plans `value` as a part of `whole`, which is itself planned or which Out will place.
  void Plan(ValueId value, ValueId whole, std::size_t axis, std::int64_t begin);
  [[nodiscard]] bool Planned(ValueId value) const { return parts_.contains(value); }
  /// Forgets the place and the halo planned for `value`, which no call has written yet: Out then
  /// places it without regard to its readers.
  void PlaceAnew(ValueId value);
  /// Returns the view of a value, or nullptr if it has none yet.
  [[nodiscard]] const View* Placed(ValueId value) const;
  /// Returns the values that lie in a buffer or in a part of it.
  [[nodiscard]] std::vector<ValueId> ValuesIn(std::size_t buffer) const;
  /// Returns whether `value`, which no call has written yet, may be placed at `view`, which has
  /// its dims: `value` has no planned place and stays in the region, and `view` is private memory
  /// with the halo that readers need.
  [[nodiscard]] bool MayLieAt(ValueId value, const View& view) const;
  /// Returns whether a few elements past the end of a view of bytes may be read; their values are
  /// arbitrary.
  [[nodiscard]] bool HasSlack(const View& view) const;

  /// Adds a constant of `count` elements. `make` fills it, except with `check_only`.
  [[nodiscard]] View Constant(DType dtype, std::int64_t count,
                              const std::function<void(Tensor&)>& make);
  /// Adds scratch memory for use within one call, with `count` elements per thread.
  [[nodiscard]] View Scratch(DType dtype, std::int64_t count);
  [[nodiscard]] KernelWriter Writer(const std::string& name) const { return {name, program_}; }
  void AddCall(KernelWriter&& writer, Body body, double flops, Label label);
  /// Lets the last call run only if all `indices`, a dense view, are inside an axis of `size`: from
  /// -size to size - 1. Else the run ends in a UserError of `node`.
  void CheckIndices(const View& indices, std::int64_t size, const Node& node);
  /// Adds a copy between views of equal dims.
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
  int threads_;
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
