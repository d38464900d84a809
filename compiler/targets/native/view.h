#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"

namespace msc::native {

/// What is kept around a value along each axis. Entries -begin[a] .. dims[a]-1+end[a] may be read.
struct Halo {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::int64_t fill = 0;  ///< what the entries around hold: the zero point of integers
  explicit Halo(std::size_t rank = 0) : begin(rank), end(rank) {}
  [[nodiscard]] bool Holds(const Halo& other) const;
  /// Nothing where both have entries, and other fills: there is one memory for both.
  void Widen(const Halo& other);
  [[nodiscard]] bool empty() const;
};

/// Where a value lies: its dims in the order of the graph, and how far apart neighbours along each
/// are. Transpose, Slice, Split, Concat and most reshapes are other views of the same memory.
struct View {
  std::size_t buffer = 0;  ///< position in Program::buffers
  DType dtype = DType::kF32;
  Dims dims;
  std::vector<std::int64_t> strides;  ///< elements
  std::int64_t offset = 0;            ///< element of the first entry, behind any halo
  Halo halo;                          ///< as wide as dims

  [[nodiscard]] std::size_t rank() const { return dims.size(); }
  /// Neighbours along `axis` lie side by side (an axis of one entry always does).
  [[nodiscard]] bool IsUnit(std::size_t axis) const {
    return dims[axis] == 1 || strides[axis] == 1;
  }
};

/// Row-major without gaps or halo.
[[nodiscard]] View DenseView(std::size_t buffer, DType dtype, const Dims& dims);
/// What is in no memory: only type and dims are asked for.
[[nodiscard]] View Unplaced(DType dtype, const Dims& dims);
[[nodiscard]] bool IsDense(const View& view);
/// Memory for `dims` in `order` (axes from outermost to innermost) with a halo around; elements
/// needed come back in `elements`. Kernels read a dozen pixels at once, so the stride of the second
/// innermost axis of two or more entries avoids multiples of 1 KiB, and with a halo those of outer
/// ones avoid multiples of 4 KiB: neighbours would share a few sets of the nearest cache.
[[nodiscard]] View NewView(DType dtype, const Dims& dims, std::span<const std::size_t> order,
                           const Halo& halo, std::int64_t& elements);

/// The same elements in the same row-major order under other dims; nothing where strides cannot
/// say it. The halo is lost.
[[nodiscard]] std::optional<View> Reshape(const View& view, const Dims& dims);
/// Axis i of the result is axis perm[i] of `view`.
[[nodiscard]] View Transpose(const View& view, std::span<const std::int64_t> perm);
/// `count` entries from `begin` on, every `step`-th, along `axis`. The halo is lost.
[[nodiscard]] View Slice(const View& view, std::size_t axis, std::int64_t begin, std::int64_t count,
                         std::int64_t step = 1);
/// Numpy broadcast: axes of one entry and missing outer axes get stride 0. `dims` must fit.
[[nodiscard]] View Broadcast(const View& view, const Dims& dims);

/// Axes from outermost to innermost as the kernels make values of this rank: channels (axis 1) last
/// for 4 dims and more, row-major below.
[[nodiscard]] std::vector<std::size_t> AxisOrder(std::size_t rank);
/// 0, 1, 2, ...
[[nodiscard]] std::vector<std::size_t> RowMajor(std::size_t rank);
/// Axes from the largest stride to the smallest.
[[nodiscard]] std::vector<std::size_t> AxisOrder(const View& view);

}  // namespace msc::native
