#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/targets/native/epilogue.h"
#include "compiler/targets/native/product_weights.h"
#include "compiler/targets/native/schedule.h"

namespace msc::native {

/// Y[n, g, c, h, w] = sum over taps (kh, kw) and depth k of
///     X[n, g, k, h*stride_h + kh*dilation_h, w*stride_w + kw*dilation_w] * W[g, c, k, kh, kw].
/// Sums are f32 if X and W are f32 or bf16, and exact i32 sums of (X - x_zero) * W if X is u8 or i8
/// and W is i8. A matrix product has one tap, its rows along w and its batch along n and g.
struct Product {
  /// Rows and columns of X with values, counted from the first tap of the first pixel.
  struct Inside {
    std::int64_t row = 0;
    std::int64_t rows = 0;
    std::int64_t column = 0;
    std::int64_t columns = 0;
  };

  /// Dims n, g, k, h, w with adjacent k, starting at the first tap of the first pixel.
  View x;
  /// If set, writes the entries of X at one (n, h) before they are read; the row loop is then
  /// outermost.
  std::function<void(const Expr& n, const Expr& h, Body& body)> fill = {};
  std::int64_t x_zero = 0;
  /// For bytes: added to the sums, [groups * channels] or empty.
  std::vector<std::int32_t> bias = {};
  /// For f32: initial sums, if set; dims n, g, c, h, w like Y.
  std::optional<View> start = {};
  /// For bytes: whether any two products add up to an i16, so that fewer instructions do
  /// (IsNarrow).
  bool narrow = false;
  bool slack = true;  ///< for bytes: whether three past the end may be read
  /// For f32 and bf16: where X has values, if set; the rest of its halo is zeros. Taps are left out
  /// where they multiply these alone.
  std::optional<Inside> inside = {};
  std::int64_t channels = 1;  ///< c
  std::int64_t kernel_h = 1;
  std::int64_t kernel_w = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;
  std::int64_t dilation_h = 1;
  std::int64_t dilation_w = 1;

  [[nodiscard]] std::int64_t groups() const { return x.dims[1]; }
  [[nodiscard]] std::int64_t depth() const { return x.dims[2]; }
  [[nodiscard]] bool bytes() const { return ByteSize(x.dtype) == 1; }
  /// Returns the entries of X per step of the sum.
  [[nodiscard]] std::int64_t step() const { return StepOf(x.dtype); }
  /// Returns whether the taps of one row are adjacent in X, so that they form one long depth.
  [[nodiscard]] bool joined() const { return dilation_w * x.strides[4] == depth(); }
  /// Return, for one row of taps, the number of runs of adjacent entries, the length of a run, and
  /// its steps.
  [[nodiscard]] std::int64_t runs() const { return joined() ? 1 : kernel_w; }
  [[nodiscard]] std::int64_t run() const { return joined() ? kernel_w * depth() : depth(); }
  [[nodiscard]] std::int64_t run_steps() const { return (run() + step() - 1) / step(); }
  /// Return the steps of one sum, and the weights per channel that they read.
  [[nodiscard]] std::int64_t steps() const { return kernel_h * runs() * run_steps(); }
  [[nodiscard]] std::int64_t weights() const { return steps() * step(); }
};
/// Largest depth of byte products whose sums, with a bias of at most kMaxWholeBias, fit in i32:
/// 255 * 128 * 65536 + 2^22 < 2^31.
inline constexpr std::int64_t kDeepestBytes = 65536;

/// Returns [n, channels, h, w] as [n, groups, channels of a group, h, w].
[[nodiscard]] View SplitGroups(const View& view, std::int64_t groups);

/// Writes the loops of a product: register tiles of tile.columns pixels by tile.vectors vectors of
/// channels, each summed over the whole depth in registers. Views of the epilogue have dims n, g,
/// c, h, w. `kind` is the kind of the outermost loop.
[[nodiscard]] Body ProductBody(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                               const TileSchedule& tile, const PackedWeights& packed,
                               const Epilogue& epilogue,
                               kernel::LoopKind kind = kernel::LoopKind::kParallel);

/// Writes the loops in f32 for one n and one group, and for one h if `row` is set; `weights` are
/// those of that group alone.
[[nodiscard]] Body ProductOf(KernelWriter& writer, const VectorUnit& unit, const Product& product,
                             const TileSchedule& tile, const View& weights,
                             const Epilogue& epilogue, const Expr& n, const Expr& group,
                             const Expr& row = nullptr);

}  // namespace msc::native
