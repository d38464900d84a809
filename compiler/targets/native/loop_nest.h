#pragma once

#include <span>
#include <vector>

#include "compiler/targets/native/kernel_writer.h"
#include "compiler/targets/native/schedule.h"
#include "compiler/targets/native/view.h"

namespace msc::native {

/// Reorders the axes of views of equal dims by the memory order of the first view, and merges
/// adjacent axes where all views allow it. Elementwise kernels loop over the result.
[[nodiscard]] std::vector<View> JoinAxes(std::span<const View> views);

/// One place in a loop nest: one index per axis, of the first of `lanes` entries along `axis`.
struct Place {
  std::vector<Expr> at;
  std::size_t axis = 0;  ///< axis of the lanes
  int lanes = 1;
  int valid = 0;  ///< number of existing lanes; 0 for all
};

/// Returns the number of elements in a whole vector register.
[[nodiscard]] int WholeLanes(const VectorUnit& unit, DType dtype);

/// Writes loops over all entries of `dims`. The last axis goes in vectors of `lanes` if `lanes` >
/// 1. If there are several axes, the first loop is of kind `outer`. `make(place, body)` appends the
/// statements of one place.
template <class Make>
[[nodiscard]] Body LoopOver(KernelWriter& writer, const Dims& dims, int lanes, const Make& make,
                            kernel::LoopKind outer = kernel::LoopKind::kParallel);

/// Loads the elements of `view` at a place. The axis of the lanes must have stride 1, or 0, which
/// broadcasts one element; with place.lanes 1 it may have any stride.
[[nodiscard]] Expr LoadAt(KernelWriter& writer, const View& view, const Place& place);
void StoreAt(KernelWriter& writer, const View& view, const Place& place, Expr value, Body& body);

// Implementation.

template <class Make>
Body LoopOver(KernelWriter& writer, const Dims& dims, int lanes, const Make& make,
              kernel::LoopKind outer) {
  std::vector<Expr> at;
  const auto nest = [&](const auto& self, std::size_t axis, Body& body) -> void {
    if (axis + 1 < dims.size()) {
      const auto kind = axis == 0 ? outer : kernel::LoopKind::kSerial;
      Body loop = writer.Loop(dims[axis], kind, [&](const Expr& index) {
        Body inner;
        at.push_back(index);
        self(self, axis + 1, inner);
        at.pop_back();
        return inner;
      });
      for (kernel::Stmt& stmt : loop) body.push_back(std::move(stmt));
      return;
    }
    const std::int64_t extent = dims.back();
    const std::int64_t full = extent / lanes;
    writer.Loop(full, body, [&](const Expr& index) {
      Body inner;
      at.push_back(index * lanes);
      make(Place{.at = at, .axis = axis, .lanes = lanes, .valid = 0}, inner);
      at.pop_back();
      return inner;
    });
    if (const auto rest = static_cast<int>(extent % lanes); rest > 0) {
      at.push_back(kernel::Int(full * lanes));
      make(Place{.at = at, .axis = axis, .lanes = lanes, .valid = rest}, body);
      at.pop_back();
    }
  };
  Body body;
  nest(nest, 0, body);
  return body;
}

}  // namespace msc::native
