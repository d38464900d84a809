#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compiler/base/dtype.h"
#include "compiler/base/shape.h"

namespace msc::native {

/// A border around a value. Entries -begin[a] .. dims[a]-1+end[a] along axis a may be read.
struct Halo {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::int64_t fill = 0;  ///< content of the border: the zero point for integers
  explicit Halo(std::size_t rank = 0) : begin(rank), end(rank) {}
  /// Returns whether this halo has the same fill as `other` and is nowhere narrower.
  [[nodiscard]] bool Holds(const Halo& other) const;
  /// Widens this halo to hold `other`. Does nothing if the fills differ, because one memory cannot
  /// hold both.
  void Widen(const Halo& other);
  [[nodiscard]] bool empty() const;
};

/// The location of a value in memory: its dims in the order of the graph and the distance between
/// neighbours along each axis. Transpose, Slice, Split, Concat and most reshapes are other views of
/// the same memory.
struct View {
  std::size_t buffer = 0;  ///< position in Program::buffers
  DType dtype = DType::kF32;
  Dims dims;
  std::vector<std::int64_t> strides = {};  ///< in elements
  std::int64_t offset = 0;                 ///< element of the first entry, after any halo
  Halo halo;                               ///< of the rank of dims

  [[nodiscard]] std::size_t rank() const { return dims.size(); }
  /// Returns whether neighbours along `axis` are adjacent (true for an axis of one entry).
  [[nodiscard]] bool IsUnit(std::size_t axis) const {
    return dims[axis] == 1 || strides[axis] == 1;
  }
};

/// Returns a row-major view without gaps or halo.
[[nodiscard]] View DenseView(std::size_t buffer, DType dtype, const Dims& dims);
/// Returns a view without memory, of which only type and dims may be used.
[[nodiscard]] View Unplaced(DType dtype, const Dims& dims);
[[nodiscard]] bool IsDense(const View& view);
/// Returns a view with axes in `order` (outermost to innermost) and a halo, and the number of
/// elements that its memory needs in `elements`. Kernels read about a dozen pixels at once, which
/// would compete for a few sets of the L1 cache at some strides. So the stride of the second
/// innermost axis of two or more entries avoids multiples of 1 KiB, and with a halo the strides of
/// outer axes avoid multiples of 4 KiB.
[[nodiscard]] View NewView(DType dtype, const Dims& dims, std::span<const std::size_t> order,
                           const Halo& halo, std::int64_t& elements);

/// Returns a view of the same elements in the same row-major order with other dims; nullopt if
/// strides cannot express it. Drops the halo.
[[nodiscard]] std::optional<View> Reshape(const View& view, const Dims& dims);
/// Returns a view whose axis i is axis perm[i] of `view`.
[[nodiscard]] View Transpose(const View& view, std::span<const std::int64_t> perm);
/// Returns a view of `count` entries along `axis`, from `begin` on in steps of `step`. Drops the
/// halo.
[[nodiscard]] View Slice(const View& view, std::size_t axis, std::int64_t begin, std::int64_t count,
                         std::int64_t step = 1);
/// Broadcasts as NumPy does: axes of one entry and missing outer axes get stride 0. `dims` must
/// fit.
[[nodiscard]] View Broadcast(const View& view, const Dims& dims);

/// Returns the axes, outermost to innermost, in the order in which kernels store values of this
/// rank: channels (axis 1) last for 4 and more dims, row-major below.
[[nodiscard]] std::vector<std::size_t> AxisOrder(std::size_t rank);
/// Returns 0, 1, 2, ...
[[nodiscard]] std::vector<std::size_t> RowMajor(std::size_t rank);
/// Returns the axes from the largest stride to the smallest.
[[nodiscard]] std::vector<std::size_t> AxisOrder(const View& view);

}  // namespace msc::native
